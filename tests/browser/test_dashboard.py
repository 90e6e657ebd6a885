"""The dashboard in a real Chromium, over a real run on local Spark under a goal; the last test kills the run."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.control.journal.journal import read_journal
from tests.browser.conftest import PATIENCE_S, Run, wait_until, watching
from tests.browser.driver import MARKUP, OPERATORS
from tests.reference.damaged_journals import damage, whole_run
from tests.reference.made_run import write_run

FIGURES = ("Arrivals", "Served", "Backlog", "p95 latency")
DAMAGED = 15  # of the 10,000 of make journals
PICTURES = os.environ.get("PENSTOCK_PICTURES")


def figures(page: Any) -> tuple[int, dict[str, float | None]]:
    """The micro-batch that is shown, and its figures: read at one moment."""
    read = "(o) => [o.getAttribute('aria-label'), o.dataset.value, o.dataset.batch]"
    found = page.evaluate(f"() => [...document.querySelectorAll('output')].map({read})")
    batches = {int(batch) for _, _, batch in found if batch}
    assert len(batches) == 1
    return batches.pop(), {label: float(value) if value else None for label, value, _ in found}


def test_the_roles_and_names_are_there(page: Any) -> None:
    assert page.get_by_role("status", name="Summary").inner_text()
    for name in ("Throughput", "Latency", "Settings", "Cost"):
        assert page.get_by_role("img", name=name, exact=True).is_visible()
    for name in ("Decisions", "Replicas", "Dead letters", "Failures"):
        assert page.get_by_role("table", name=name, exact=True).is_visible()
    form = page.get_by_role("form", name="Controls")
    assert form.get_by_role("switch", name="Passive").is_visible()
    for name in ("Pause tuning", "Stop"):
        assert form.get_by_role("button", name=name, exact=True).is_visible()
    for name in ("Goal", "Token"):
        assert form.get_by_role("textbox", name=name, exact=True).is_visible()


def test_every_operator_is_a_button_of_the_graph_and_markup_stays_text(page: Any) -> None:
    graph = page.get_by_role("group", name="Graph")
    for name in OPERATORS:
        graph.get_by_role("button", name=name, exact=True).wait_for()
    page.get_by_role("table", name="Dead letters").get_by_text(MARKUP).first.wait_for(timeout=PATIENCE_S * 1000)
    assert page.locator("main img").count() == 0
    assert page.locator("b").count() == 0


def test_figures_move_and_are_those_of_the_handle(page: Any, run: Run) -> None:
    compared: dict[int, dict[str, float | None]] = {}

    def has_three() -> bool:
        batch, shown = figures(page)
        if batch in run.observed():
            compared[batch] = shown
        return len(compared) >= 3

    wait_until(has_three, "the figures do not move")
    for batch, shown in compared.items():
        said = run.observed()[batch]["figures"]
        for label in FIGURES:
            assert shown[label] == (None if said[label] is None else pytest.approx(said[label], rel=1e-6))


def test_a_decision_opens_and_agrees_with_the_journal(page: Any, run: Run) -> None:
    page.locator("#decision-rows button").first.wait_for(timeout=PATIENCE_S * 1000)
    with page.expect_response("**/api/decisions/*") as answer:
        page.locator("#decision-rows button").last.click()
    own = answer.value.json()  # of equal holds in a row the newest, which goes on while the page is looked at
    dialog = page.get_by_role("dialog", name=re.compile(r"Decision \d+"))
    dialog.wait_for()
    for name in ("Expected", "Measured", "Error"):
        assert dialog.get_by_text(name, exact=True).first.is_visible()
    journal = read_journal(run.checkpoint / "journal.jsonl")
    recorded = {line.decision["step"]: line.decision for line in journal.lines if line.decision is not None}
    assert own["because"] == recorded[own["step"]]["because"]
    assert dialog.get_by_text(own["because"]).first.is_visible()
    if own["measured"] is not None:
        assert own["measured"]["backlog_tuples"] == recorded[own["step"] + 1]["seen"].get("backlog_tuples", 0.0)


def test_passive_needs_the_token_and_is_taken_by_the_driver(page: Any, run: Run) -> None:
    switch = page.get_by_role("switch", name="Passive")
    with page.expect_response("**/api/control") as refused:
        switch.click()
    assert refused.value.status == 403
    page.get_by_role("textbox", name="Token").fill(run.token)
    with page.expect_response("**/api/control") as taken:
        switch.click()
    assert taken.value.status == 200
    page.wait_for_selector('#passive[aria-checked="true"]', timeout=PATIENCE_S * 1000)
    wait_until(lambda: any(own["passive"] for own in run.observed().values()), "the driver did not become passive")
    assert not list((run.checkpoint / "commands").iterdir())


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_its_width_in_light_and_dark(browser: Any, run: Run, tmp_path: Path, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(run.url)
    page.wait_for_selector(".uplot canvas")
    page.wait_for_timeout(800)
    folder = tmp_path if PICTURES is None else Path(PICTURES)
    page.evaluate("document.getElementById('place').textContent = ''")  # pictures for all show nobody's folders
    page.screenshot(path=folder / f"dashboard-{width}-{scheme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(14, 21, 27)") == (scheme == "dark")
    context.close()


def test_damaged_journals_never_break_the_page(shown: Callable[[Path], Any], tmp_path: Path) -> None:
    wholes, folder = whole_run(tmp_path / "whole"), tmp_path / "damaged"
    folder.mkdir()
    for seed in range(DAMAGED):
        damage(folder, wholes, random.Random(seed))
        page = shown(folder / "journal.jsonl")
        page.locator("#connection", has_text="live").wait_for()
        opening = page.locator("#decision-rows button")
        if opening.count():
            opening.first.click()
            page.wait_for_selector("dialog[open]")
        assert page.wrong == [], seed


def test_keys_and_focus_do_what_the_mouse_does(shown: Callable[[Path], Any], tmp_path: Path) -> None:
    page = shown(write_run(tmp_path / "own"))
    page.keyboard.press("1")
    assert page.get_by_role("button", name="2 min").get_attribute("aria-pressed") == "true"
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.keyboard.press("d")
    assert page.evaluate("document.activeElement.id") == "decisions"
    page.get_by_role("group", name="Graph").get_by_role("button", name="window", exact=True).focus()
    page.keyboard.press("Enter")
    assert page.locator("#operator").inner_text().startswith("window (aggregate, element window)")
    page.locator("#decision-rows button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog:not([open])", state="attached")
    assert page.wrong == []


def test_the_page_connects_again_by_itself(browser: Any, tmp_path: Path) -> None:
    write_run(tmp_path)
    context = browser.new_context()
    page = context.new_page()
    with watching(tmp_path) as url:
        page.goto(url)
        page.locator("#connection", has_text="live").wait_for()
    page.locator("#connection", has_text="reconnecting").wait_for()
    with watching(tmp_path, port=int(url.rstrip("/").rpartition(":")[2])):
        page.locator("#connection", has_text="live").wait_for()
    context.close()


def test_a_run_cut_by_sigkill_shows_as_interrupted(page: Any, run: Run) -> None:
    run.kill()
    page.wait_for_selector('#status[data-status="interrupted"]', timeout=PATIENCE_S * 1000)
    assert page.get_by_role("status", name="Summary").inner_text().startswith("Interrupted")
    headers = {"authorization": f"Bearer {run.token}"}
    assert httpx.post(f"{run.url}api/control", json={"passive": False}, headers=headers).status_code == 409
