"""SPADE programs: those of the examples with bytes and words changed, read, explained, stored and run."""

from __future__ import annotations

import random
import re
from pathlib import Path

import penstock as ps
from benchmarks.fuzz.kind import Body, WrongResult
from benchmarks.fuzz.mutations import mutated_alike, mutated_bytes, mutated_words
from penstock.cli.explain import explain_command
from penstock.cli.generate import DATA_FILES, write_csv

_EXAMPLES = Path(__file__).parents[2] / "examples" / "spade"
_WORDS = (
    "Aggregate", "Functor", "Join", "Source", "Sink", "Sort", "Barrier", "Punctor", "Split", "Delay", "Udop", "count",
    "time", "delta", "punct", "pergroup", "attrib", "String", "Integer", "Long", "Float", "Double", "Boolean",
    "StringList", "IntegerList", "schemaFor", "stream", "vstream", "Program", "Application", "Typedefs", "Nodepools",
    "nodepool", "partition", "node", "$1", "$2", "$3", ":=", "->", "<", ">", "Avg", "Sum", "Cnt", "MCnt", "Any",
    "First", "Last", "Min", "Max", "Col", "true", "false", "&", "|", "!", "<=", "=", "!=", "csvformat", "nodelays",
    "throttledRate", "file:", "stcp://", "0", "1", "-1", "99999999999", "1.5", "1e308", "select", "regexMatch",
    "seqNum", "toInteger", "toDouble", "substring", "length", "for_begin", "for_end", "@i", "history", "^1", "include",
)  # fmt: skip
_RUN_SHARE = 0.1  # of programs that can be read are run, too: some need kernels of their own
_ROWS = 30


class SpadePrograms:
    """Mutations of the examples' programs; one that can be read is explained, stored and read again."""

    def __init__(self, folder: Path) -> None:
        self._texts = [path.read_text() for path in sorted(_EXAMPLES.glob("*.spade"))]
        self._data = folder / "data"
        self._data.mkdir(parents=True, exist_ok=True)
        for file in DATA_FILES:
            write_csv(file.table(_ROWS, 7), self._data / file.name)

    def make(self, rng: random.Random) -> Body:
        text, other = rng.choice(self._texts), rng.choice(self._texts)
        draw = rng.random()
        if draw < 0.25:
            text = mutated_bytes(rng, text.encode(), other.encode()).decode("utf-8", "replace")
        elif draw < 0.5:
            text = mutated_words(rng, text, _WORDS)
        elif draw < 0.9:
            text = mutated_alike(rng, text, _WORDS)
        else:  # statements of two programs
            text = "\nstream ".join(rng.sample(parts := re.split(r"\nstream ", text + other), len(parts)))
        return {"text": text, "runs": rng.random() < _RUN_SHARE}

    def weight(self, body: Body) -> int:
        return 1

    def attempt(self, body: Body, folder: Path) -> None:
        app = ps.spade.load(body["text"], data_dir=self._data)
        graph = app.graph
        stored = app.to_json()
        if ps.Application.from_json(stored).to_json() != stored:
            raise WrongResult("the application is another one after it was stored and read")
        path = folder / "program.spade"
        path.write_text(body["text"], encoding="utf-8", errors="replace")
        explain_command(str(path), None, as_json=True)
        if body["runs"]:
            taps = [stream for operator in graph.operators for stream in operator.outputs][-3:]
            one = ps.evaluate(graph, taps=taps)
            other = ps.evaluate(graph, taps=taps, block_rows=3)
            if any(not _same(one[tap], other[tap]) for tap in taps):
                raise WrongResult("blocks of 3 tuples give other results than blocks of 8,192")


def _same(one: object, other: object) -> bool:
    return repr(one.to_pylist()) == repr(other.to_pylist())  # type: ignore[attr-defined]
