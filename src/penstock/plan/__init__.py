"""Logical graph -> fused elements -> placement; immutable values."""
