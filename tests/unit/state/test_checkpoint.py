"""A checkpoint goes on only with what it began: the same application, slots and fusion that its state allows."""

from __future__ import annotations

import functools
import json
import logging
import pickle
import random
import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.app.graph import Graph
from penstock.app.operators import Source
from penstock.host.directories import scratch_folder
from penstock.plan.configuration import default_configuration
from penstock.plan.elements.pipeline import pipeline_of
from penstock.runtime.slots.state_slots import check_fits, check_same_slots, check_slot_functions
from penstock.spark.session.pickling import dumps_for_workers
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.essence import differing, operator_digests
from penstock.state.checkpoint.lease import Lease
from penstock.state.checkpoint.place import check_is_own, header_line


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
    with pytest.raises(ps.errors.InputError, match="version of application 'checked': 'window' changed; start changed"):
        fixed_by(tmp_path, application(count=4).graph)
    read = replace(application().graph.operator("ticks"), rate_tuples_s=5.0)  # type: ignore[call-arg]
    graph = application().graph
    with pytest.raises(ps.errors.InputError, match="'ticks' changed; take another checkpoint"):  # a source has no state
        fixed_by(tmp_path, replace(graph, operators=(read, *graph.operators[1:])))
    other = ps.Application("other")
    other.source("ticks", schema={"k": "int64"}).sink("out")
    with pytest.raises(ps.errors.InputError, match=r"belongs to another application or version of it \('checked'\)"):
        fixed_by(tmp_path, other.graph)


class Ewma:
    """A user's operator with parameters, some of them in slots and nested."""

    __slots__ = ("alpha", "extra")

    def __init__(self, alpha: float, extra: object = None) -> None:
        self.alpha, self.extra = alpha, extra

    def state(self) -> list[float]:
        return [0.0]

    def process(self, row: dict[str, Any], state: list[float]) -> dict[str, Any]:
        state[0] += self.alpha * (row["x"] - state[0])
        return {"x": state[0]}


def smoothed(instance: object) -> Graph:
    app = ps.Application("smoothed")
    source = app.source("ticks", schema={"k": "int64", "x": "float64"})
    source.operator("ewma", instance, schema={"x": "float64"}, by="k").sink("out", ps.sinks.discard())
    return app.graph


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Ewma(0.1), Ewma(0.9)),
        (Ewma(0.1, {"a": [1, 2]}), Ewma(0.1, {"a": [1, 3]})),
        (Ewma(0.1, np.arange(3)), Ewma(0.1, np.arange(3) + 1)),
        (Ewma(0.1, Ewma(1.0)), Ewma(0.1, Ewma(2.0))),
        (Ewma(0.1, timedelta(seconds=1)), Ewma(0.1, timedelta(seconds=9))),
        (Ewma(0.1, [Decimal("0.1")]), Ewma(0.1, [Decimal("0.9")])),
        (Ewma(0.1, functools.partial(max, 1)), Ewma(0.1, functools.partial(max, 2))),
        (Ewma(0.1, deque([1, 2])), Ewma(0.1, deque([1, 3]))),
        (Ewma(0.1, re.compile("a")), Ewma(0.1, re.compile("b"))),
        (Ewma(0.1, np.array(["a"], object)), Ewma(0.1, np.array(["b"], object))),
    ],
    ids=["value", "nested", "array", "object", "timedelta", "decimal", "partial", "deque", "pattern", "texts"],
)
def test_changed_parameters_do_not_go_on_over_old_state(tmp_path: Path, before: object, after: object) -> None:
    first = fixed_by(tmp_path, smoothed(before))
    assert fixed_by(tmp_path, smoothed(before)).checkpoint_id == first.checkpoint_id
    with pytest.raises(ps.errors.InputError, match="'ewma' changed; start changed operators empty with --reset"):
        fixed_by(tmp_path, smoothed(after))
    assert fixed_by(tmp_path, smoothed(after), reset=["ewma"]).checkpoint_id == first.checkpoint_id
    fixed_by(tmp_path, smoothed(after))  # from now on it is this one


