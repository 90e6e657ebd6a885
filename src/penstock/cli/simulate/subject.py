"""What is simulated, and on what: a model, or an application with costs out of a journal or a profile; nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.app.application import Application
from penstock.cli.application import load_application
from penstock.errors import InputError
from penstock.plan.nodes import Node, Nodes, nodes
from penstock.simulate.calibration.fit import Fit
from penstock.simulate.events.model import Model, mean_rate
from penstock.simulate.events.model_file import is_model_file, read_model
from penstock.simulate.simulation import fitted_application


@dataclass(frozen=True, slots=True)
class Costs:
    """Where the costs of an application are to be learned from, and the rate to simulate it at; None: as it was."""

    from_journal: Path | None = None
    from_profile: Path | None = None
    rate: float | None = None


def subject_of(what: str, costs: Costs) -> Model | Fit:
    found = model_or_application(what)
    if isinstance(found, Model):
        if costs != Costs():
            raise InputError(
                "--rate, --from-journal and --from-profile go with an application; a model has its own rates and "
                "service times: change them in its file"
            )
        return found
    if costs.from_journal is None and costs.from_profile is None:
        raise InputError(
            f"application '{found.name}' does not say what its operators cost; give --from-journal with a run of it, "
            "--from-profile, or a model.json with a service time for each (docs/twin.md)"
        )
    fit = fitted_application(found, costs.from_journal, costs.from_profile, "penstock simulate")
    return fit if costs.rate is None else fit.at_rate(costs.rate)


def rate_of(subject: Model | Fit) -> float:
    if isinstance(subject, Fit):
        return subject.rate_tuples_s
    return sum(mean_rate(own.arrivals, own.block_tuples) for own in subject.sources)


def model_or_application(what: str) -> Model | Application:
    is_json = Path(what).suffix.lower() == ".json"
    if is_json and (is_model_file(what) or not Path(what).is_file()):
        return read_model(Path(what))
    try:
        return load_application(what)
    except InputError as error:
        if not is_json:
            raise
        raise InputError(f"{error}; a model is an object with the lists 'sources' and 'operators'") from error


def machines_of(path: Path | None) -> Nodes:
    return Nodes((Node("n1"),)) if path is None else nodes(path)
