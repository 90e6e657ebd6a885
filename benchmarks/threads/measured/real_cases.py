"""Cases of real elements of many operators on this machine, for `python -m benchmarks multilevel`.

They are the threaded element alone, without order at its end: policies run beside it, one decision a period.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean

from benchmarks.threads.element_case import ElementCase
from benchmarks.threads.measured.real_element import RealElement
from benchmarks.threads.multilevel_cases import SHAPES
from penstock.control.threads.element_setting import ElementSetting
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_shapes import FLOP_S, balanced, skewed

_SHAPES = ("pipeline 100", "data-parallel 50", "bushy 82")
_LARGE_SHAPES = ("pipeline 500", "pipeline 1,000", "data-parallel 100", "mixed 10 x 50", "mixed 10 x 100")
_BLOCK_OF_ALL_GRAPHS = 64
_ROUNDS, _LONGEST_PERIOD_S = 4, 2.0
Make = Callable[[], RealElement]


class OneAtATime:
    """At most one real element runs, since two would take each other's cores: a new one ends the one before."""

    def __init__(self) -> None:
        self._element: RealElement | None = None
        self._made_by: object = None

    def replace(self, make: Make) -> RealElement:
        self.close()
        self._element = make()
        return self._element

    def reused(self, make: Make) -> RealElement:
        """The element that runs, if it was made for the same purpose."""
        if self._element is None or self._made_by is not make:
            self.replace(make)
            self._made_by = make
        assert self._element is not None
        return self._element

    def close(self) -> None:
        if self._element is not None:
            self._element.close()
            self._element = self._made_by = None

    def __enter__(self) -> OneAtATime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def real_case(
    name: str, model: ElementModel, levels: Sequence[int], elements: OneAtATime, *, cores: int,
    queued: frozenset[str] = frozenset(), period_s: float = 1.0, fixed_periods: int = 3,
) -> ElementCase:  # fmt: skip
    """A case made after a model; a fixed setting's throughput is the mean of some periods, after one to get going.

    It is measured once for each setting; a glimpse is measured anew, for two thirds of its time.
    """
    rates: dict[ElementSetting, float] = {}

    def make() -> RealElement:
        return RealElement(model, max_level=max(levels), period_s=period_s, queued=queued)

    def fixed_tuples_s(setting: ElementSetting) -> float:
        if setting not in rates:
            element = elements.reused(make)
            element.apply(setting)
            element.observe()
            rates[setting] = mean(element.observe().throughput_tuples_s for _ in range(fixed_periods))
        return rates[setting]

    def glimpsed_tuples_s(setting: ElementSetting, seconds: float) -> float:
        element = elements.reused(make)
        element.apply(setting)
        element.observe(seconds / 3)
        return element.observe(2 * seconds / 3).throughput_tuples_s

    return ElementCase(
        name, "measured", lambda seed: elements.replace(make), fixed_tuples_s, tuple(levels), model.names, queued,
        cores, period_s, glimpsed_tuples_s,
    )  # fmt: skip


def period_of(model: ElementModel, least_s: float, rate_flop_s: float) -> float:
    """Long enough that every operator is dealt some blocks: how many dear ones fall into a period must not be chance.

    >>> wide = SHAPES["data-parallel 50"](balanced(1000), 1000)
    >>> round(period_of(wide, 0.1, 1e9), 3), period_of(wide, 0.25, 1e9), period_of(wide, 0.1, 1e6)
    (0.2, 0.25, 2.0)
    """
    arrays = model.arrays
    block_s = float((arrays.cpu_s * arrays.visits).sum()) / (FLOP_S * rate_flop_s)
    blocks_dealt = 1 / float(arrays.visits.min())
    return max(least_s, min(_ROUNDS * blocks_dealt * block_s, _LONGEST_PERIOD_S))


def real_multilevel_models(blocks: Sequence[int], seed: int, *, quick: bool) -> list[ElementModel]:
    """The graphs of benchmark `multilevel`, with balanced and skewed costs; the larger ones at one block size."""
    models = []
    for block in blocks:
        shapes = (*_SHAPES, *_LARGE_SHAPES) if not quick and block == _BLOCK_OF_ALL_GRAPHS else _SHAPES
        models += [SHAPES[shape](costs, block) for costs in (balanced(), skewed(seed)) for shape in shapes]
    return models
