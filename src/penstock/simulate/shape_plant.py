"""A PlantShape as a plant: one keyed element behind a source, on as many equal cores as it may have replicas."""

from __future__ import annotations

from penstock.connectors.trace.arrivals import Arrivals
from penstock.control.setting import Setting
from penstock.plan.configuration import Configuration, ElementConfiguration, even_route
from penstock.plan.nodes import Node, Nodes, Outage
from penstock.simulate.micro_batch.batch_element import BatchElement
from penstock.simulate.micro_batch.plant import BatchPlant
from penstock.simulate.plant_shape import PlantShape

ELEMENT, SOURCE = "element", "source"


def initial_configuration(shape: PlantShape, setting: Setting) -> Configuration:
    """Slots dealt out evenly by number; the loop balances them by load."""
    slots = len(shape.shares(0.0))
    element = ElementConfiguration(ELEMENT, setting.replicas, even_route(setting.replicas, slots))
    return Configuration((element,), micro_batch_tuples=setting.micro_batch_tuples, frequency_ghz=setting.frequency_ghz)


def shape_plant(
    shape: PlantShape,
    arrivals: Arrivals,
    start: Setting,
    *,
    end_s: float,
    period_s: float = 1.0,
    seed: int = 1,
    by_moment: bool = False,
) -> BatchPlant:
    """Under arrivals, from a setting on; `by_moment`: chance strikes at the same moments for every policy."""
    outages = tuple(Outage(begin_s, to_s) for begin_s, to_s in shape.outages_s)
    cores = max(shape.highest_replicas, start.replicas)
    element = BatchElement(
        ELEMENT, (SOURCE,), shape.service_s, shape.service_cv, fires_every_s=shape.fires_every_s, shares=shape.shares,
        service_factor=shape.service_factor, limit_tuples_s=shape.limit_tuples_s,
    )  # fmt: skip
    return BatchPlant(
        {SOURCE: arrivals}, [element], Nodes((Node("n", count=cores, outages=outages),)),
        initial_configuration(shape, start), shape.costs, end_s=end_s, period_s=period_s, seed=seed,
        arrival_cv=shape.arrival_cv, highest_frequency_ghz=shape.highest_frequency_ghz, by_moment=by_moment,
    )  # fmt: skip
