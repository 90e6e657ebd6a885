"""How far an application has come: tuples taken up to each batch, so that a batch that runs again counts once."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.host.atomic_file import write_whole


class Progress:
    """A small file in the checkpoint; the newest few batches are kept."""

    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self._path, self._durable = path, durable
        self._tuples: dict[int, int] = (
            {int(k): v for k, v in json.loads(path.read_bytes()).items()} if path.is_file() else {}
        )

    @property
    def tuples(self) -> int:
        """Tuples of all batches so far."""
        return self._tuples[max(self._tuples)] if self._tuples else 0

    @property
    def batch(self) -> int | None:
        """The newest batch that was noted."""
        return max(self._tuples, default=None)

    def before(self, batch: int) -> int:
        """Tuples of all batches before one."""
        earlier = [b for b in self._tuples if b < batch]
        return self._tuples[max(earlier)] if earlier else 0

    def add(self, batch: int, tuples: int) -> None:
        """Notes a batch; the sum goes on from the batch before it, whatever was noted for this one."""
        total = self.before(batch) + tuples
        kept = sorted(b for b in self._tuples if b < batch)[-3:]
        self._tuples = {b: self._tuples[b] for b in kept} | {batch: total}
        data = json.dumps(self._tuples).encode()
        write_whole("writing the application's progress", str(self._path), data, durable=self._durable)
