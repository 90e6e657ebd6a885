"""penstock generate: data to try things with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.cli.generate import DATA_FILES, DataFile, write_csv
from penstock.cli.screen import console
from penstock.connectors.files.writers import write_table
from penstock.connectors.trace.trades import trades
from penstock.errors import InputError, did_you_mean
from penstock.measure.html_table import amount

Writer = Callable[[Path, int, int], tuple[Path, int]]

_MOST_ROWS = 1_000_000_000


def writers() -> dict[str, Writer]:
    """Each kind of data by name: a function of (folder, rows, seed) that gives path and rows written."""
    return {"trades": _write_trades, **{file.name: _writer(file) for file in DATA_FILES}}


def generate_command(name: str, rows: int, seed: int, output: Path) -> None:
    """Writes one kind of data, or all."""
    known = writers()
    problems = []
    if name != "all" and name not in known:
        hint = did_you_mean(name, known)
        problems.append(
            f"there is no data called '{name}'; there are: all, {', '.join(known)}" + (f"; {hint}" if hint else "")
        )
    if rows < 1:
        problems.append(f"--rows is at least 1; got {rows}")
    if rows > _MOST_ROWS:
        problems.append(f"--rows is at most {_MOST_ROWS}, since data is made in memory; got {rows}")
    if seed < 0:
        problems.append(f"--seed is at least 0; got {seed}")
    if output.exists() and not output.is_dir():
        problems.append(f"--output is a directory; got {output}, which is a file")
    if problems:
        raise InputError("\n".join(problems))
    screen = console()
    for write in known.values() if name == "all" else [known[name]]:
        try:
            output.mkdir(parents=True, exist_ok=True)
            path, count = write(output, rows, seed)
        except OSError as error:
            raise InputError(f"cannot write into {output}: {error.strerror or error}") from error
        screen.print(f"wrote {path} ({amount(count, 'row')})", markup=False, soft_wrap=True)


def _write_trades(folder: Path, rows: int, seed: int) -> tuple[Path, int]:
    return write_table(trades(rows, seed=seed), folder, "trades", "parquet"), rows


def _writer(file: DataFile) -> Writer:
    def write(folder: Path, rows: int, seed: int) -> tuple[Path, int]:
        count = max(1, round(rows * file.share))
        write_csv(file.table(count, seed), folder / file.name)
        return folder / file.name, count

    return write
