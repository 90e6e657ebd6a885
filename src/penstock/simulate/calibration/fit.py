"""A Fit: an application as a model, with its costs in micro-batches and a report of how well they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.app.application import Application
from penstock.arguments import PATH, check_arguments, kind, or_none
from penstock.errors import InputError
from penstock.plan.configuration import Configuration
from penstock.simulate.calibration.fit_report import FitReport
from penstock.simulate.events.draws import poisson
from penstock.simulate.events.model import Model, mean_rate
from penstock.simulate.micro_batch.batch_element import BatchElement
from penstock.simulate.micro_batch.costs import MicroBatchCosts


@dataclass(frozen=True, slots=True)
class Fit:
    """`model`: an operator for each element, under the mean rate of the run; `configuration`: that it ended with.

    `twin.fit_of(app, from_journal="checkpoint")` gives one, and `twin.simulate(app, from_journal=...)` uses it.

    >>> [own for own in ("at_rate", "with_replicas") if hasattr(Fit, own)]
    ['at_rate', 'with_replicas']
    """

    model: Model
    elements: tuple[BatchElement, ...]
    costs: MicroBatchCosts
    configuration: Configuration
    report: FitReport

    @property
    def rate_tuples_s(self) -> float:
        """Of all sources together."""
        return sum(mean_rate(own.arrivals, own.block_tuples) for own in self.model.sources)

    def at_rate(self, rate_tuples_s: float) -> Fit:
        """The same under another rate, shared by its sources as it was."""
        if not rate_tuples_s > 0:
            raise InputError(f"a rate is above 0 tuples/s; got {rate_tuples_s:g}")
        factor = rate_tuples_s / self.rate_tuples_s
        sources = [
            replace(own, arrivals=poisson(factor * mean_rate(own.arrivals, own.block_tuples)))
            for own in self.model.sources
        ]
        return replace(self, model=Model(sources, self.model.operators))

    def with_replicas(self, replicas: Sequence[int]) -> Fit:
        """The same with so many replicas of each element, in their order; those that can have one only keep it."""
        configuration = self.configuration
        for element, wanted in zip(self.elements, replicas, strict=True):
            configuration = configuration.with_replicas(element.name, 1 if element.is_single else wanted)
        return replace(self, configuration=configuration)


def fit_of(app: Application, from_journal: str | Path | None = None, from_profile: str | Path | None = None) -> Fit:
    """What an application costs: by a checkpoint or journal of one of its runs, or by a profile.

    >>> fit_of(Application("a"))
    Traceback (most recent call last):
    penstock.errors.InputError: twin.fit_of takes from_journal or from_profile, one of them
    """
    check_arguments(
        "twin.fit_of", app=(app, kind("a ps.Application", Application)), from_journal=(from_journal, or_none(PATH)),
        from_profile=(from_profile, or_none(PATH)),
    )  # fmt: skip
    if (from_journal is None) == (from_profile is None):
        raise InputError("twin.fit_of takes from_journal or from_profile, one of them")
    if from_journal is not None:
        from penstock.simulate.calibration.journal_fit import fit_journal

        return fit_journal(app, Path(from_journal))
    from penstock.simulate.calibration.profile_fit import fit_profile

    return fit_profile(app, Path(str(from_profile)))
