"""An archive of the classes that Spark's JVM loads at a start: made once, and mapped by later starts.

A start loads and verifies some 15,000 classes.  Java can map them from a file instead ("class data sharing").  The
first session that finds no archive has Java write down the names of its classes; when it has ended, a process of the
lowest priority makes the archive in this user's cache directory.  Java checks an archive against its own version and
against each jar, and goes on without one that does not fit.  docs/design/0050-start.md has the figures.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyspark

from penstock.errors import InputError, StateError
from penstock.host.directories import cache_directory, private_directory

NAME = "PENSTOCK_CLASS_ARCHIVE"
LEAST_CLASSES = 10_000  # of a list: a session that ran nothing has loaded half of what a start needs
_FREE_BYTES = 1 << 30
_MOST = 3  # archives: of as many environments with a Spark of their own
_RETENTION_S, _RETRY_S = 30 * 24 * 3600.0, 24 * 3600.0
# With these the class path may hold more than Spark's jars.
_OTHER_PATHS = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_PREPEND_CLASSES", "HADOOP_CONF_DIR",
                "YARN_CONF_DIR", "PYSPARK_GATEWAY_PORT")  # fmt: skip
_OPTIONS = "SPARK_SUBMIT_OPTS"
_OWN_ARCHIVE = re.compile("-Xshare|SharedArchiveFile")  # the user has chosen
# Works beside whatever comes next; the file counts once it is whole, and its list goes then.
_MAKE = """(
"$1" -Xshare:dump -Xlog:disable -XX:SharedClassListFile="$2" -XX:SharedArchiveFile="$3" -cp "$5" &&
  { sync "$3"; mv -f "$3" "$4"; } && rm -f "$2" || rm -f "$3"
) < /dev/null > /dev/null 2>&1 &"""


@dataclass(slots=True)
class ClassArchive:
    """The archive for one Java and one Spark, and the list of classes from which it is made.

    `class_path` is what a JVM had that wrote the list: an archive fits that path alone.
    """

    folder: Path
    key: str
    java: Path
    class_path: str | None = None

    @property
    def file(self) -> Path:
        return self.folder / f"{self.key}.jsa"

    @property
    def names(self) -> Path:
        """The list of classes while the archive is made from it; it stays where that failed."""
        return self.folder / f"{self.key}.list"

    @property
    def draft(self) -> Path:
        """The list that this process's JVM writes."""
        return self.folder / f"{self.key}.{os.getpid()}.draft"

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """What to add to the environment of Spark's launcher: use the archive, or write down classes, or nothing."""
        if self.file.is_file():
            with contextlib.suppress(OSError):
                os.utime(self.file)  # in use
            own = f"-XX:SharedArchiveFile={shlex.quote(str(self.file))} -Xshare:auto"
        elif self.names.exists():
            return {}
        else:
            own = f"-XX:DumpLoadedClassList={shlex.quote(str(self.draft))}"
        return {_OPTIONS: f"{environment.get(_OPTIONS, '')} {own}".strip()}

    def discard(self) -> None:
        """Removes an archive with which Java did not start."""
        self.file.unlink(missing_ok=True)

    def make(self) -> bool:
        """Begins to make the archive from the list that this process's JVM wrote; tells whether it did.

        For after the JVM has ended.  One process makes it; a list that is too short is left out.
        """
        try:
            return self._is_claimed() and self._begun()
        except OSError:  # a full disk, or a folder that is gone: the next session tries again
            return False
        finally:
            with contextlib.suppress(OSError):
                self.draft.unlink(missing_ok=True)

    def _is_claimed(self) -> bool:
        if self.class_path is None or not self.draft.is_file() or self.file.exists():
            return False
        if any(os.path.isdir(path) for path in self.class_path.split(os.pathsep)):  # Java refuses folders
            return False
        with self.draft.open("rb") as file:
            if sum(1 for _ in file) < LEAST_CLASSES:
                return False
        try:
            os.link(self.draft, self.names)
        except FileExistsError:  # another process makes it
            return False
        return True

    def _begun(self) -> bool:
        unfinished = self.file.with_suffix(f".{os.getpid()}.part")
        paths = [str(self.java), str(self.names), str(unfinished), str(self.file), str(self.class_path)]
        nice = ["nice", "-n", "19"] if shutil.which("nice") else []
        command = [*nice, "sh", "-c", _MAKE, "sh", *paths]
        return subprocess.run(command, start_new_session=True, check=False).returncode == 0


def spark_jars() -> Path:
    """The folder with Spark's jars, which is all of the class path unless the user adds to it."""
    return Path(pyspark.__file__).parent / "jars"


def class_archive(
    home: Path, jars: Path, settings: Mapping[str, str], environment: Mapping[str, str]
) -> ClassArchive | None:
    """The archive for the Java at `home` and these jars; None where there can be none, or nobody wants one."""
    choice = environment.get(NAME, "on")
    if choice not in ("on", "off"):
        raise InputError(f"${NAME} is 'on' (starts map Spark's classes from an archive in the cache directory) or "
                         f"'off'; got '{choice}'")  # fmt: skip
    if choice == "off" or _is_the_users(settings, environment) or (jars.parent / "conf").exists():
        return None
    try:
        folder = Path(private_directory(str(cache_directory() / "classes")))
        _sweep(folder)
        if shutil.disk_usage(folder).free < _FREE_BYTES:
            return None
        java = home / "bin" / "java"
        return ClassArchive(folder, _key(java, jars), java)
    except (OSError, StateError):  # no cache, or one that others can write to
        return None


def _is_the_users(settings: Mapping[str, str], environment: Mapping[str, str]) -> bool:
    """Whether the user adds to the class path, or has Java use another archive."""
    has_others = any(environment.get(name) for name in _OTHER_PATHS) or "spark.driver.extraClassPath" in settings
    options = [environment.get(name, "") for name in (_OPTIONS, "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")]
    options.append(settings.get("spark.driver.extraJavaOptions", ""))
    return has_others or any(_OWN_ARCHIVE.search(text) for text in options)


def _key(java: Path, jars: Path) -> str:
    """Differs for each Java and each set of jars: an archive that does not fit makes a start slower than none."""
    status = java.resolve().stat()
    parts = [str(java), str(java.resolve()), str(status.st_size), str(status.st_mtime_ns), str(jars)]
    with os.scandir(jars) as entries:
        found = [(jar.name, jar.stat()) for jar in entries]  # in the order that Java lists them in
    parts += [f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in found]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _sweep(folder: Path) -> None:
    """Removes archives that nobody has used for a month, or of too many; lists and parts after a day."""
    now_s, ages_s = time.time(), {}
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            ages_s[path] = now_s - path.stat().st_mtime
    newest = sorted((path for path in ages_s if path.suffix == ".jsa"), key=ages_s.__getitem__)[:_MOST]
    for path, age_s in ages_s.items():
        is_archive = path.suffix == ".jsa"
        if age_s > (_RETENTION_S if is_archive else _RETRY_S) or (is_archive and path not in newest):
            path.unlink(missing_ok=True)
