"""Penstock: a self-tuning stream-processing system for Python people."""

__version__ = "0.1.0"
