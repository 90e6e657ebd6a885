"""Spark's own log of offsets and commits, made to survive the death of the machine: Spark leaves that to the system."""

from __future__ import annotations

from pathlib import Path

from penstock.host.atomic_file import sync


def sync_spark_log(folder: str, batch: int) -> None:
    """Syncs what Spark wrote before it called for a batch: its offsets, and the commit of the batch before.

    The names of what was there before are synced with them, sources' own files too, up to the checkpoint's.
    """
    root = Path(folder)
    new = [root / "offsets" / str(batch), root / "commits" / str(batch - 1), root / "metadata"]
    sources = [path for path in root.glob("sources/**/*") if path.name == str(batch)]
    files = [path for path in (*new, *sources) if path.is_file()]
    folders = dict.fromkeys(path.parent for path in files)
    above = {above for folder in folders for above in folder.parents if above.is_relative_to(root.parent)}
    for path in (*files, *folders, *sorted(above - set(folders))):
        sync(str(path))
