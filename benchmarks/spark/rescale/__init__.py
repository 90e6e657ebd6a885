"""rescale."""