def _read(path: str) -> Path:
    found = Path(path)
    assert str(found)  # which it keeps
    return found


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array(["".join(["some ", "text"])], object),
        lambda: logging.getLogger("penstock.test.parameters"),
        random.Random,
        np.random.default_rng,
        threading.Lock,
        lambda: json,
        lambda: _read("a") if random.random() < 0.5 else Path("a"),
    ],
    ids=["texts", "logger", "random", "generator", "lock", "module", "path"],
)
def test_what_is_made_anew_at_each_start_is_no_changed_parameter(make: Callable[[], object]) -> None:
    before = operator_digests(smoothed(Ewma(0.1, make())))
    logging.getLogger(f"penstock.test.{id(before)}")
    assert all(operator_digests(smoothed(Ewma(0.1, make()))) == before for _ in range(8))


def test_parameters_that_contain_themselves_have_an_end() -> None:
    first, second = Ewma(0.1), Ewma(0.2)
    first.extra = [first, first, {"both": [first, second]}]
    second.extra = [first, second, first]
    assert operator_digests(smoothed(first)) == operator_digests(smoothed(first))


def test_parameters_of_a_checkpoint_of_version_3_are_compared_as_it_knew_them(tmp_path: Path) -> None:
    before, after = (smoothed(Ewma(0.1, timedelta(seconds=own))) for own in (1, 9))
    fixed_by(tmp_path, before)
    path = tmp_path / "application"
    line, body = path.read_bytes().split(b"\n", 1)
    old = {"penstock_checkpoint": 3, "operators": operator_digests(before, of_attributes=True)}
    path.write_bytes(header_line(json.loads(line) | old) + body)
    fixed_by(tmp_path, before)
    with pytest.raises(ps.errors.InputError, match="'ewma' changed"):
        fixed_by(tmp_path, after)


def test_a_setting_that_a_later_version_adds_with_a_default_changes_nothing() -> None:
    graph = smoothed(Ewma(0.1))

    @dataclass(frozen=True, slots=True)
    class Custom(type(graph.operator("ewma"))):  # type: ignore[misc]
        added_later: int = 7

    old = graph.operator("ewma")
    new = Custom(**{own.name: getattr(old, own.name) for own in fields(old)})
    later = replace(graph, operators=tuple(new if o is old else o for o in graph.operators))
    assert operator_digests(later) == operator_digests(graph)
    changed = replace(new, added_later=8)
    other = replace(graph, operators=tuple(changed if o is old else o for o in graph.operators))
    assert differing(operator_digests(graph), operator_digests(other)) == ["ewma"]


def test_sources_of_older_checkpoints_have_the_default_settings_of_event_time() -> None:
    old = application().graph.operator("ticks")
    assert isinstance(old, Source)
    made, arguments, state = old.__reduce_ex__(2)[:3]
    before = made(*arguments)
    before.__setstate__(
        state[: [own.name for own in fields(old)].index("event_time")]
    )  # as written before it was there
    assert before == old


def test_the_timeout_of_idle_sources_may_change_between_two_starts(tmp_path: Path) -> None:
    def timed(**settings: Any) -> Graph:
        app = ps.Application("timed")
        app.source("ticks", schema={"t": "float64"}, event_time="t", **settings).sink("out", ps.sinks.discard())
        return app.graph

    fixed_by(tmp_path, timed(out_of_order_s=1.0))
    fixed_by(tmp_path, timed(out_of_order_s=1.0, idle_timeout_s=5.0))
    stored = Checkpoint(tmp_path).fixed().graph.operator("ticks")
    assert isinstance(stored, Source)
    assert stored.idle_timeout_s == 5.0
    with pytest.raises(ps.errors.InputError, match="'ticks' changed"):
        fixed_by(tmp_path, timed(out_of_order_s=2.0))


