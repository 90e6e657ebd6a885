"""What MPC learns from each control step: the disturbances and how far its models were off."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from penstock.control.control_step import ControlStep
from penstock.control.goals.goal import MEAN_TO_P95
from penstock.control.routes.hot_keys import heaviest_slot
from penstock.control.routes.rebalance import DEFAULT_IMBALANCE
from penstock.control.setting import Setting
from penstock.model.forecasters.tracked import Tracked
from penstock.model.latency import correction, waiting_ratio
from penstock.model.micro_batch import predict_step
from penstock.model.micro_batch_run import run_step
from penstock.model.service_limit import ServiceLimit
from penstock.model.service_time import ServiceTime
from penstock.model.slow_steps import SlowSteps
from penstock.model.throughput import computation_s, ideal_service_s

_PACE = 0.4
_CORRECTION_PACE = 0.2
_REMEMBERED_STEPS = 6
_UNUSUAL = 2.0
_COLD = 1.5
_LEAST_BUSY = 0.2


@dataclass(frozen=True, slots=True)
class Learned:
    """The state of MPC; None where nothing was measured yet.

    `gigacycles`: cost of a tuple, waiting for a full service taken out (seconds where no frequency is known).
    `given_pause_s`: service lost by a change of replicas as given; `pause_ratio`: what steps with a change
    say it really is, within half and twice of it.
    """

    rate: Tracked
    service: ServiceTime = field(default_factory=ServiceTime)
    limit: ServiceLimit = field(default_factory=ServiceLimit)
    gigacycles: float | None = None
    overhead_s: float | None = None
    imbalance: float = 1.0
    heaviest_share: float = 0.0
    slow_steps: SlowSteps = field(default_factory=SlowSteps)
    spread: float = 0.0
    correction: float = 1.0
    latency_square: float = 0.0  # smoothed square of (measured / corrected prediction - 1)
    tail: float = MEAN_TO_P95  # the 95th percentile of latencies over their mean, smoothed
    given_pause_s: float = 0.0
    pause_ratio: float = 1.0
    replicas: int | None = None
    backlogs_tuples: tuple[float, ...] = ()
    waitings_tuples: tuple[float, ...] = ()
    saturated: tuple[str, ...] = ()

    @property
    def backlog_tuples(self) -> float:
        """What has to be caught up: where windows fire in bursts, only what stays between two of them."""
        if not self.backlogs_tuples:
            return 0.0
        return min(self.backlogs_tuples) if self.service.bursty else self.backlogs_tuples[-1]

    @property
    def waiting_tuples(self) -> float:
        """All that wait at the end of a step, those that the next micro-batch takes by design included."""
        if not self.waitings_tuples:
            return 0.0
        return min(self.waitings_tuples) if self.service.bursty else self.waitings_tuples[-1]

    @property
    def pause_s(self) -> float:
        return self.given_pause_s * self.pause_ratio

    def change_pause_s(self, before: int, after: int) -> float:
        """Of a change from so many replicas to so many: half of a pause is fixed, the rest by the keys that move."""
        return self.pause_s * (0.5 + abs(after - before) / max(after, before))

    @property
    def latency_deviation(self) -> float:
        """How far predicted latencies are off, as a share of them."""
        return math.sqrt(self.latency_square)

    def per_tuple_s(self, setting: Setting) -> float:
        """Ideal service time of a setting.   Eq. 1-5"""
        assert self.gigacycles is not None
        alone_s = computation_s(self.gigacycles, clock_ghz(setting))
        imbalance = self.imbalance * self._latest_task(setting.replicas)
        return ideal_service_s(alone_s, setting.replicas, imbalance, self.heaviest_share)

    def _latest_task(self, replicas: int) -> float:
        """How many times as long as on average the latest of so many tasks takes."""
        return self.slow_steps.usual if replicas > 1 else 1.0


def clock_ghz(setting: Setting) -> float:
    """1 where the frequency is left alone, so that cycles are seconds."""
    return setting.frequency_ghz if setting.frequency_ghz is not None else 1.0


def learn(
    state: Learned,
    seen: ControlStep,
    interval_s: float,
    *,
    by_batches: bool = False,
    waiting_only: bool = False,
    allowed_imbalance: float = DEFAULT_IMBALANCE,
) -> Learned:
    """The state after one more step; a step without a measurement leaves its figure as it was.

    `by_batches`: latencies are compared with a step run micro-batch by micro-batch, not with the steady state.
    `waiting_only`: r is of the waiting, and of the last step alone, as printed.  `allowed_imbalance`: what balancing
    leaves.
    """
    after = replace(state, rate=state.rate.learn(seen.rate_tuples_s, seen.latest_tuples_s), saturated=())
    if seen.service_s is not None and not _is_cold(
        seen, seen.service_s * clock_ghz(seen.setting), state.service.mean_s
    ):
        after = _with_service(after, seen, seen.service_s)
    if seen.overhead_s is not None and not _is_cold(seen, seen.overhead_s, state.overhead_s):
        after = replace(after, overhead_s=_blend(after.overhead_s, seen.overhead_s))
    if by_batches:
        after = _with_slow_steps(after, state, seen)
    if seen.served_tuples > 0:
        after = _with_balance(after, seen, allowed_imbalance)
    after = replace(after, spread=(seen.arrival_cv**2 + seen.service_cv**2) / 2)
    backlogs = (*state.backlogs_tuples, seen.queued_tuples)[-_REMEMBERED_STEPS:]
    if waiting_only:
        after = _as_printed(after, state, seen, interval_s)
    else:
        after = _with_correction(after, state, seen, interval_s, by_batches)
    after = _with_tail(after, seen)
    waitings = (*state.waitings_tuples, seen.backlog_tuples)[-_REMEMBERED_STEPS:]
    return replace(after, backlogs_tuples=backlogs, waitings_tuples=waitings, replicas=seen.setting.replicas)


def _is_cold(seen: ControlStep, measured: float, known: float | None) -> bool:
    """Whether a figure is that of workers which have just started: they load code, and touch memory for the first time.

    What is slower for good is seen in the next step, too.
    """
    return seen.reconfigured and known is not None and measured > _COLD * known


def _with_service(state: Learned, seen: ControlStep, service_s: float) -> Learned:
    """Cycles of a tuple, whatever the frequency of the step; without the wait for a full service where there is one."""
    clock = clock_ghz(seen.setting)
    service = state.service.learn(service_s * seen.served_tuples * clock, seen.served_tuples)
    gigacycles = service.mean_s
    if gigacycles is None:
        return replace(state, service=service)
    measured_s = gigacycles / clock if service.bursty else service_s
    # A step that did the work of many, or of none, says nothing of a service behind; nor does one on replicas that have
    # just come, or have not: taken for a full service, it would hold back replicas for as long as that is remembered.
    usual = gigacycles / clock / _UNUSUAL < measured_s < gigacycles / clock * _UNUSUAL
    limit = state.limit
    if seen.is_partial:
        limit = limit.contradicted(seen.setting.replicas, measured_s)
    else:
        limit = limit.checked(seen.setting.replicas, measured_s)
        limit = limit.learn(seen.setting.replicas, measured_s, clock) if usual else limit
    own = gigacycles if limit.limit_tuples_s == float("inf") else limit.own_computation_s(measured_s) * clock
    return replace(state, service=service, limit=limit, gigacycles=own)


def _with_balance(state: Learned, seen: ControlStep, allowed_imbalance: float) -> Learned:
    """Imbalance as measured, but no more than what balancing will leave where the loads of the slots are known."""
    hot = heaviest_slot(seen.load_by_slot, seen.period_s, seen.split_slots)
    if hot is not None:
        state = replace(state, heaviest_share=_blend(state.heaviest_share or None, hot.share))
    if seen.setting.replicas == 1:
        return state
    measured = max(seen.imbalance, 1.0)
    bounded = measured if hot is None else min(measured, 1 + allowed_imbalance)
    return replace(state, imbalance=_blend(state.imbalance, bounded))


def _with_slow_steps(after: Learned, before: Learned, seen: ControlStep) -> Learned:
    """Whether tasks straggled; steps with a change, with little work or of bursts say nothing of it.

    Against what the step's own tuples took: where all of them take longer, costs have changed, and no task straggles.
    """
    if seen.reconfigured or seen.service_s is None or before.gigacycles is None or before.service.bursty:
        return after
    if seen.busy_ratio < _LEAST_BUSY:
        return after
    own = seen.service_s * clock_ghz(seen.setting)
    plain = replace(before, gigacycles=own, slow_steps=replace(before.slow_steps, usual=1.0))
    expected_s = plain.per_tuple_s(seen.setting)
    longest_s = seen.service_s * seen.imbalance / seen.setting.replicas
    return replace(after, slow_steps=after.slow_steps.learn(longest_s / expected_s))


def _with_correction(
    after: Learned, before: Learned, seen: ControlStep, interval_s: float, by_batches: bool
) -> Learned:
    """r from the step that ended: measured latency over what the model says of the load that really came.

    A step with a change tells of the pause instead.
    """
    if seen.latency_mean_s is None or after.gigacycles is None:
        return after
    model = _run_latency_s if by_batches else _latency_s
    predicted_s = model(after, before, seen, interval_s, 0.0)
    if seen.reconfigured:
        pause_s = after.pause_s
        if by_batches and before.replicas is not None:
            pause_s = after.change_pause_s(before.replicas, seen.setting.replicas)
        paused_s = model(after, before, seen, interval_s, pause_s)
        return _with_pause(after, seen.latency_mean_s, predicted_s, paused_s)
    ratio = correction(seen.latency_mean_s, predicted_s)
    error = min(abs(ratio.value / after.correction - 1), 1.0)
    return replace(
        after,
        correction=after.correction + _CORRECTION_PACE * (ratio.value - after.correction),
        latency_square=after.latency_square + _CORRECTION_PACE * (error**2 - after.latency_square),
        saturated=(ratio.saturated,) if ratio.saturated else (),
    )


def _as_printed(after: Learned, before: Learned, seen: ControlStep, interval_s: float) -> Learned:
    """r of the last step alone, whatever happened in it.   Eq. 8"""
    if seen.latency_mean_s is None or after.gigacycles is None:
        return after
    predicted_s = _latency_s(after, before, seen, interval_s, 0.0)
    alone_s = after.per_tuple_s(seen.setting) * seen.setting.replicas
    return replace(after, correction=waiting_ratio(seen.latency_mean_s, predicted_s, alone_s))


def _with_tail(state: Learned, seen: ControlStep) -> Learned:
    """A step with a change says nothing of steady ones."""
    if seen.reconfigured or not seen.latency_mean_s or seen.latency_p95_s is None:
        return state
    ratio = seen.latency_p95_s / seen.latency_mean_s
    return replace(state, tail=state.tail + _CORRECTION_PACE * (ratio - state.tail))


def _with_pause(state: Learned, measured_s: float, without_s: float, with_s: float) -> Learned:
    """The pause that explains what a change added to the latency, approached from the one assumed."""
    expected_s = (with_s - without_s) * state.correction
    if expected_s <= 0:
        return state
    ratio = (measured_s - without_s * state.correction) / expected_s
    moved = state.pause_ratio * (1 + _CORRECTION_PACE * (min(max(ratio, 0.0), 2.0) - 1))
    return replace(state, pause_ratio=min(max(moved, 0.5), 2.0))


def _latency_s(after: Learned, before: Learned, seen: ControlStep, interval_s: float, pause_s: float) -> float:
    """What the model says of the step that ended, before correction."""
    return float(
        predict_step(
            seen.rate_tuples_s, before.backlog_tuples, after.per_tuple_s(seen.setting), seen.setting.replicas,
            after.spread, after.overhead_s or 0.0, float(seen.setting.micro_batch_tuples), after.limit.limit_tuples_s,
            interval_s, seen.period_s, pause_s,
        )[2]
    )  # fmt: skip


def _run_latency_s(after: Learned, before: Learned, seen: ControlStep, interval_s: float, pause_s: float) -> float:
    """The same, micro-batch by micro-batch."""
    return float(
        run_step(
            seen.rate_tuples_s, before.waiting_tuples, after.per_tuple_s(seen.setting), after.spread,
            after.overhead_s or 0.0, float(seen.setting.micro_batch_tuples), after.limit.limit_tuples_s, interval_s,
            seen.period_s, pause_s,
        )[3]
    )  # fmt: skip


def _blend(old: float | None, new: float) -> float:
    return new if old is None else old + _PACE * (new - old)
