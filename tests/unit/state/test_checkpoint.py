"""A checkpoint goes on only with what it began: the same application, slots and fusion that its state allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.app.graph import Graph
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.slots.state_slots import check_fits, check_same_slots, check_slot_functions
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.checkpoint import BatchPlan, Checkpoint
from penstock.state.checkpoint.lease import Lease


class Count:
    """Counts the tuples of a key."""

    def state(self) -> list[int]:
        return [0]

    def process(self, row: dict[str, Any], state: list[int]) -> dict[str, Any]:
        state[0] += 1
        return {"n": state[0]}


def application(count: int = 3, function: Callable[..., Any] = lambda batch: batch) -> ps.Application:
    app = ps.Application("checked")
    source = app.source("ticks", schema={"k": "int64", "x": "float64"})
    mapped = source.map("mapped", function, {"k": "int64", "x": "float64"})
    window = ps.sliding(count=count, per_group=True)
    mapped.aggregate("window", by="k", window=window, emit={"x": "sum(x)"}).sink("out", ps.sinks.discard())
    ordered = source.sort("ordered", "x", window=ps.tumbling(count=2))
    ordered.operator("counted", Count(), schema={"n": "int64"}, by="k").sink("counts", ps.sinks.discard())
    return app


def fixed_by(directory: Path, graph: Graph, **settings: Any) -> Any:
    return Checkpoint(directory).fix(graph, **{"slots": None, "now_s": 0.0, "dumps": dumps_for_workers, **settings})


def test_another_place_in_the_file_is_the_same_application(tmp_path: Path) -> None:
    first = fixed_by(tmp_path, application().graph)
    again = fixed_by(tmp_path, application().graph)  # written on other lines: the place is not compared
    assert again.checkpoint_id == first.checkpoint_id


def test_any_other_difference_is_another_application(tmp_path: Path) -> None:
    fixed_by(tmp_path, application().graph)
    with pytest.raises(ps.errors.InputError, match="belongs to another application"):
        fixed_by(tmp_path, application(count=4).graph)


def test_a_function_that_was_mended_is_used(tmp_path: Path) -> None:
    fixed_by(tmp_path, application(function=lambda batch: batch).graph)
    fixed_by(tmp_path, application(function=lambda batch: "mended").graph)
    stored = Checkpoint(tmp_path).fixed().graph.operator("mapped")
    assert stored.function(None) == "mended"  # type: ignore[union-attr]


def test_slots_stay_as_they_are(tmp_path: Path) -> None:
    assert fixed_by(tmp_path, application().graph, slots=8).slots == 8
    assert fixed_by(tmp_path, application().graph).slots == 8
    with pytest.raises(ps.errors.InputError, match="slots stay as they are for the life of a checkpoint: 8; got 16"):
        fixed_by(tmp_path, application().graph, slots=16)


def test_a_route_must_have_an_entry_for_each_slot(tmp_path: Path) -> None:
    fixed = fixed_by(tmp_path, application().graph, slots=8)
    good = default_configuration(pipeline_of(fixed.graph), 2, 8)
    check_fits(fixed, good)
    short = good.with_element(replace(good.element("window"), route=(0, 1)))
    with pytest.raises(ps.errors.InputError, match="'window' has 2 entries, and needs one for each of its 8 slots"):
        check_fits(fixed, short)
    with pytest.raises(ps.errors.InputError, match="at least one replica; got 0"):
        check_fits(fixed, good.with_element(replace(good.element("window"), replicas=0)))


def test_fusion_that_would_cut_state_otherwise_is_refused(tmp_path: Path) -> None:
    fixed = fixed_by(tmp_path, application().graph, slots=8)
    fused = default_configuration(pipeline_of(fixed.graph), 2, 8)
    apart = fused.with_unfused(fixed.graph, ["counted"], 8)
    with pytest.raises(ps.errors.InputError, match=r"'counted' has its state in 1 slot .*, and would need 8 slots"):
        check_same_slots(fixed, fused, apart)
    check_same_slots(fixed, fused, fused.with_unfused(fixed.graph, ["window"], 8))  # rows by key go on


def test_the_newest_plan_is_found(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.newest_plan() is None
    configuration = default_configuration(pipeline_of(application().graph), 2, 8)
    for batch in (9, 10):
        checkpoint.write_plan(BatchPlan(batch, 1, None, configuration))
    newest = checkpoint.newest_plan()
    assert newest is not None
    assert (newest.batch, newest.configuration) == (10, configuration)


def test_a_start_goes_on_with_its_own_cap_and_not_with_the_one_that_control_chose(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.newest_configuration() is None
    paced = replace(default_configuration(pipeline_of(application().graph), 2, 8), micro_batch_tuples=16_384)
    checkpoint.write_plan(BatchPlan(1, 1, None, paced, own_cap_tuples=5_000_000))
    assert checkpoint.newest_configuration() == replace(paced, micro_batch_tuples=5_000_000)
    waiting = replace(paced, micro_batch_tuples=65_536, block_rows=512)
    checkpoint.write_plan(BatchPlan(2, 1, None, paced, target=waiting, own_cap_tuples=5_000_000))
    assert checkpoint.newest_configuration() == replace(waiting, micro_batch_tuples=5_000_000)
    checkpoint.write_plan(BatchPlan(3, 1, None, paced))  # nobody controls: it is the user's
    assert checkpoint.newest_configuration() == paced


def test_slot_functions_are_of_operators_with_state_by_key() -> None:
    check_slot_functions(application().graph, {"window": ps.slots.RangeSlots((1.0,))})
    with pytest.raises(ps.errors.InputError, match="window, counted; got 'windw'; did you mean 'window'"):
        check_slot_functions(application().graph, {"windw": ps.slots.RangeSlots((1.0,))})


def test_a_lease_can_be_released_twice(tmp_path: Path) -> None:
    lease = Lease(str(tmp_path))
    lease.release()
    lease.release()
    Lease(str(tmp_path)).release()