def test_a_checkpoint_becomes_durable_when_asked_and_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr("penstock.host.atomic_file.sync", synced.append)
    assert not fixed_by(tmp_path, application().graph).durable
    assert not synced
    assert fixed_by(tmp_path, application().graph, durable=True).durable
    assert fixed_by(tmp_path, application().graph).durable
    assert Checkpoint(tmp_path).fixed().durable
    assert synced == [str(tmp_path)] * 2  # each time that the application was written


def test_only_operators_with_state_of_their_own_can_be_reset(tmp_path: Path) -> None:
    with pytest.raises(ps.errors.InputError, match=r"has no operator 'emwa' whose state could be reset; .* 'ewma'\?"):
        fixed_by(tmp_path, smoothed(Ewma(0.1)), reset=["emwa"])


def test_an_application_file_of_another_version_is_refused_before_it_is_unpickled(tmp_path: Path) -> None:
    fixed_by(tmp_path, application().graph)
    path = tmp_path / "application"
    path.write_bytes(pickle.dumps((2, "digest", "what version 2 had")))
    with pytest.raises(ps.errors.InputError, match="is older than version 3, the oldest that can be read"):
        fixed_by(tmp_path, application().graph)
    path.write_bytes(b'{"penstock_checkpoint": 5}\nnot a pickle')
    with pytest.raises(ps.errors.InputError, match="has version 5, and this Penstock reads versions 3 to 4"):
        fixed_by(tmp_path, application().graph)
    path.write_bytes(b'{"penstock_checkpoint": 3}\nnot a pickle')
    with pytest.raises(ps.errors.InputError, match="cannot be read: 'name'; take another one"):
        fixed_by(tmp_path, application().graph)


def test_a_checkpoint_of_version_3_is_read_and_goes_on_as_the_newest(tmp_path: Path) -> None:
    before = fixed_by(tmp_path, application().graph)
    path = tmp_path / "application"
    header, body = path.read_bytes().split(b"\n", 1)
    path.write_bytes(header_line(json.loads(header) | {"penstock_checkpoint": 3}) + body)
    assert Checkpoint(tmp_path).fixed().checkpoint_id == before.checkpoint_id
    fixed_by(tmp_path, application().graph)
    assert json.loads(path.read_bytes().split(b"\n", 1)[0])["penstock_checkpoint"] == 4


def test_a_header_with_another_id_or_folder_than_was_written_is_refused(tmp_path: Path) -> None:
    first = fixed_by(tmp_path, application().graph).checkpoint_id
    path = tmp_path / "application"
    path.write_bytes(path.read_bytes().replace(first.encode(), first[::-1].encode(), 1))
    with pytest.raises(ps.errors.InputError, match="it is not what was written, its checksum differs"):
        fixed_by(tmp_path, application().graph)


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
    with pytest.raises(
        ps.errors.InputError, match=r"'counted' has its state as one object in 1 slot .*, and would need objects in 8"
    ):
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


@pytest.mark.parametrize("start", [ps.run, ps.start])
def test_an_empty_path_of_a_checkpoint_is_refused(start: Any) -> None:
    app = ps.Application("empty")
    app.source("s", ps.sources.trace("unbounded", total=1)).sink("out")
    with pytest.raises(ps.errors.InputError, match="a checkpoint is a directory; got ''; name one"):
        start(app, checkpoint="")


def test_a_checkpoint_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    with pytest.raises(ps.errors.InputError, match=r"a checkpoint is a directory; got the file '.*notes'"):
        Lease(str(tmp_path / "notes"))


@pytest.mark.parametrize("start", [ps.run, ps.start])
def test_a_directory_with_other_files_is_no_checkpoint_and_loses_none_of_them(tmp_path: Path, start: Any) -> None:
    """A start sweeps `results`, `warm-up` and drafts, which may have been the user's own."""
    (tmp_path / "results").mkdir()
    for name in ("results/of-the-year.csv", "app.py", "notes.md", "plan.txt"):
        (tmp_path / name).write_text("mine")
    app = ps.Application("numbers")
    app.source("s", ps.sources.trace("unbounded", total=1)).sink("out")
    wanted = r"directory of its own; got '.*', which has other files: app.py, notes.md, plan.txt and 1 more; name a new"
    with pytest.raises(ps.errors.InputError, match=wanted):
        start(app, checkpoint=tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "app.py", "notes.md", "of-the-year.csv", "plan.txt"
    ]  # fmt: skip


