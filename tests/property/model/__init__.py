"""Properties of models."""
