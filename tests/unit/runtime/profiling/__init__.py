"""Profiles without Spark."""
