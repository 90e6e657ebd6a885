"""Cases of real elements on this machine, for the benches that also run on the plant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean

from penstock.bench.elastic_operator import FLOP_BY_LOAD, WAITS_MS
from penstock.bench.element_case import ElementCase
from penstock.bench.external_load import Phase
from penstock.bench.pegged_cores import PeggedCores
from penstock.bench.real_element import RealElement
from penstock.control.element_setting import ElementSetting
from penstock.element.operators.load import flop_s, rows_within
from penstock.measure.element_observation import ElementObservation
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_shapes import (
    balanced,
    bushy,
    data_parallel,
    mixed,
    one_operator,
    pipeline,
    skewed,
)  # fmt: skip

WAITING_LEVELS = (1, 2, 4, 8, 16, 32, 48, 64)
_WAITING_ROWS = 64
_BLOCK_OF_ALL_GRAPHS = 64
Make = Callable[[], RealElement]


class OneAtATime:
    """At most one real element runs, since two would take each other's cores: a new one ends the one before."""

    def __init__(self) -> None:
        self._running: RealElement | None = None
        self._kept_for: object = None

    def replace(self, make: Make) -> RealElement:
        self.close()
        self._running = make()
        return self._running

    def kept(self, make: Make) -> RealElement:
        """The element that runs, if it was made for the same purpose."""
        if self._running is None or self._kept_for is not make:
            self.replace(make)
            self._kept_for = make
        assert self._running is not None
        return self._running

    def close(self) -> None:
        if self._running is not None:
            self._running.close()
            self._running = self._kept_for = None

    def __enter__(self) -> OneAtATime:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def real_case(
    name: str, model: ElementModel, levels: Sequence[int], running: OneAtATime, *, cores: int,
    queued: frozenset[str] = frozenset(), period_s: float = 1.0, fixed_periods: int = 3,
    phases: Sequence[Phase] = (),
) -> ElementCase:  # fmt: skip
    """A case made after a model; a fixed setting's throughput is the mean of some periods, after one to get going.

    It is measured once for each setting; a glimpse is measured anew, for two thirds of its time.
    """
    rates: dict[ElementSetting, float] = {}

    def make() -> RealElement:
        if phases:
            return PeggedElement(model, phases, max_level=max(levels), period_s=period_s, queued=queued)
        return RealElement(model, max_level=max(levels), period_s=period_s, queued=queued)

    def fixed_tuples_s(setting: ElementSetting) -> float:
        if setting not in rates:
            element = running.kept(make)
            element.apply(setting)
            element.observe()
            rates[setting] = mean(element.observe().throughput_tuples_s for _ in range(fixed_periods))
        return rates[setting]

    def glimpsed_tuples_s(setting: ElementSetting, seconds: float) -> float:
        element = running.kept(make)
        element.apply(setting)
        element.observe(seconds / 3)
        return element.observe(2 * seconds / 3).throughput_tuples_s

    return ElementCase(
        name, "measured", lambda seed: running.replace(make), fixed_tuples_s, tuple(levels), model.names, queued,
        cores, period_s, glimpsed_tuples_s,
    )  # fmt: skip


def real_elastic_cases(running: OneAtATime, cores: int, period_s: float = 1.0) -> list[ElementCase]:
    """The computing and the waiting loads of `bench elastic-operator`, as one operator behind a queue."""
    queued, rate, cases = frozenset({"work"}), flop_s(), []
    for load, flop in FLOP_BY_LOAD.items():
        model = one_operator(flop, block_tuples=rows_within(flop, rate))
        levels = range(1, 2 * cores + 1)
        cases.append(real_case(f"{load}, real", model, levels, running, cores=cores, queued=queued, period_s=period_s))
    for wait_ms in WAITS_MS:
        model = one_operator(1, block_tuples=_WAITING_ROWS, wait_s=wait_ms / 1000)
        cases.append(
            real_case(f"waiting {wait_ms} ms, real", model, WAITING_LEVELS, running, cores=cores, queued=queued,
                      period_s=period_s)
        )  # fmt: skip
    return cases


def real_load_case(running: OneAtATime, cores: int, phases: Sequence[Phase], period_s: float = 1.0) -> ElementCase:
    """The heavy load while cores of this machine are pegged by other processes."""
    model = one_operator(10_000, block_tuples=rows_within(10_000, flop_s()))
    return real_case(
        "heavy, real", model, range(1, 2 * cores + 1), running, cores=cores, queued=frozenset({"work"}),
        period_s=period_s, phases=phases,
    )  # fmt: skip


def real_multilevel_models(blocks: Sequence[int], seed: int, *, quick: bool) -> list[ElementModel]:
    """The graphs of `bench multilevel`, with balanced and skewed costs; the larger ones at one block size."""
    models = []
    for block in blocks:
        for costs in (balanced(), skewed(seed)):
            models.append(pipeline(100, costs, block_tuples=block))
            models.append(data_parallel(50, costs, block_tuples=block))
            models.append(bushy(costs, block_tuples=block))
            if not quick and block == _BLOCK_OF_ALL_GRAPHS:
                models.append(pipeline(500, costs, block_tuples=block))
                models.append(pipeline(1000, costs, block_tuples=block))
                models.append(data_parallel(100, costs, block_tuples=block))
                models.append(mixed(10, 50, costs, block_tuples=block))
                models.append(mixed(10, 100, costs, block_tuples=block))
    return models


class PeggedElement(RealElement):
    """A real element while other processes peg cores, phase by phase; a period is counted from the second observation.

    The first observation is for getting to know the element, as in the loop.
    """

    def __init__(
        self, model: ElementModel, phases: Sequence[Phase], *, max_level: int, period_s: float, queued: frozenset[str]
    ) -> None:
        self._phases, self._period = tuple(phases), -1
        self._pegged = PeggedCores()
        super().__init__(model, max_level=max_level, period_s=period_s, queued=queued)

    def observe(self, period_s: float | None = None) -> ElementObservation:
        taken = next((p.taken_cores for p in self._phases if p.begin <= max(self._period, 0) < p.end), 0)
        if taken != self._pegged.cores:
            self._pegged.set(taken)
        self._period += 1
        return super().observe(period_s)

    def close(self) -> None:
        self._pegged.close()
        super().close()
