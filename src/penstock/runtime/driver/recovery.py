"""A checkpoint whose newest files are torn, as the death of a machine may leave them: what a start can do without.

Micro-batch N is written in this order: Spark's offsets/N, plans/N, logs, manifests/N, results, Spark's commits/N.  What
has no manifest was never seen outside and may be planned anew.  What has one runs again only under its own plan, over
its own offsets and from the state before it: then it gives the same results.
"""

from __future__ import annotations

import json
from pathlib import Path

from penstock.errors import CorruptStateError, StateError, StateFileError
from penstock.state.checkpoint.batch_plan import BatchPlan
from penstock.state.checkpoint.checkpoint import Checkpoint
from penstock.state.checkpoint.manifests import Manifests

_ADVICE = "restore that file from a backup, or take another checkpoint"


def recover(checkpoint: Checkpoint) -> list[str]:
    """Removes torn files that a restart can do without, and gives a sentence for each.

    CorruptStateError where one cannot be done without; nothing is removed then that a repair may need.
    """
    return _Recovery(checkpoint).warnings


class _Recovery:
    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint, self._manifests = checkpoint, Manifests(checkpoint.manifests)
        self._offsets, self._commits = SparkLog(checkpoint, "offsets"), SparkLog(checkpoint, "commits")
        self.warnings: list[str] = []
        self._drop_torn_ends()
        self._fall_back()
        self._check_state()
        self._drop_torn_plans()

    def _drop_torn_ends(self) -> None:
        """Spark's newest offsets, where nothing of their batch counts, and its newest commits."""
        manifests = self._manifests.batches()
        for batch in self._offsets.torn_end():
            if batch in manifests:
                raise CorruptStateError(f"Spark's log of offsets '{self._offsets.path(batch)}' is torn, and results of "
                                        f"micro-batch {batch} may be out: it cannot run again; {_ADVICE}")  # fmt: skip
            self._offsets.remove(batch)
            self._checkpoint.forget_plan(batch)
            self._tell(f"the offsets of micro-batch {batch} were torn; it had not counted, and is planned anew")
        before = [batch for batch in self._offsets.batches()[-2:-1] if not self._offsets.is_whole(batch)]
        for batch in before:  # Spark begins with it
            raise CorruptStateError(f"Spark's log of offsets '{self._offsets.path(batch)}' is torn, so that nobody "
                                    f"knows where micro-batch {batch + 1} begins; {_ADVICE}")  # fmt: skip
        for batch in self._commits.torn_end():
            self._commits.remove(batch)
            self._tell(f"Spark's note that micro-batch {batch} is done was torn; it runs again")

    def _fall_back(self) -> None:
        """Has the batch after the newest whole manifest run again, where it is the only one that lacks its manifest."""
        batches = self._manifests.batches()
        torn = self._torn_end(batches)
        whole = max((batch for batch in batches if batch not in torn), default=None)
        lost = 0 if whole is None else whole + 1  # the batch to run next, as far as state goes
        if not torn and self._next() <= lost:
            return
        plan = self._plan_of(lost)
        can_run = plan is not None and plan.previous == whole and self._offsets.is_whole(lost)
        if self._next() > lost + 1 or torn not in ([], [lost]) or not can_run:
            state = "no state at all" if whole is None else f"the state after micro-batch {whole}"
            what = f"the manifest '{self._manifests.path(lost)}' is torn or missing"
            raise CorruptStateError(f"{what}: {state} is whole, and Spark goes on at micro-batch {self._next()}, so "
                                    f"what the micro-batches between changed in it is lost; {_ADVICE}")  # fmt: skip
        for batch in [b for b in self._checkpoint.plans() if b > lost]:
            self._checkpoint.forget_plan(batch)
        self._offsets.remove_from(lost + 1)
        self._commits.remove_from(lost)
        self._manifests.remove(lost)
        self._tell(f"the manifest of micro-batch {lost} was torn or missing; the micro-batch runs again, from the "
                   "state before it")  # fmt: skip

    def _torn_end(self, batches: list[int]) -> list[int]:
        """The newest manifests that are torn, up to a whole one."""
        torn = []
        for batch in reversed(batches):
            try:
                self._manifests.read(batch)
                break
            except CorruptStateError:
                torn.append(batch)
        return torn

    def _check_state(self) -> None:
        batches = self._manifests.batches()
        if batches:
            try:
                self._manifests.ledgers(batches[-1])
            except (StateError, StateFileError) as error:
                raise CorruptStateError(f"{error}; the state after micro-batch {batches[-1]} cannot be read without "
                                        f"it; {_ADVICE}") from error  # fmt: skip

    def _drop_torn_plans(self) -> None:
        manifests = self._manifests.batches()
        for batch in self._checkpoint.plans():
            try:
                self._checkpoint.plan(batch)
            except CorruptStateError as error:
                if batch in manifests and batch not in self._commits.batches() and batch >= self._next():
                    raise CorruptStateError(
                        f"{error}, and results of micro-batch {batch} may be out: without its plan it may give other "
                        "ones; restore the file from a backup, or delete it to take that risk"
                    ) from error
                self._checkpoint.forget_plan(batch)
                self._tell(f"the plan of micro-batch {batch} was torn; the next one goes by an older plan")

    def _next(self) -> int:
        """The batch that Spark runs next: the newest that it has offsets of, or the one after it."""
        newest = max(self._offsets.batches(), default=-1)
        return newest + 1 if newest in self._commits.batches() else max(newest, 0)

    def _plan_of(self, batch: int) -> BatchPlan | None:
        try:
            return self._checkpoint.plan(batch)
        except CorruptStateError:
            return None

    def _tell(self, sentence: str) -> None:
        self.warnings.append(f"checkpoint '{self._checkpoint.directory}': {sentence}")


class SparkLog:
    """Spark's offsets or commits: a file of text for each batch."""

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        self._folder = Path(checkpoint.spark) / name

    def path(self, batch: int) -> Path:
        return self._folder / str(batch)

    def batches(self) -> list[int]:
        """All batches that have a file, ascending."""
        return sorted(int(path.name) for path in self._folder.glob("*") if path.name.isdigit())

    def torn_end(self) -> list[int]:
        """The newest files that are torn, up to a whole one."""
        torn = []
        for batch in reversed(self.batches()):
            if self.is_whole(batch):
                break
            torn.append(batch)
        return torn

    def is_whole(self, batch: int) -> bool:
        """Whether a file is as Spark writes it; of formats that are not known here, whether there is anything."""
        try:
            version, *lines = self.path(batch).read_text().split("\n")
            if version != "v1":
                return version.startswith("v")
            for line in lines:
                if line != "-":
                    json.loads(line)
        except (OSError, ValueError):
            return False
        return bool(lines)

    def remove(self, batch: int) -> None:
        """Deletes a file, and the one with its checksum."""
        self.path(batch).unlink(missing_ok=True)
        (self._folder / f".{batch}.crc").unlink(missing_ok=True)

    def remove_from(self, batch: int) -> None:
        for later in self.batches():
            if later >= batch:
                self.remove(later)
