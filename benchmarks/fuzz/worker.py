"""Inputs tried in a process of its own, since one that hangs, crashes or takes all memory must not end the run."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.fuzz.kind import HANG, TRACEBACK, Body, MakeKind, Outcome, judged

MEMORY_BYTES = 8 << 30  # of data; beyond it allocations fail in the child
_AGAIN = 5  # times the limit
_READY_S = 600.0  # to prepare what inputs are mutations of


@dataclass(frozen=True, slots=True)
class Tried:
    """An input and what came of it; `body` is None where nobody needs it any more."""

    number: int
    weight: int
    outcome: Outcome
    body: Body | None
    seconds: float


def generator(seed: int, name: str, number: int) -> random.Random:
    """What decides about one input: the same numbers give the same input."""
    return random.Random(f"{seed} {name} {number}")


def tried(make: MakeKind, name: str, seed: int, numbers: range, limit_s: float) -> Iterator[Tried]:
    """Tries inputs one after the other; after a hang or a crash another process goes on with the next one.

    One that took too long is tried once more, with more time.
    """
    next_number = numbers.start
    while next_number < numbers.stop:
        for one in _tried_by_one(make, name, seed, range(next_number, numbers.stop), limit_s):
            next_number = one.number + 1
            if one.outcome.verdict == HANG:  # kernels that are compiled for the first time, on a busy machine?
                again = range(one.number, next_number)
                one = next(_tried_by_one(make, name, seed, again, _AGAIN * limit_s))
            yield one


def tried_again(make: MakeKind, body: Body) -> Outcome:
    """One input whose body was kept, in this process."""
    with _folder() as base, _folder() as folder, contextlib.chdir(folder):
        return judged(make(base), body, folder)


def _tried_by_one(make: MakeKind, name: str, seed: int, numbers: range, limit_s: float) -> Iterator[Tried]:
    """Those that one process lives to try, and the one that it does not survive."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    with _folder() as base:
        child = context.Process(target=_serve, args=(theirs, make, name, seed, numbers, base), daemon=True)
        child.start()
        theirs.close()
        current, begun_s = numbers.start - 1, time.monotonic()
        try:
            while True:
                is_ready = current >= numbers.start
                if not ours.poll(limit_s if is_ready else _READY_S):
                    yield _lost(make, base, name, seed, current, HANG, f"took more than {limit_s:g} s", begun_s)
                    return
                try:
                    said = ours.recv()
                except EOFError:
                    child.join()
                    if not is_ready:
                        raise RuntimeError(
                            f"the process for inputs of kind '{name}' ended with {child.exitcode}"
                        ) from None
                    if child.exitcode:
                        text = f"the process ended with {child.exitcode}"
                        yield _lost(make, base, name, seed, current, TRACEBACK, text, begun_s)
                    return
                if isinstance(said, int):
                    current, begun_s = said, time.monotonic()
                else:
                    yield said
        finally:
            child.kill()
            child.join()


def _lost(
    make: MakeKind, base: Path, name: str, seed: int, number: int, verdict: str, text: str, begun_s: float
) -> Tried:
    """An input whose process did not live to tell; it is made again from its number."""
    kind = make(base / "again")
    body = kind.make(generator(seed, name, number))
    return Tried(number, kind.weight(body), Outcome(verdict, text), body, time.monotonic() - begun_s)


def _serve(pipe: Connection, make: MakeKind, name: str, seed: int, numbers: range, base: Path) -> None:
    """The child: says the number of an input before it tries it, and then what came of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever native code prints
    os.dup2(1, 2)
    if not getattr(make, "starts_spark", False):  # a JVM reserves more than it uses
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kind = make(base)
    for number in numbers:
        body = kind.make(generator(seed, name, number))
        pipe.send(number)
        begin_s = time.monotonic()
        with _folder() as folder, contextlib.chdir(folder):
            outcome = judged(kind, body, folder)
        saved = body if outcome.trace or outcome.verdict not in ("right", "refused") else None
        pipe.send(Tried(number, kind.weight(body), outcome, saved, time.monotonic() - begin_s))
    pipe.close()


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="penstock-fuzz-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
