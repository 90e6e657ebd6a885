"""Policies that others use, in the same seat as MPC: one per file."""
