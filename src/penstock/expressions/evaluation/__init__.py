"""Expressions over columns: vectorised evaluation and compiled functors."""
