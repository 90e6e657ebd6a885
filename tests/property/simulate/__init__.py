"""Properties of simulated machines."""
