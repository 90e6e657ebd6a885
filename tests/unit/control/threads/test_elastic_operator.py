"""The Elastic Operator equals the listing, written down here line by line."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.control.threads.elastic_operator import ElasticOperator, ElasticState
from penstock.measure.element_observation import ElementObservation

TOLERANCE, DECAY_RATE = 0.05, 0.01


class Listing:
    """The repaired listing with lists that change in place."""

    def __init__(self) -> None:
        self.n, self.peaking, self.threads = 0, False, 1
        self.peak: list[float | str] = ["unknown"]
        self.last: list[float | str] = ["unknown"]

    @staticmethod
    def less(a, b):
        if a == 0:
            return b > 0
        return (b - a) / a >= TOLERANCE

    def period(self, c: float, max_level: int) -> None:
        peak, last, n = self.peak, self.last, self.n
        if peak[n] == "unknown":
            peak[n] = c
        elif c > peak[n]:
            if self.less(peak[n], c):
                for i in range(n + 1, len(peak)):
                    peak[i] = "unknown"
            peak[n] = c
        else:
            peak[n] -= peak[n] * DECAY_RATE
        last[n] = c
        if self.peaking:
            if c < last[n + 1]:
                self.n += 1
            self.peaking = False
        elif self.less(c, peak[n]) or (n > 0 and self.less(peak[n], peak[n - 1])):
            if n > 0:
                self.n -= 1
                self.peaking = True
        elif (n == 0 or self.less(peak[n - 1], peak[n])) and n + 1 < max_level:
            if n + 1 == self.threads:
                self.threads += 1
                peak.append("unknown")
                last.append("unknown")
                self.n += 1
            elif peak[n + 1] == "unknown" or peak[n] < peak[n + 1]:
                self.n += 1


def observed(rate: float, level: int, max_level: int, *, settled: bool = True) -> ElementObservation:
    return ElementObservation(1.0, round(rate), rate, level, max_level, {"work": 1.0}, frozenset({"work"}), settled)


rates = st.lists(
    st.one_of(st.floats(0, 1e6), st.sampled_from([0.0, 100.0, 104.0, 105.0, 106.0, 111.0, 99.0, 95.0])),
    min_size=1,
    max_size=80,
)


@given(rates=rates, max_level=st.integers(1, 12))
@settings(max_examples=400, deadline=None)
def test_it_takes_the_same_levels_as_the_listing(rates, max_level):
    policy, listing = ElasticOperator(TOLERANCE, DECAY_RATE), Listing()
    state, setting = policy.start(observed(0, 1, max_level))
    for rate in rates:
        listing.period(rate, max_level)
        state, setting, reason = policy.decide(state, observed(rate, setting.threads, max_level))
        assert (state.n, state.peaking, setting.threads) == (listing.n, listing.peaking, listing.n + 1), reason
        assert [p if p is not None else "unknown" for p in state.peak] == listing.peak
        assert [p if p is not None else "unknown" for p in state.last] == listing.last


@given(rates=rates, max_level=st.integers(1, 12), least=st.integers(2, 6))
@settings(max_examples=200, deadline=None)
def test_with_more_threads_at_least_it_is_the_listing_from_there_on(rates, max_level, least):
    policy, listing = ElasticOperator(TOLERANCE, DECAY_RATE, least=least), Listing()
    state, setting = policy.start(observed(0, least, least - 1 + max_level))
    assert setting.threads == least
    for rate in rates:
        listing.period(rate, max_level)
        state, setting, reason = policy.decide(state, observed(rate, setting.threads, least - 1 + max_level))
        assert (setting.threads, state.peaking) == (listing.n + least, listing.peaking), reason


def test_where_the_least_changes_it_goes_on_from_there():
    state, _ = climbed(ElasticOperator(), [100, 200, 201, 201])
    assert state.n + 1 == 3
    _, setting, _ = ElasticOperator(least=5).decide(state, observed(202, 5, 16))
    assert setting.threads == 6
    fewer, reason = ElasticState(4, False, (None,) * 4 + (200.0,), (None,) * 4 + (200.0,)), ""
    for rate in (200, 200, 200, 150, 200, 200):
        fewer, setting, reason = ElasticOperator().decide(fewer, observed(rate, fewer.n + 1, 16))
    assert (setting.threads, reason) == (4, "hold: stable from above")


@given(level=st.integers(0, 8), rate=st.floats(1, 1e6), factor=st.floats(1.0, 3.0))
def test_rates_that_do_not_fall_never_go_back_down(level, rate, factor):
    policy = ElasticOperator()
    state = ElasticState(level, False, (rate,) * (level + 1), (rate,) * (level + 1))
    moved, setting, _ = policy.decide(state, observed(rate * factor, level + 1, 20))
    assert setting.threads >= level + 1
    assert moved.n == setting.threads - 1


def climbed(policy: ElasticOperator, rates: list[float]) -> tuple[ElasticState, list[str]]:
    state, setting = policy.start(observed(0, 1, 16))
    reasons = []
    for rate in rates:
        state, setting, reason = policy.decide(state, observed(rate, setting.threads, 16))
        reasons.append(reason)
    return state, reasons


def test_it_climbs_while_threads_bring_the_tolerance_and_then_is_stable_from_below():
    state, reasons = climbed(ElasticOperator(), [100, 200, 300, 301, 301])
    assert state.n + 1 == 4
    assert reasons == [
        "up to 2 threads, a new one: upward trend",
        "up to 3 threads, a new one: upward trend",
        "up to 4 threads, a new one: upward trend",
        "hold: stable from below",
        "hold: stable from below",
    ]


def test_a_drop_steps_down_and_comes_back_where_fewer_threads_were_slower():
    state, reasons = climbed(ElasticOperator(), [100, 200, 300, 301, 150, 120, 150])
    assert reasons[4:6] == ["down to 3 threads: below this level's peak", "up to 4 threads again: fewer were slower"]
    assert state.peaking


def test_a_higher_rate_makes_peaks_above_unknown_and_probes_them():
    policy = ElasticOperator()
    state = ElasticState(1, False, (100.0, 200.0, 190.0), (100.0, 200.0, 190.0))
    state, setting, reason = policy.decide(state, observed(300, 2, 16))
    assert state.peak == (100.0, 300.0, None)
    assert (setting.threads, reason) == (3, "up to 3 threads: what they give is not known")


def test_a_period_in_which_the_change_took_effect_is_not_used():
    policy = ElasticOperator()
    state, _ = policy.start(observed(0, 1, 16))
    after, setting, reason = policy.decide(state, observed(50, 1, 16, settled=False))
    assert (after, setting.threads, reason) == (state, 1, "hold: the last change is not in force yet")


def test_the_highest_level_is_kept():
    state, reasons = climbed(ElasticOperator(), [100.0 * (n + 1) for n in range(20)])
    assert state.n + 1 == 16
    assert reasons[-1] == "hold: 16 threads are the most"
