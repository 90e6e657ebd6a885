"""Expressions: text -> tree -> checked types."""
