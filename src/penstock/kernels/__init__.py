"""numba kernels over plain arrays: windows, joins, keys, text, and the generator of source text.

They know nothing of operators, schemas or streams; a few read the columns of `block`.  Their results are tested
against slow, obvious versions in tests/reference.

May import `block` and the rooms below it.  Begin with `windows/count/count_window.py`, or `codegen/generated.py` for
how a generated text is compiled and cached.
"""
