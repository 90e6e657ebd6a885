"""Paths as users give them: of this machine, with or without `file:`; those of other file systems are refused."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from penstock.errors import InputError

# A pathlib.Path has lost one of the slashes of `s3://bucket`.  One letter alone is a name, or a drive.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")
_REMOTE = ("s3", "s3a", "s3n", "gs", "hdfs", "webhdfs", "viewfs", "abfs", "abfss", "wasb", "wasbs", "adl", "dbfs",
           "oss", "cosn", "ofs", "o3fs", "http", "https", "ftp", "sftp")  # fmt: skip
_SCHEME_ALONE = re.compile(rf"({'|'.join(_REMOTE)}|file):", re.IGNORECASE)


def local_path(given: str | Path, what: str) -> str:
    """The path on this machine; `file:` is taken off it.  InputError for an address of another file system.

    >>> [local_path(path, "path") for path in ("out/a:b", "file:///data/in", "file:/data/two%20words")]
    ['out/a:b', '/data/in', '/data/two words']
    >>> local_path("s3://bucket/in", "path of ps.sources.csv")
    Traceback (most recent call last):
    penstock.errors.InputError: path of ps.sources.csv is a path on this machine; got 's3://bucket/in', and s3: is not supported; give a local or mounted folder
    """  # noqa: E501
    text = str(given)
    found = _ADDRESS.match(text) or _SCHEME_ALONE.match(text)
    if found is None:
        return text
    scheme, rest = found[1], text[found.end() :]
    if scheme.lower() == "file":
        return _of_file(text, rest, what)
    shown = f"{scheme}:/{rest}" if isinstance(given, Path) and rest.startswith("/") else text
    hint = "" if scheme.lower() in _REMOTE else ", or the absolute path where that is a folder's name"
    raise InputError(f"{what} is a path on this machine; got '{shown}', and {scheme}: is not supported; give a local "
                     f"or mounted folder{hint}")  # fmt: skip


def _of_file(text: str, rest: str, what: str) -> str:
    """What stands behind `file:`, as RFC 8089 has it: an absolute path, in which %20 is a space."""
    path = re.sub(r"^//(localhost)?(?=/)", "", rest)
    if not path.startswith("/") or path.startswith("//"):
        raise InputError(f"{what} has an absolute path of this machine behind file:; got '{text}'")
    return unquote(path)
