"""penstock simulate and penstock search: JSON with the names of Python, and one sentence for a mistake."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import WRONG, main
from tests.unit.simulate.test_calibration import journal

MODEL: dict[str, Any] = {
    "sources": [{"name": "s", "arrivals": {"poisson": 50}}],
    "operators": [
        {"name": "a", "inputs": ["s"], "service": {"exponential": 0.01}},
        {"name": "b", "inputs": ["a"], "service": {"constant": 0.001}, "partitions": 2, "merge_s": 0.001},
    ],
}
Run = Callable[..., tuple[object, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("model.json").write_text(json.dumps(MODEL))
    Path("nodes.toml").write_text('[[node]]\nname = "n1"\ncores = 2\n')

    def ended(*arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        text = capsys.readouterr()
        return caught.value.code, text.out, text.err

    return ended


def test_simulate_gives_json_with_the_names_of_python(run: Run) -> None:
    code, out, _ = run("simulate", "model.json", "--nodes", "nodes.toml", "--seconds", "60", "--warm-up", "6", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["throughput_tuples_s"] == pytest.approx(50, rel=0.2)
    assert found["latency"]["mean_s"] < found["latency"]["p95_s"]
    assert set(found["by_operator"]["a"]) >= {"waiting_mean_s", "queue_mean", "dropped"}
    assert found["by_node"]["n1"]["cores"] == 2


def test_simulate_shows_tables(run: Run) -> None:
    code, out, _ = run("simulate", "model.json", "--seconds", "20", "--warm-up", "2")
    assert code == 0
    assert "throughput" in out
    assert "waiting mean" in out


def test_search_gives_json_with_the_names_of_python(run: Run) -> None:
    code, out, _ = run(
        "search", "model.json", "--nodes", "nodes.toml", "--simulations", "9", "--start", "a=2", "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert set(found) == {"partitions", "objective_s", "history", "plan"}
    assert found["history"][-1][0] <= 9
    assert {e["name"]: e["replicas"] for e in found["plan"]["elements"]} == found["partitions"]


def changed(**operator: object) -> dict[str, Any]:
    return {**MODEL, "operators": [{**MODEL["operators"][0], **operator}]}


@pytest.mark.parametrize(
    ("model", "arguments", "words"),
    [
        (changed(partition=2), (), "has the unknown key 'partition'"),
        (changed(service={"normal": 1}), (), "draws are an object with one of the keys"),
        (changed(inputs=["a"]), (), "a model has no cycles; got a -> a"),
        (changed(service=None), (), "draws are an object"),
        ({"sources": [{"name": "s", "arrivals": {"trace": [3, -1]}}], "operators": []}, (), "at least 0; got -1"),
        (MODEL, ("--nodes", "wrong.toml"), "speed of node 'n1' is a number above 0; got 0"),
        (MODEL, ("--mode", "micro"), "mode is one of"),
        (MODEL, ("--schedule", '{"pinned": {"n9": ["a"]}}'), "names node 'n9'"),
        (MODEL, ("--schedule", "{"), "--schedule is a name or JSON"),
        (MODEL, ("--seconds", "-1"), "seconds of twin.simulate is a number above 0"),
        (MODEL, ("--mode", "micro_batch", "--schedule", "fifo"), "is for mode 'continuous'"),
        (MODEL, ("--seconds", "nan"), "seconds of twin.simulate is a number above 0; got nan"),
        (MODEL, ("--what-if", "rate x 2", "--price", "core_hour=-1"), "core_hour of a price is a number of at least 0"),
        (MODEL, ("--price", "core_hour=1"), "--price goes with --what-if; it has no effect without"),
        (MODEL, ("--what-if", "rate x 2", "--seconds", "9"), "--seconds has no effect with --what-if"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    run: Run, model: dict[str, Any], arguments: tuple[str, ...], words: str
) -> None:
    Path("model.json").write_text(json.dumps(model))
    Path("wrong.toml").write_text('[[node]]\nname = "n1"\nspeed = 0\n')
    code, _, err = run("simulate", "model.json", *arguments)
    assert code == WRONG
    assert words in err
    assert len(err.strip().splitlines()) == 1


def test_a_file_that_is_not_there_is_told(run: Run) -> None:
    assert run("simulate", "none.json")[::2] == (WRONG, "cannot read none.json: no such file or directory\n")


APP = """
import penstock as ps
app = ps.Application("prices")
quotes = app.source("quotes", schema={"ticker": "string", "price": "float64"})
trades = quotes.functor("trades", where="price > 1")
window = ps.sliding(count=4, every=1, per_group=True)
trades.aggregate("window", by="ticker", window=window, emit={"top": "max(price)"}).sink("out")
"""


@pytest.fixture
def app(run: Run, tmp_path: Path) -> str:
    """An application, and the journal of a run of it on the twin."""
    (tmp_path / "app.py").write_text(APP)
    journal(tmp_path / "out", 30.0)
    return "app.py"


def test_simulate_an_application_with_the_costs_of_a_run(run: Run, app: str) -> None:
    code, out, _ = run("simulate", app, "--from-journal", "out", "--seconds", "30", "--warm-up", "3", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["fit"]["batches"] > 20
    assert set(found["by_operator"]) == {"trades", "window"}
    code, out, _ = run("simulate", app, "--from-journal", "out", "--seconds", "30", "--warm-up", "3", "--rate", "500")
    assert code == 0
    assert "fitted to" in out


def test_what_if_says_what_ten_times_the_rate_would_need(run: Run, app: str, tmp_path: Path) -> None:
    Path("many.toml").write_text('[[node]]\nname = "n"\ncount = 1000\ncores = 8\nprice_core_hour = 0.04\n')
    arguments = ("simulate", app, "--from-journal", "out", "--nodes", "many.toml", "--what-if", "rate x 10")
    code, out, _ = run(*arguments, "--price", "core_hour=0.05", "--picture", "capacity.svg", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["rate_tuples_s"] == pytest.approx(10 * found["rate_now_tuples_s"])
    best = found["best"]
    assert best["keeps_up"]
    assert best["bill_hour"] == pytest.approx(0.05 * best["cores"])
    assert best["cores"] == 8 * best["executors"]
    assert (tmp_path / "capacity.svg").stat().st_size > 1000
    assert [row["cores"] for row in found["rows"]] == sorted(row["cores"] for row in found["rows"])
    code, out, _ = run(*arguments)
    assert code == 0
    assert "keeps up" in out


def test_what_if_takes_a_model_too(run: Run) -> None:
    Path("few.toml").write_text('[[node]]\nname = "n"\ncount = 4\ncores = 1\n')
    code, out, _ = run("simulate", "model.json", "--nodes", "few.toml", "--what-if", "rate x 40", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["best"] is None, "22 cores would be needed"
    assert found["rows"][-1]["cores"] == 4
    assert found["rows"][-1]["bill_hour"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--what-if", "twice", "--from-journal", "out"),
         "--what-if is 'rate x FACTOR' or 'rate TUPLES_PER_SECOND'; got 'twice'"),
        (("--from-journal", "others"), "the journal 'others' is of application 'others'; got 'prices' to simulate"),
        (("--from-journal", "thin"), "micro-batches with tuples after the first 3 of a start; a fit needs 20"),
        (("--from-journal", "nowhere"), "cannot be read"),
        (("--from-journal", "out", "--schedule", "fifo"), "a schedule other than 'oldest_first' is for mode "
         "'continuous': in micro-batches a free core takes the next task; got 'fifo'"),
        ((), "application 'prices' does not say what its operators cost; give --from-journal with a run of it, "
         "--from-profile, or a model.json with a service time for each (docs/twin.md)"),
    ],
)  # fmt: skip
def test_a_mistake_about_an_application_is_one_sentence(
    run: Run, app: str, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    journal(tmp_path / "others", 3.0, "others")
    journal(tmp_path / "thin", 3.0)
    code, _, err = run("simulate", app, *arguments)
    assert code == WRONG
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err


def test_a_short_simulation_has_a_warm_up_of_its_own(run: Run) -> None:
    code, _, err = run("simulate", "model.json", "--seconds", "20")
    assert (code, err) == (0, "")


def test_json_that_is_neither_a_model_nor_an_application_gets_the_form_of_both(run: Run) -> None:
    Path("other.json").write_text('{"a": 1}')
    for command in ("simulate", "search"):
        code, _, err = run(command, "other.json")
        assert code == 2
        assert "written by Application.to_json; got {'a': 1}; a model is an object with the lists 'sources'" in err


def test_the_rate_of_a_model_is_in_its_file(run: Run) -> None:
    code, _, err = run("simulate", "model.json", "--rate", "3")
    assert code == WRONG
    assert err.startswith("--rate, --from-journal and --from-profile go with an application; a model has its own rates")
