"""saso."""
