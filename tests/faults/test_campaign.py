"""A campaign makes enough kills of each kind, is the same for a seed, and goes on where it was cut."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.faults.__main__ import cluster_in
from tests.faults.applications import APPLICATIONS
from tests.faults.attacks import Round
from tests.faults.campaign import KINDS, LEAST_OF_EACH, Campaign, rounds

KILLS = {"drivers": 8, "workers": 30, "executors": 14, "copies": 12, "full disks": 6}


def quiet(text: str) -> None:
    pass


def test_a_seed_has_the_same_rounds_and_every_kind_meets_every_application() -> None:
    first = list(itertools.islice(rounds(5), len(KINDS) * len(APPLICATIONS)))
    assert first == list(itertools.islice(rounds(5), len(first)))
    assert first != list(itertools.islice(rounds(6), len(first)))
    others = [kind for kind in KINDS if kind != "copies"]  # which are of rows alone
    wanted = {*itertools.product(others, APPLICATIONS), ("copies", "prices")}
    assert {(own.kind, own.application) for own in first} == wanted


def test_there_are_enough_kills_in_all_and_of_each_kind(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "rounds", 1, lambda own: KILLS[own.kind])
    campaign.run(quiet)
    assert campaign.kills.total() >= 300
    assert min(campaign.kills.values()) >= LEAST_OF_EACH
    assert campaign.summary()["failed_rounds"] == []


def test_one_kind_makes_up_what_the_least_of_the_others_leaves(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "rounds", 1, lambda own: KILLS[own.kind], rest="workers")
    campaign.run(quiet)
    kills = campaign.kills
    assert kills.total() >= 300
    assert {kind: own for kind, own in kills.items() if kind != "workers"} == {
        "drivers": 24, "executors": 28, "copies": 24, "full disks": 24,
    }  # fmt: skip
    attacked = {(own.kind, own.application) for own in campaign.done}
    assert {("executors", "event_time"), ("full disks", "joined"), ("full disks", "several_sources")} <= attacked


def test_a_campaign_that_was_cut_goes_on_where_it_was(tmp_path: Path) -> None:
    """The round that was cut has no line, and is the first of the next run."""
    begun: list[int] = []

    def attack(own: Round) -> int:
        begun.append(own.number)
        if len(begun) == 7:
            raise KeyboardInterrupt
        return KILLS[own.kind]

    with pytest.raises(KeyboardInterrupt):
        Campaign(tmp_path / "rounds", 1, attack).run(quiet)
    Campaign(tmp_path / "rounds", 1, attack).run(quiet)
    uncut = Campaign(tmp_path / "uncut", 1, lambda own: KILLS[own.kind])
    uncut.run(quiet)
    numbers = [own.round for own in uncut.done]
    assert begun == [*numbers[:7], *numbers[6:]]
    lines = (tmp_path / "rounds").read_text().splitlines()
    assert [json.loads(line)["round"] for line in lines] == numbers


def test_a_campaign_can_be_carried_out_by_rounds(tmp_path: Path) -> None:
    for _ in range(3):
        Campaign(tmp_path / "rounds", 1, lambda own: KILLS[own.kind]).run(quiet, most=2)
    lines = (tmp_path / "rounds").read_text().splitlines()
    assert [json.loads(line)["round"] for line in lines] == [0, 1, 2, 3, 4, 5]


def test_no_round_begins_after_the_minutes_that_were_given(tmp_path: Path) -> None:
    Campaign(tmp_path / "rounds", 1, lambda own: KILLS[own.kind]).run(quiet, minutes=0)
    assert not (tmp_path / "rounds").exists()


def test_a_campaign_can_be_of_some_kinds_and_applications(tmp_path: Path) -> None:
    begun: list[Round] = []

    def attack(own: Round) -> int:
        begun.append(own)
        return KILLS[own.kind]

    Campaign(tmp_path / "rounds", 1, attack, 90, ("workers", "drivers"), ("joined", "event_time")).run(quiet)
    assert {own.kind for own in begun} == {"workers", "drivers"}
    assert {own.application for own in begun} == {"joined", "event_time"}
    assert [own.number for own in begun] == sorted({own.number for own in begun})


def test_a_second_run_has_a_cluster_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each daemon makes its folder, and a folder that a run before it left is in its way."""

    @contextmanager
    def made(folder: str) -> Iterator[str]:
        (Path(folder) / "master").mkdir()
        yield folder

    monkeypatch.setattr("tests.faults.__main__.loopback_cluster", made)
    killed = ExitStack()  # never closed, as by kill -9
    first = cluster_in(killed, tmp_path / "1")
    with ExitStack() as stack:
        assert cluster_in(stack, tmp_path / "1") != first
    assert [str(path) for path in (tmp_path / "1").iterdir()] == [str(first)]
    killed.close()


def test_a_round_that_goes_wrong_is_noted_with_its_error_and_its_kills_do_not_count(tmp_path: Path) -> None:
    def attack(own: Round) -> int:
        assert own.number != 1, "a row is missing"
        return KILLS[own.kind]

    campaign = Campaign(tmp_path / "rounds", 1, attack)
    campaign.run(quiet)
    assert campaign.summary()["failed_rounds"] == [1]
    assert "a row is missing" in campaign.done[1].error
    assert campaign.kills.total() >= 300
