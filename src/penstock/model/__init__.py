"""Pure mathematics: forecasts, throughput, latency, power, executors."""
