"""Benches of the data plane on Spark: throughput, floor, rescaling, state."""
