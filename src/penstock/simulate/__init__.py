"""Plants that are computed instead of run, behind the same ports as Spark."""
