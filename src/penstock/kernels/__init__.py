"""numba kernels over plain arrays; they know nothing of operators, schemas or Arrow."""
