"""The benchmark `fuzz` in small: right and malformed inputs are told apart, faults are found, kept and replayed."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.fuzz import fuzz
from benchmarks.fuzz.checkpoints import APPLICATIONS, Checkpoints
from benchmarks.fuzz.kind import HANG, REFUSED, RIGHT, TRACEBACK, WRONG, Body, WrongResult, judged
from benchmarks.fuzz.mutations import mutated_alike, mutated_bytes, mutated_json, mutated_words
from penstock.errors import InputError


class Numbers:
    """A kind whose number says what comes of an input."""

    def __init__(self, folder: Path) -> None:
        pass

    def make(self, rng: random.Random) -> Body:
        return {"number": rng.randrange(1_000)}

    def weight(self, body: Body) -> int:
        return 3

    def attempt(self, body: Body, folder: Path) -> None:
        ends: list[Any] = [None, InputError("no such thing"), WrongResult("2 is not 3"), KeyError("x"), SystemExit(1)]
        end = ends[body["number"] % 5]
        if end is not None:
            raise end


class Sleeping(Numbers):
    def attempt(self, body: Body, folder: Path) -> None:
        time.sleep(60)


def test_each_end_of_an_input_has_its_verdict(tmp_path: Path) -> None:
    verdicts = [judged(Numbers(tmp_path), {"number": n}, tmp_path).verdict for n in range(5)]
    assert verdicts == [RIGHT, REFUSED, WRONG, TRACEBACK, TRACEBACK]


def test_a_sentence_that_is_empty_or_endless_is_none(tmp_path: Path) -> None:
    class Saying(Numbers):
        def attempt(self, body: Body, folder: Path) -> None:
            print(body["text"])
            raise SystemExit(2)

    texts = ("", "x" * 10_000, "Traceback (most recent call last)", "--rows is at least 0; got -1")
    assert [judged(Saying(tmp_path), {"text": text}, tmp_path).verdict for text in texts] == [WRONG] * 3 + [REFUSED]


def test_faults_are_counted_kept_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "KINDS", {"numbers": Numbers})
    shown: list[str] = []
    result = fuzz.run_fuzz(fuzz.FuzzEffort({"numbers": 60}), 1, None, tmp_path / "kept", shown.append)
    counts = result.counts["numbers"]
    assert counts["all"] == 60 == sum(counts[verdict] for verdict in (RIGHT, REFUSED, WRONG, TRACEBACK, HANG))
    assert counts[TRACEBACK] == 3 * sum(fuzz.replayed(path).verdict == TRACEBACK for path in result.files) > 0
    assert shown[-1].startswith("numbers: 60 of 60 inputs")
    figures = fuzz.fuzz_figures(result)
    assert (figures["inputs"], figures["tracebacks"], figures["hangs"]) == (60, counts[TRACEBACK], 0)
    again = fuzz.run_fuzz(fuzz.FuzzEffort({"numbers": 60}), 1, None, tmp_path / "again", shown.append)
    assert again.counts == result.counts


@pytest.mark.slow
def test_a_kind_can_be_tried_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "KINDS", {"numbers": Numbers})
    effort = fuzz.FuzzEffort({"numbers": 60})
    whole = fuzz.run_fuzz(effort, 1, None, tmp_path, lambda text: None)
    one = fuzz.run_fuzz(effort.of_one("numbers", 24, 0), 1, "numbers", tmp_path, lambda text: None)
    other = fuzz.run_fuzz(effort.of_one("numbers", 36, one.next["numbers"]), 1, "numbers", tmp_path, lambda text: None)
    assert one.counts["numbers"] + other.counts["numbers"] == whole.counts["numbers"]
    with pytest.raises(InputError, match="--inputs and --first are of one kind; add --only KIND"):
        effort.of_one(None, 24, 0)
    first = fuzz.run_fuzz(replace(effort, minutes=0), 1, None, tmp_path, lambda text: None)
    assert first.next == {"numbers": 1}


@pytest.mark.slow
def test_an_input_that_hangs_is_ended_and_the_next_one_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz, "KINDS", {"sleeping": Sleeping})
    result = fuzz.run_fuzz(fuzz.FuzzEffort({"sleeping": 6}, limit_s=0.5), 1, None, tmp_path, lambda text: None)
    assert result.counts["sleeping"] == {HANG: 6, "all": 6}
    assert len(result.files) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows", "files", "spade", "options", "journals", "checkpoints"])
def test_every_kind_works_in_small(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = {"rows": 300, "checkpoints": 3}.get(name, 12)
    monkeypatch.setattr(fuzz, "QUICK", fuzz.FuzzEffort({name: inputs}))
    with pytest.raises(SystemExit) as ended:
        main(["fuzz", "--quick", "--only", name, "--seed", "4", "--folder", str(tmp_path)])
    assert ended.value.code == 0
    said = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert said["inputs"] >= inputs
    assert (said["hangs"], said["by_kind"][name]["inputs"]) == (0, said["inputs"])
    assert said["by_kind"][name]["right"] + said["by_kind"][name]["refused"] > 0


def test_an_unknown_kind_has_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fuzz", "--only", "row"])
    assert ended.value.code == 2
    assert "--only is one of rows, files" in capsys.readouterr().err


def test_checkpoints_end_right_refused_or_wrong(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    kind = Checkpoints(tmp_path / "base")
    torn = {"file": "plans/000000000005", "other": "lease", "action": "empty", "seed": 1}
    for name in APPLICATIONS:
        verdicts = []
        for number, changes in enumerate(([], [torn])):
            (tmp_path / f"{name}-{number}").mkdir()
            body = {"application": name, "changes": changes}
            verdicts.append(judged(kind, body, tmp_path / f"{name}-{number}"))
        assert [one.verdict for one in verdicts] == [RIGHT, REFUSED], verdicts
        assert "plans/000000000005' is torn" in verdicts[1].text
        kind._expected[name][6]["out"].pop()
        (tmp_path / name).mkdir()
        assert judged(kind, {"application": name, "changes": []}, tmp_path / name).verdict == WRONG


def test_mutations_differ_from_what_they_were_given_and_are_the_same_for_a_seed() -> None:
    text = "stream A(x:Long) := Source()['file:a.dat']{1, 2}"
    makers = (
        lambda rng: mutated_bytes(rng, text.encode(), b"other"), lambda rng: mutated_words(rng, text, ["Functor"]),
        lambda rng: mutated_alike(rng, text, ["Functor"]), lambda rng: mutated_json(rng, {"x": [1, {"y": 2}]}),
    )  # fmt: skip
    for make in makers:
        made = [repr(make(random.Random(n))) for n in range(30)]
        assert made == [repr(make(random.Random(n))) for n in range(30)]
        assert len(set(made)) > 10
