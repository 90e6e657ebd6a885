"""vwap."""
