"""Journals that something went wrong with: cut, mixed up, with foreign and huge lines; the same for the same seed."""

from __future__ import annotations

import random
from pathlib import Path

from tests.reference.made_run import write_run


def damaged(lines: list[bytes], draw: random.Random) -> list[bytes]:
    """A journal that something went wrong with: cut, mixed up, foreign, huge."""
    lines = list(lines)
    for _ in range(draw.randint(1, 4)):
        place, kind = draw.randrange(len(lines)), draw.randrange(7)
        if kind == 0:
            lines[place] = lines[place][: draw.randrange(len(lines[place]) + 1)]
        elif kind == 1:
            draw.shuffle(lines)
        elif kind == 2:
            foreign = [b"[1]", b"null", b"{}", b'{"a":{"b":[]}}', b"\xff\xfe", b"[" * 5000, b'{"at_s":"x","end":7}']
            lines.insert(place, draw.choice(foreign))
        elif kind == 3:
            lines[place] = lines[place].replace(b"window", b"w" * 20_000)
        elif kind == 4:
            odd = draw.choice([b":1e999", b":-1", b":NaN", b":null", b':"x"', b":[]"])
            lines[place] = lines[place].replace(b":1", odd)
        elif kind == 5:
            data = bytearray(lines[place] or b" ")
            data[draw.randrange(len(data))] = draw.randrange(256)
            lines[place] = bytes(data)
        else:
            del lines[place:]
            lines = lines or [b""]
    return lines


def damage(folder: Path, wholes: dict[str, list[bytes]], draw: random.Random) -> None:
    """Writes a run's files, one of them damaged at least."""
    hit = draw.sample(sorted(wholes), draw.randint(1, len(wholes)))
    for name, lines in wholes.items():
        made = damaged(lines, draw) if name in hit and lines else lines
        (folder / name).write_bytes(b"\n".join(made) + (b"\n" if draw.random() < 0.8 else b""))


def whole_run(folder: Path) -> dict[str, list[bytes]]:
    write_run(folder, 16)
    return {path.name: path.read_bytes().splitlines() for path in sorted(folder.glob("journal*"))}
