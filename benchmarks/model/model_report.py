"""What `python -m benchmarks model` prints, and its JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

from rich.table import Table

from benchmarks.model.errors import ElementError, summary
from benchmarks.model.model import Effort, Findings, run_model
from benchmarks.model.widths import Widths
from benchmarks.report import measured, report, table_of, verdict

_TITLE = "CPU of elements that never ran, predicted from others: learned in this run"


def run_benchmark(
    *,
    quick: bool,
    only: tuple[str, ...],
    minutes: float | None,
    json_file: Path | None,
    pictures: Path | None,
    folder: Path | None,
) -> None:
    """Runs, prints tables, draws, and ends with one JSON object."""
    effort = Effort(quick, 0.4, only, 8.0, 1) if quick else Effort(quick, 12.0, only, 55.0)
    effort = effort if minutes is None else replace(effort, minutes=minutes)
    found = measured(run_model, effort, folder)
    figures = figures_of(found, quick=quick)
    if pictures is not None:
        from benchmarks.model.model_pictures import save_pictures

        save_pictures(found, pictures)
    report(_TITLE, [_table(found)], [*_notes(found), *found.problems, verdict(missed(figures))], figures, json_file)


def figures_of(found: Findings, *, quick: bool) -> dict[str, Any]:
    """The JSON object."""
    mean_error, worst_error, cores_off = summary(found.errors)
    is_high = any(own.is_high for own in found.errors)
    return {
        "mean_error": mean_error if is_high else None,
        "worst_error": worst_error if is_high else None,
        "cores_off_below_half": cores_off if any(not own.is_high for own in found.errors) else None,
        "repeat_error": _repeat(found.errors),
        "rate_error_worst": max(found.rate_errors, default=None),
        "max_rate_error_worst": max((abs(p / s - 1) for _, p, s in found.max_rates), default=None),
        "fusion_ratio_worst": max((ratio for *_, ratio in found.fusion_ratios), default=None),
        "overhead": median(found.overheads) if found.overheads else None,
        "algorithm_2_error_worst": max((own.error for own in found.recovered), default=None),
        "quick": quick,
        "cases": {name: _of_case([own for own in found.errors if own.case == name]) for name in _names(found)},
        "max_rates": {name: {"predicted": p, "searched": s} for name, p, s in found.max_rates},
        "fusions": {name: {"chosen": text, "ratio": ratio} for name, text, ratio in found.fusion_ratios},
        "dear_keys_imbalance": None if found.dear_keys is None else found.dear_keys[1],
        "width": None if found.widths is None else _width_figures(found.widths),
        "contention": None
        if found.contention is None
        else {**asdict(found.contention), "error": found.contention.error},
        "problems": found.problems,
    }


def _width_figures(own: Widths) -> dict[str, Any]:
    return {
        "communication_ratio": own.communication,
        "operator_ratio_by_name": {each.name: each.ratio for each in own.operators},
        "within_band": all(each.is_within for each in own.operators),
    }


def _notes(found: Findings) -> list[str]:
    notes = [f"highest rate of {name}: {p:,.0f} predicted, {s:,.0f} found" for name, p, s in found.max_rates]
    notes += [
        f"fusion of {name}: {text} takes {ratio:.3f} of the best's CPU" for name, text, ratio in found.fusion_ratios
    ]
    notes += [
        f"Algorithm 2 on the biased estimate, {own.case}, {own.name}: {own.recovered[-1]:.3f} cores recovered, "
        f"{own.measured[-1]:.3f} by the thread clock; at the lowest rate the estimate is "
        f"{own.biased[0] / own.measured[0]:.2f} of that"
        for own in found.recovered
    ]
    if found.dear_keys is not None:
        before, after = found.dear_keys
        notes.append(f"dear keys: busiest over mean replica {before:.2f} before, {after:.2f} after rebalancing")
    if found.widths is not None:
        each = ", ".join(
            f"{own.name} {own.ratio:.2f} ({'within' if own.is_within else 'outside'} its band)"
            for own in found.widths.operators
        )
        notes.append(f"tuples 8 times as wide: communication takes {found.widths.communication:.2f} as much, {each}")
    if found.contention is not None:
        own = found.contention
        notes.append(
            f"a busy neighbour raises CPU by {own.factor:.1%}: {own.predicted:.3f} cores predicted at another rate, "
            f"{own.measured:.3f} measured, {own.alone:.3f} alone"
        )
    return notes


def _names(found: Findings) -> list[str]:
    return list(dict.fromkeys(own.case for own in found.errors))


def _of_case(errors: list[ElementError]) -> dict[str, float | None]:
    mean_error, worst_error, cores_off = summary(errors)
    return {"mean_error": mean_error, "worst_error": worst_error, "cores_off_below_half": cores_off,
            "repeat_error": _repeat(errors)}  # fmt: skip


def _repeat(errors: Sequence[ElementError]) -> float | None:
    """By how much the rounds of a measurement differ; None where there was one alone, or none."""
    known = [own.repeat for own in errors if own.is_high and own.repeat is not None]
    return mean(known) if known else None


def _table(found: Findings) -> Table:
    table = table_of(
        "relative error of element CPU from half of the highest rate upwards", "case", "elements", "mean", "worst",
        "repeat", "cores off below", "<worst element",
    )  # fmt: skip
    for name in _names(found):
        errors = [own for own in found.errors if own.case == name]
        figures = _of_case(errors)
        worst = max((own for own in errors if own.is_high), key=lambda own: own.error, default=None)
        where = "" if worst is None else f"{worst.element} of {worst.fusion} at {worst.rate:,.0f}"
        table.add_row(
            name, str(len(errors)), f"{figures['mean_error']:.1%}", f"{figures['worst_error']:.1%}",
            "-" if figures["repeat_error"] is None else f"{figures['repeat_error']:.1%}",
            f"{figures['cores_off_below_half']:.3f}", where,
        )  # fmt: skip
    return table


def missed(figures: Mapping[str, object]) -> list[str]:
    """The goals that were not reached, or not measured."""
    goals = {"mean_error": 0.05, "worst_error": 0.10, "rate_error_worst": 0.01, "max_rate_error_worst": 0.10,
             "fusion_ratio_worst": 1.03, "overhead": 0.014, "dear_keys_imbalance": 1.1}  # fmt: skip
    above = [
        f"{name} {value:.3g} is above {goals[name]:g}"
        for name in goals
        if isinstance(value := figures[name], float) and value > goals[name]
    ]
    return above + [f"{name} was not measured" for name in goals if figures[name] is None]
