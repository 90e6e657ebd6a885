"""The benchmark of predictions: what it compares and reports, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from benchmarks.model.biased import recovered_operators
from benchmarks.model.case_run import Measurement, configured
from benchmarks.model.cases import cases, func1
from benchmarks.model.contention import contention
from benchmarks.model.errors import ElementError, summary
from benchmarks.model.learned_operators import LearnedOperator, LearnedPoint, learned_operators
from benchmarks.model.model import Findings, chain_fusions, tried, with_lent
from benchmarks.model.model_pictures import save_pictures
from benchmarks.model.model_report import figures_of, missed
from benchmarks.model.operator_pictures import node_figures
from benchmarks.model.widths import NARROW, WIDE, compared_widths, width_case
from penstock.errors import PenstockError
from penstock.model.costs.communication import Communication
from penstock.model.costs.learning.learned_profile import learned
from penstock.model.costs.learning.operator_facts import facts_of
from penstock.model.costs.learning.samples import ElementSample, OperatorSample, Sample
from penstock.model.costs.profile import OperatorCost, Profile
from penstock.model.costs.resource_function import ResourceFunction, Term
from penstock.plan.plan import plan_of
from penstock.runtime.profiling.repeated_table import RepeatedTable
from tests.unit.model.costs.test_learned_profile import OVERHEAD


def error(share: float, measured: float, predicted: float) -> ElementError:
    return ElementError("c", "a | b", "a", 1e4 * share, share, measured, predicted, 0.0, 1.0, 0.01)


def test_relative_errors_count_from_half_of_the_highest_rate() -> None:
    mean_error, worst_error, cores_off = summary([error(0.5, 1.0, 1.1), error(1.0, 2.0, 2.0), error(0.2, 0.1, 0.2)])
    assert (mean_error, worst_error, cores_off) == pytest.approx((0.05, 0.1, 0.1))


def test_the_object_has_the_names_that_others_read() -> None:
    found = Findings(
        [error(1.0, 1.0, 1.2)], [0.005], [("c", 90.0, 100.0)], [("c", "a", 1.01)], [0.004], OVERHEAD, (1.6, 1.05)
    )
    figures = figures_of(found, quick=True)
    names = ("mean_error", "worst_error", "rate_error_worst", "max_rate_error_worst", "fusion_ratio_worst", "overhead")
    assert [figures[name] for name in names] == pytest.approx([0.2, 0.2, 0.005, 0.1, 1.01, 0.004])
    assert missed(figures) == ["mean_error 0.2 is above 0.05", "worst_error 0.2 is above 0.1"]
    nothing = figures_of(Findings(), quick=True)
    assert (nothing["mean_error"], nothing["overhead"]) == (None, None)
    assert "mean_error was not measured" in missed(nothing)


def test_a_part_that_fails_is_told_and_ends_nothing() -> None:
    def part() -> None:
        raise PenstockError("micro-batches take too long")

    found = Findings()
    tried("vwap", found, part)
    assert found.problems == ["vwap: micro-batches take too long"]


def test_a_chain_is_cut_in_every_way() -> None:
    assert chain_fusions(["s", "a", "b", "out"]) == [
        (("s", "a", "b", "out"),), (("s",), ("a", "b", "out")), (("s", "a"), ("b", "out")),
        (("s",), ("a",), ("b", "out")),
    ]  # fmt: skip


def test_cases_do_not_read_each_others_tuples(tmp_path: Path) -> None:
    """Sources of several programs have the same name: all are read after all were made."""
    sources = [own for case in list(cases(tmp_path, quick=True)) for own in case.graph.sources]
    repeated = [own for own in sources if isinstance(getattr(own.connector, "function", None), RepeatedTable)]
    assert len(repeated) == 8
    for own in repeated:
        assert own.connector.function(np.arange(3)).schema.names == own.schema.names  # type: ignore[union-attr]


def test_every_fusion_of_every_case_can_run(tmp_path: Path) -> None:
    for case in cases(tmp_path, quick=True):
        for groups in (case.learned, *case.predicted):
            planned = plan_of(case.graph, configured(case.graph, groups))
            assert {frozenset(group) for group in groups} <= {
                frozenset(set(e.operators) - {own.name for own in case.graph.sinks}) for e in planned.elements
            }


def test_pictures_are_drawn(tmp_path: Path) -> None:
    found = Findings([error(0.5, 1.0, 1.1), error(1.0, 2.0, 2.0)], overhead=OVERHEAD)
    found.contention = contention(alone=(0.2, 0.3), shared=(0.3, 0.44))
    found.recovered = list(recovered_operators("c", fused_measurements()))
    one_port = OperatorCost("f", ResourceFunction((Term((1,), 1e-6),)))
    plane = OperatorCost("j", ResourceFunction((Term((1, 0), 1e-6), Term((0, 1), 2e-6))))
    found.learned = [
        LearnedOperator("c", one_port, tuple(LearnedPoint((r,), r, 0.2, 0.1, 1e-6 * r, r, r) for r in (1e4, 2e4))),
        LearnedOperator("c", plane, tuple(LearnedPoint((r, s), r + s, 0.2, 0.1, None, r, r)
                                          for r in (1e4, 2e4) for s in (1e3, 3e3))),
    ]  # fmt: skip
    save_pictures(found, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "c.svg", "c-recovered.svg", "c-operators.svg", "c-rates.svg", "node.svg", "communication.svg",
        "contention.svg",
    }  # fmt: skip
    assert (tmp_path / "c-operators.svg").read_text().count("thread clock") == 3, "a panel for each rate of port 2"


def test_what_an_operator_was_learned_from_is_kept() -> None:
    app = ps.Application("halves")
    source = app.source("numbers", schema={"x": "int64"})
    source.functor("half", where="x > 0").functor("next").sink("out")
    cut = {"half": ("half",), "next": ("next", "out")}
    learning = []
    for rate in (1e4, 2e4, 4e4):
        elements = {
            "half": ElementSample(0.1, 0.1, 0.1, 0.1, 1, {"numbers": rate}, {"half": rate / 2}, {}, {},
                                  {"half": OperatorSample(1e-6 * rate, rate, rate / 2)}),
            "next": ElementSample(0.1, 0.1, 0.1, 0.1, 1, {"half": rate / 2}, {}, {}, {}),
        }  # fmt: skip
        sample = Sample(rate, 0.1, None, None, elements)
        learning.append(Measurement((("half",), ("next",)), round(rate), 1.0, sample, (sample,), cut))
    facts = facts_of(app.graph)
    profile = learned(facts, [(own.sample, own.elements) for own in learning], OVERHEAD)
    half, _ = learned_operators("c", profile, facts, learning, OVERHEAD)
    assert [point.own for point in half.points] == pytest.approx([0.01, 0.02, 0.04])
    assert [point.out for point in half.points] == [5e3, 1e4, 2e4]
    assert half.points[2].predicted_out == pytest.approx(2e4)


def test_a_nodes_figures_are_those_of_a_whole_core() -> None:
    own = node_figures(list(recovered_operators("c", fused_measurements())), "n", 4000.0)
    assert own.rate_tuples_s == pytest.approx(1 / 3e-6)
    assert own.share == pytest.approx(2 / 3)


def fused_measurements() -> list[Measurement]:
    """An element of two operators that take 2 and 1 microseconds a tuple, and 0.05 s beside them."""
    found = []
    for rate in (5e4, 1e5, 2e5):
        operators = {
            "a": OperatorSample(2e-6 * rate, rate, rate),
            "b": OperatorSample(1e-6 * rate, rate, rate),
            "out": OperatorSample(0.0, rate, 0.0),
        }
        cpu_s = 0.05 + 3e-6 * rate
        element = ElementSample(cpu_s, cpu_s, cpu_s, cpu_s, 1, {}, {}, {}, {}, operators)
        sample = Sample(rate, cpu_s, None, None, {"a": element})
        found.append(Measurement((("a", "b"),), round(rate), 1.0, sample, (sample,), {"a": ("a", "b", "out")}))
    return found


def test_algorithm_2_recovers_operators_from_the_biased_estimate() -> None:
    first, second = recovered_operators("c", fused_measurements())
    assert (first.name, second.name) == ("a", "b")
    assert first.biased[0] == pytest.approx(0.1 * 0.2), "below saturation it is too small"
    assert first.recovered == pytest.approx(first.measured)
    assert second.error == pytest.approx(0.0, abs=1e-6)


def test_operators_alone_in_their_element_are_not_for_algorithm_2() -> None:
    measured = fused_measurements()
    for own in measured:
        del own.sample.elements["a"].operators["b"]  # type: ignore[attr-defined]
    assert list(recovered_operators("c", measured)) == []


def test_contention_is_learned_at_one_rate_and_predicted_at_another() -> None:
    found = contention(alone=(0.2, 0.3), shared=(0.3, 0.44))
    assert found.factor == pytest.approx(0.5)
    assert found.predicted == pytest.approx(0.45)
    assert found.error == pytest.approx(0.45 / 0.44 - 1)


def by_width(cost: float, bytes_per_tuple: float) -> Profile:
    def own(name: str, inputs: tuple[str, ...], *, width: float) -> OperatorCost:
        noise = ResourceFunction((Term((1,), cost),), ((1e-20,),), 0.001)
        return OperatorCost(
            name, noise, {name: ResourceFunction((Term((1,), 1.0),))}, inputs, "load", bytes_per_tuple={name: width}
        )

    operators = (own("wide", (), width=bytes_per_tuple), own("work", ("wide",), width=bytes_per_tuple),
                 own("first", ("work",), width=8.0))  # fmt: skip
    return Profile(operators, communication=Communication((8.0, 128.0), (1e6, 2e5), (1.0, 1.0), (0.5, 0.5)))


def test_wide_tuples_change_communication_and_no_operator() -> None:
    found = compared_widths(by_width(2e-6, 16.0), by_width(2e-6, 128.0), 1e4)
    assert [own.is_within for own in found.operators] == [True, True]
    assert found.communication > 1.5
    assert not compared_widths(by_width(2e-6, 16.0), by_width(3e-6, 128.0), 1e4).operators[0].is_within


def test_wide_tuples_are_eight_times_as_wide() -> None:
    narrow, wide = (width_case(columns).graph.sources[0].schema for columns in (NARROW, WIDE))
    assert len(wide) == 8 * len(narrow)


def test_operators_of_another_case_replace_those_of_the_same_name() -> None:
    own, lent = by_width(2e-6, 16.0), by_width(5e-6, 16.0)
    found = with_lent(own, replace(lent, operators=lent.operators[:2]))
    assert [operator.cpu.at([1.0]) for operator in found.operators] == pytest.approx([2e-6, 5e-6, 2e-6])


def test_a_lent_sink_does_not_move_the_own_one() -> None:
    own = by_width(2e-6, 16.0)
    sink = replace(own.operators[2], name="out", outputs={}, inputs=("first",))
    moved = replace(sink, inputs=("work",))
    found = with_lent(replace(own, operators=(*own.operators, sink)), replace(own, operators=(*own.operators, moved)))
    assert found.operator("out").inputs == ("first",)


def test_func1_is_one_functor(tmp_path: Path) -> None:
    assert func1(tmp_path).learned == (("Regex1",),)


def test_widths_and_contention_are_in_the_object() -> None:
    found = Findings(
        widths=compared_widths(by_width(2e-6, 16.0), by_width(2e-6, 128.0), 1e4),
        contention=contention(alone=(0.2, 0.3), shared=(0.3, 0.44)),
    )
    figures = figures_of(found, quick=True)
    assert figures["width"]["within_band"] is True
    assert figures["contention"]["factor"] == pytest.approx(0.5)
