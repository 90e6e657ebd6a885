"""The graphs of benchmark `multilevel` on the plant: MULTILEVEL's, small ones for exhaustive search, a changing one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.threads.element_case import ElementCase, plant_case
from penstock.simulate.element_model import ElementModel
from penstock.simulate.element_plant import Change
from penstock.simulate.element_shapes import Costs, balanced, bushy, data_parallel, mixed, pipeline, skewed
from penstock.simulate.element_throughput import DEFAULT_COSTS, MachineCosts

BLOCKS = (1, 64, 8192)
CORES = (16, 88)
PERIOD_S = 5.0
# a machine that no constant was chosen on: queues five times as dear
DEAR_QUEUES = MachineCosts(push_s=1e-5, pop_s=1.5e-5, lock_s=1e-6)
CHANGE_PERIOD = 80

Shape = Callable[[Costs, int], ElementModel]


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a case stands in the table."""

    shape: str
    costs: str
    block_tuples: int
    cores: int
    machine: str = "standard"

    def __str__(self) -> str:
        special = "" if self.machine == "standard" else f", {self.machine}"
        return f"{self.shape}, {self.costs}, blocks of {self.block_tuples:,}, {self.cores} cores{special}"


SHAPES: dict[str, Shape] = {
    "pipeline 100": lambda costs, block: pipeline(100, costs, block_tuples=block),
    "pipeline 500": lambda costs, block: pipeline(500, costs, block_tuples=block),
    "pipeline 1,000": lambda costs, block: pipeline(1000, costs, block_tuples=block),
    "data-parallel 50": lambda costs, block: data_parallel(50, costs, block_tuples=block),
    "data-parallel 100": lambda costs, block: data_parallel(100, costs, block_tuples=block),
    "mixed 10 x 50": lambda costs, block: mixed(10, 50, costs, block_tuples=block),
    "mixed 10 x 100": lambda costs, block: mixed(10, 100, costs, block_tuples=block),
    "bushy 82": lambda costs, block: bushy(costs, block_tuples=block),
    "pipeline 100, any order": lambda costs, block: pipeline(100, costs, block_tuples=block, ordered=False),
    "mixed 10 x 50, any order": lambda costs, block: mixed(10, 50, costs, block_tuples=block, ordered=False),
}
SMALL_SHAPES: dict[str, Shape] = {
    "pipeline 8": lambda costs, block: pipeline(8, costs, block_tuples=block),
    "data-parallel 7": lambda costs, block: data_parallel(7, costs, block_tuples=block),
    "mixed 2 x 3": lambda costs, block: mixed(2, 3, costs, block_tuples=block),
    "pipeline 8, any order": lambda costs, block: pipeline(8, costs, block_tuples=block, ordered=False),
}


def large_cases(quick: bool, seed: int) -> list[tuple[Cell, ElementCase]]:
    """Every graph with balanced and skewed costs; the seed places heavy operators."""
    shapes = ("pipeline 100", "data-parallel 50", "bushy 82") if quick else tuple(SHAPES)
    costs: dict[str, Costs] = {"balanced": balanced(), "skewed": skewed(seed)}
    found = [
        _case(Cell(shape, name, block, cores), SHAPES[shape](costs[name], block))
        for cores in CORES
        for block in ((64,) if quick else BLOCKS)
        for shape in shapes
        for name in costs
    ]
    if not quick:
        for shape, name, block in (("pipeline 500", "balanced", 1), ("pipeline 500", "skewed", 64),
                                   ("mixed 10 x 50", "skewed", 64), ("data-parallel 50", "balanced", 64),
                                   ("bushy 82", "balanced", 64)):  # fmt: skip
            cell = Cell(shape, name, block, 88, "dear queues")
            found.append(_case(cell, SHAPES[shape](costs[name], block), DEAR_QUEUES))
    return found


def small_cases(quick: bool, seed: int) -> list[tuple[Cell, ElementCase]]:
    """Graphs of at most eight operators, on 16 cores."""
    costs: dict[str, Costs] = {
        "100 flop": balanced(), "10,000 flop": balanced(10_000), "skewed": skewed(seed, heavy=0.25, medium=0.35)
    }  # fmt: skip
    return [
        _case(Cell(shape, name, block, 16), SMALL_SHAPES[shape](costs[name], block))
        for shape in (("pipeline 8", "mixed 2 x 3") if quick else SMALL_SHAPES)
        for block in ((64,) if quick else BLOCKS)
        for name in costs
    ]  # fmt: skip


def long_pipelines(quick: bool, seed: int) -> list[tuple[Cell, ElementCase]]:
    """500 operators in a row on 88 cores: for how long it takes to settle."""
    costs: dict[str, Costs] = {"balanced": balanced(), "skewed": skewed(seed)}
    return [
        _case(Cell("pipeline 500", name, block, 88), pipeline(500, costs[name], block_tuples=block))
        for block in ((64,) if quick else BLOCKS)
        for name in costs
    ]


def changing_case(seed: int) -> tuple[ElementCase, ElementModel, ElementModel]:
    """100 operators of which 10 %, and from a period on 90 %, are heavy; and the two models (MULTILEVEL, Figure 13)."""
    before, after = (pipeline(100, skewed(seed, heavy=part, medium=0.05), block_tuples=64) for part in (0.1, 0.9))
    case = plant_case(
        "pipeline 100, 10 % heavy, then 90 %", before, 88, period_s=PERIOD_S,
        changes=(Change(CHANGE_PERIOD + 1, model=after),),
    )  # fmt: skip
    return case, before, after


def _case(cell: Cell, model: ElementModel, costs: MachineCosts = DEFAULT_COSTS) -> tuple[Cell, ElementCase]:
    return cell, plant_case(str(cell), model, cell.cores, period_s=PERIOD_S, costs=costs)


def seeds(quick: bool) -> Sequence[int]:
    """Seeds that nothing was tuned with (record 0021)."""
    return (301,) if quick else (301, 302, 303)