@pytest.mark.parametrize("names", [(), (".gitkeep", "lost+found"), ("id", "notes"), ("lease",), ("application", "x")])
def test_an_empty_directory_and_one_that_a_driver_has_begun_are_checkpoints(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        (tmp_path / name).touch()
    check_is_own(tmp_path)
    check_is_own(tmp_path / "new")
    scratch = scratch_folder()
    check_is_own(Path(scratch.path))
    scratch.remove()


def with_files(source: str, sink: str) -> Graph:
    app = ps.Application("files")
    app.source("in", ps.sources.csv(source), {"x": "int64"}).sink("out", ps.sinks.csv(sink))
    return app.graph


def as_before(directory: Path, graph: Graph) -> None:
    """Makes a checkpoint one of a version that kept paths as they were given, in digests too."""
    path = directory / "application"
    line, _, rest = path.read_bytes().partition(b"\n")
    header = json.loads(line)
    for later in ("id", "paths", "directory", "sinks", "copy_of", "checksum", "header_checksum"):
        del header[later]
    header["operators"] = operator_digests(graph, has_paths=True)
    fixed = pickle.loads(rest)
    path.write_bytes(json.dumps(header).encode() + b"\n" + pickle.dumps(replace(fixed, graph=graph)))
    (directory / "id").unlink()


@pytest.mark.parametrize("is_of_before", [False, True])
def test_paths_are_those_of_the_first_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_of_before: bool
) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    first = fixed_by(tmp_path / "c", with_files("in", "out"))
    if is_of_before:
        as_before(tmp_path / "c", with_files("in", "out"))
    again = fixed_by(tmp_path / "c", with_files("in", "out"))
    assert again.checkpoint_id == first.checkpoint_id
    assert again.graph.sinks[0].connector == ps.sinks.csv(tmp_path / "one" / "out")
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(ps.errors.InputError) as raised:
        fixed_by(tmp_path / "c", with_files("in", "out"))
    assert str(raised.value) == (
        f"operator 'in' of application 'files' has the path '{tmp_path}/other/in', and in the checkpoint "
        f"'{tmp_path}/c' it has '{tmp_path}/one/in'; start in the directory of before, give that path, or take another "
        "checkpoint"
    )
    fixed_by(tmp_path / "c", with_files(str(tmp_path / "one" / "in"), "../one/out"))


def test_a_path_through_a_link_is_the_same_path(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "one")
    fixed_by(tmp_path / "c", with_files(str(tmp_path / "one" / "in"), str(tmp_path / "one" / "out")))
    fixed_by(tmp_path / "c", with_files(str(tmp_path / "link" / "in"), str(tmp_path / "link" / "out")))


def test_another_setting_of_a_file_source_is_another_application(tmp_path: Path) -> None:
    fixed_by(tmp_path, with_files("in", "out"))
    app = ps.Application("files")
    app.source("in", ps.sources.csv("in", header=False), {"x": "int64"}).sink("out", ps.sinks.csv("out"))
    with pytest.raises(ps.errors.InputError, match="'in' changed; take another checkpoint"):
        fixed_by(tmp_path, app.graph)


def test_a_start_that_failed_leaves_its_id_to_the_next(tmp_path: Path) -> None:
    seen: list[str] = []

    def fail(graph: Graph, checkpoint_id: str) -> Graph:
        seen.append(checkpoint_id)
        raise ps.errors.InputError("no such file")

    graph = with_files("in", "out")
    with pytest.raises(ps.errors.InputError):
        Checkpoint(tmp_path).fix(graph, slots=8, now_s=0.0, dumps=dumps_for_workers, prepare=fail)
    assert fixed_by(tmp_path, graph).checkpoint_id == seen[0]
    assert fixed_by(tmp_path / "other", graph).checkpoint_id != seen[0]
