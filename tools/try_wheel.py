"""`make wheel`: installs a wheel into two empty environments outside the checkout, and tries it as a user would.

usage: python tools/try_wheel.py WHEEL

Dependencies come first, by the hashes of requirements.lock; then the wheel, without dependencies; then `pip check`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path
from zipfile import Path as ZipPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCK = Path("requirements.lock")
_ENTRY = re.compile(r"^([\w.-]+)==.*\n(?:    --hash.*\n)+", re.MULTILINE)
PROGRAM = """\
import penstock as ps; app = ps.Application("a"); numbers = app.source("s", schema={"x": "int64"})
numbers.functor("f", emit={"h": "x / 2"}).sink("out"); print(ps.evaluate(app, {"s": {"x": [1, 2]}})["out"].to_pydict())
"""
RUN = "import penstock as ps; ps.run(ps.Application('a'))"
NO_SPARK = "needs Spark, which is not installed; install it with: pip install 'penstock-streams[spark]'"


def main(wheel: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="penstock-wheel-") as scratch:
        _try_plain(Environment(Path(scratch) / "plain", wheel, extras=set()))
        _try_spark(Environment(Path(scratch) / "spark", wheel, extras={"spark", "plot"}))
    _say("it works in both")


class Environment:
    """A new environment with the wheel and what it needs; commands run inside it, with a cold cache of kernels."""

    def __init__(self, folder: Path, wheel: Path, extras: set[str]) -> None:
        _say(f"{folder.name}: installing {wheel.name} with {', '.join(sorted(extras)) or 'no'} extras")
        self.folder, self.bin = folder, folder / "bin"
        venv.create(folder, with_pip=True)
        needed = folder / "needed.lock"
        needed.write_text(locked(dependencies(_of_wheel(wheel), extras)))
        self._pip("install", "--require-hashes", "-r", str(needed))
        self._pip("install", "--no-deps", str(wheel))
        self._pip("check")

    def _pip(self, *arguments: str) -> None:
        subprocess.run((str(self.bin / "pip"), "-qq", "--disable-pip-version-check", *arguments), check=True)

    def run(self, *command: str, code: int = 0) -> str:
        """What a command printed; it must end with the code that is expected."""
        _say(f"{self.folder.name}: {' '.join(command).splitlines()[0]}")
        own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            (str(self.bin / command[0]), *command[1:]), cwd=self.folder, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False, env=own | {"PENSTOCK_CACHE": str(self.folder / "cache")},
        )  # fmt: skip
        if done.returncode != code:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}, not {code}:\n{done.stdout}")
        return done.stdout


def _try_plain(plain: Environment) -> None:
    _expect("{'h': [0.5, 1.0]}\n", plain.run("python", "-c", PROGRAM), whole=True)
    _expect(f"ps.run {NO_SPARK}", plain.run("python", "-c", RUN, code=1))
    _expect(f"penstock run {NO_SPARK}\n", plain.run("penstock", "run", "app.py", code=2), whole=True)
    _expect("[spark,plot]'\n", plain.run("penstock", "demo", code=2))
    _expect("candlesticks", plain.run("penstock", "--help"))
    version = plain.run("python", "-c", "from importlib.metadata import version; print(version('penstock-streams'))")
    _expect(f"penstock {version}", plain.run("penstock", "--version"), whole=True)
    _expect("window: aggregate", plain.run("penstock", "explain", "penstock.cli.demo.vwap:vwap_per_ticker"))


def _try_spark(spark: Environment) -> None:
    printed = spark.run("penstock", "demo", "--quick", "--output", "made")
    _expect(": equal to the in-process engine's over the same", printed)
    made = sorted(path.name for path in (spark.folder / "made").iterdir())
    if made != ["demo.png", "demo.svg", "journal.jsonl"]:
        sys.exit(f"penstock demo made {made}")


def dependencies(wanted: Distribution, extras: set[str]) -> set[str]:
    """Names of all that a distribution needs here, directly or not, as the environment that runs this has them."""
    found: set[str] = set()
    waiting = [(wanted, extras)]
    while waiting:
        own, chosen = waiting.pop()
        for requirement in map(Requirement, own.requires or ()):
            marker = requirement.marker
            applies = marker is None or any(marker.evaluate({"extra": extra}) for extra in chosen | {""})
            if applies and canonicalize_name(requirement.name) not in found:
                found.add(canonicalize_name(requirement.name))
                waiting.append((distribution(requirement.name), requirement.extras))
    return found


def locked(names: set[str]) -> str:
    """The entries of the lock for these names, with their hashes."""
    entries = {canonicalize_name(entry[1]): entry[0] for entry in _ENTRY.finditer(LOCK.read_text())}
    absent = names - set(entries)
    if absent:
        sys.exit(f"{LOCK} does not pin {', '.join(sorted(absent))}; run: make lock")
    return "".join(entry for name, entry in entries.items() if name in names)


def _of_wheel(wheel: Path) -> Distribution:
    (metadata,) = (path for path in ZipPath(wheel).iterdir() if path.name.endswith(".dist-info"))
    return PathDistribution(metadata)


def _expect(text: str, printed: str, *, whole: bool = False) -> None:
    if not (printed == text if whole else text in printed):
        sys.exit(f"expected {text!r}; got:\n{printed}")


def _say(text: str) -> None:
    print(f"==> {time.strftime('%H:%M:%S')} wheel, {text}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
