"""Pictures of the benchmark: measured, predicted and biased CPU against the rate with bands and residuals; operators
recovered from the biased estimate; communication; a busy neighbour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.model.biased import RecoveredOperator
from benchmarks.model.contention import Contention
from benchmarks.model.errors import ElementError
from benchmarks.model.model import Findings
from benchmarks.model.operator_pictures import node_figures, own_mips, save_functions, save_node, save_rates
from benchmarks.pictures import figure_of, plain
from penstock.model.costs.store import node_class

_MOST_PANELS = 12


def save_pictures(found: Findings, folder: Path) -> None:
    """The counterparts of MODEL's Figures 7 and 9 to 28.

    For each case its elements (22, 24, 26, 28), its operators' functions with what they were learned from (12, 13, 15,
    17, 19, 23, 27), the rates of their results (14, 16, 20), and operators recovered from the biased estimate where
    they were fused (10, 11, 18); communication.svg (7), contention.svg (21 and 25), node.svg (9, of this node alone).
    """
    folder.mkdir(parents=True, exist_ok=True)
    for case in dict.fromkeys(own.case for own in found.errors):
        _save_case([own for own in found.errors if own.case == case], folder / f"{_file(case)}.svg")
    for case in dict.fromkeys(own.case for own in found.recovered):
        own = [operator for operator in found.recovered if operator.case == case]
        _save_recovered(own, folder / f"{_file(case)}-recovered.svg")
    for case in dict.fromkeys(own.case for own in found.learned):
        learned = [operator for operator in found.learned if operator.case == case]
        save_functions(learned, folder / f"{_file(case)}-operators.svg")
        save_rates(learned, folder / f"{_file(case)}-rates.svg")
    fused = [own for own in found.recovered if own.case == found.recovered[0].case]
    if fused:
        save_node(node_figures(fused, node_class(), own_mips()), folder / "node.svg")
    if found.overhead is not None:
        _save_communication(found, folder / "communication.svg")
    if found.contention is not None:
        _save_contention(found.contention, folder / "contention.svg")


def _file(case: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in case)


def _save_case(errors: list[ElementError], path: Path) -> None:
    keys = list(dict.fromkeys((own.fusion, own.element) for own in errors))[:_MOST_PANELS]
    figure = figure_of(3.2 * min(len(keys), 4), 3.6 * -(-len(keys) // 4))
    panels = figure.subfigures(-(-len(keys) // 4), min(len(keys), 4), squeeze=False)
    for panel, key in zip(panels.flat, keys, strict=False):
        points = sorted((own for own in errors if (own.fusion, own.element) == key), key=lambda own: own.rate)
        _draw(panel, key, points)
    figure.savefig(path)


def _draw(panel: Any, key: tuple[str, str], points: list[ElementError]) -> None:
    above, below = panel.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    rates = np.array([own.rate for own in points])
    above.fill_between(rates, [own.low for own in points], [own.high for own in points], alpha=0.3, label="98 % band")
    above.plot(rates, [own.predicted for own in points], label="predicted")
    above.plot(rates, [own.measured for own in points], "k.", label="measured")
    if all(own.biased is not None for own in points):
        above.plot(rates, [own.biased for own in points], "x", label="biased")
    plain(above, f"{key[1]} in {key[0]}"[:48], y="cores", size=6)
    above.legend(fontsize=5)
    residuals = [100 * (own.measured / own.predicted - 1) if own.predicted else 0.0 for own in points]
    below.axhline(0, color="grey", linewidth=0.5)
    below.plot(rates, residuals, "k.")
    plain(below, x="tuples/s", y="off, %", size=6)


def _save_recovered(operators: list[RecoveredOperator], path: Path) -> None:
    figure = figure_of(3.2 * len(operators), 3)
    panels = figure.subplots(1, len(operators), squeeze=False)
    for axes, own in zip(panels.flat, operators, strict=True):
        axes.plot(own.rates, own.recovered, label="recovered")
        axes.plot(own.rates, own.measured, "k.", label="thread clock")
        axes.plot(own.rates, own.biased, "x", label="biased")
        plain(axes, own.name, "tuples/s", "cores", size=6)
        axes.legend(fontsize=5)
    figure.savefig(path)


def _save_contention(own: Contention, path: Path) -> None:
    figure = figure_of(4, 3)
    axes = figure.subplots()
    axes.bar(["alone", "measured", "predicted"], [own.alone, own.measured, own.predicted])
    plain(axes, "beside a neighbour that writes 10 MB", y="cores")
    figure.savefig(path)


def _save_communication(found: Findings, path: Path) -> None:
    assert found.overhead is not None
    table, figure = found.overhead.communication, figure_of(8, 3)
    costs, cores, rates = figure.subplots(1, 3)
    for name, used in (("send", table.send_cores), ("receive", table.receive_cores)):
        each = [own / rate * 1e6 for own, rate in zip(used, table.max_rate_tuples_s, strict=True)]
        costs.plot(table.bytes_per_tuple, each, "o-", label=name)
        cores.plot(table.bytes_per_tuple, used, "o-", label=name)
    rates.plot(table.bytes_per_tuple, table.max_rate_tuples_s, "o-")
    plain(costs, "communication", "bytes per tuple", "CPU per tuple, microseconds")
    plain(cores, "at the highest rate", "bytes per tuple", "cores")
    plain(rates, "highest rate", "bytes per tuple", "tuples/s")
    costs.legend(fontsize=7)
    figure.savefig(path)
