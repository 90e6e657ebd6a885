"""A folder that several hold: what is kept for who still looks, and what goes."""

from __future__ import annotations

from pathlib import Path

from penstock.host.owned_folder import OwnedFolder


def test_a_folder_is_shared_while_another_holds_it(tmp_path: Path) -> None:
    one = OwnedFolder(str(tmp_path / "f"))
    assert not one.is_shared
    other = OwnedFolder(str(tmp_path / "f"))
    assert one.is_shared
    other.release()
    assert not one.is_shared


def test_what_others_look_at_stays(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    own, other = OwnedFolder(str(folder)), OwnedFolder(str(folder))
    (folder / "logs").mkdir()
    (folder / "logs" / "1").write_text("x")
    for name in ("journal.jsonl", "journal.events.jsonl", "application", "lease"):
        (folder / name).write_text("x")
    own.remove(but=r"journal\..*|lease")
    assert sorted(path.name for path in folder.iterdir()) == ["journal.events.jsonl", "journal.jsonl", "lease", "lock"]
    assert not other.is_shared
    other.remove()
    assert not folder.exists()
