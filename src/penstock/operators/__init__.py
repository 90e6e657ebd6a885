"""Running operators: each turns blocks into blocks and keeps its state.

An operator chooses the kernel that does the work, and carries positions and punctuations along.  Its meaning is in
docs/semantics.md, its frozen description in `app.operators`.

May import `slots`, `state` and the rooms below it.  Begin with `protocol.py`, then `factory.py`.
"""
