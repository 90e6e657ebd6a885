"""Random Observations whose floats survive the journal's rounding."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.measure.latency_sketch import LatencySketch
from penstock.measure.observation import (
    ArrivalObservation,
    BatchTimes,
    CpuObservation,
    Latency,
    Observation,
    OperatorObservation,
    PortObservation,
    ReplicaObservation,
)

whole = st.integers(0, 10**12)
seconds = st.integers(0, 999_999).map(lambda x: x / 1000)  # six digits
names = st.text("abc_.é ", min_size=1, max_size=6)
ports = st.lists(st.builds(PortObservation, names, whole, whole), max_size=2).map(tuple)
sketches = st.builds(
    LatencySketch, st.integers(-500, 900), st.lists(whole, max_size=80).map(tuple), seconds, seconds
)  # fmt: skip
latencies = st.builds(Latency, seconds, seconds, seconds, seconds, st.none() | seconds, st.none() | sketches)
operators = st.builds(OperatorObservation, names, whole, whole, whole, whole, st.none() | seconds, whole)
replicas = st.builds(
    ReplicaObservation, st.integers(0, 9), whole, whole, seconds, seconds, whole, seconds, ports, ports,
    st.lists(operators, max_size=2).map(tuple), st.none() | seconds, st.none() | seconds, seconds, seconds,
    st.booleans(),
)  # fmt: skip
times = st.builds(
    BatchTimes, seconds, seconds, seconds, st.none() | seconds, st.none() | st.integers(0, 99),
    st.dictionaries(names, seconds, max_size=3),
)  # fmt: skip
observations = st.builds(
    Observation,
    batch=st.integers(0, 5),
    started_at_s=seconds,
    micro_batch_s=seconds,
    tuples_in=whole,
    tuples_out=whole,
    replicas_by_element=st.dictionaries(names, st.lists(replicas, max_size=2).map(tuple), max_size=2),
    latency=st.none() | latencies,
    backlog_tuples=st.none() | whole,
    dead_letters=whole,
    committed_at_s=st.none() | seconds,
    backlog_age_s=st.none() | seconds,
    arrivals=st.none() | st.builds(ArrivalObservation, whole, seconds, st.none() | seconds, st.none() | seconds),
    times=st.none() | times,
    cpu=st.none() | st.builds(CpuObservation, seconds, seconds, seconds, seconds, st.none() | seconds, seconds),
    slot_tuples_by_element=st.dictionaries(names, st.lists(whole, max_size=600).map(tuple), max_size=2),
)
