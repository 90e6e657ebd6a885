"""Orders to fail: files in a folder that a process carries out, each once, when it comes to the point they name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

VARIABLE = "PENSTOCK_FAULT_ORDERS"


class InjectedError(RuntimeError):
    """What an ordered failure raises."""


class Orders:
    """A folder of orders; whoever renames the file first carries it out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def give(self, point: str, action: str, times: int = 1, *, after: int = 0) -> None:
        """Orders an action at `operator.point`, or `operator.point.replica`, once that was passed `after` times."""
        for _ in range(times):
            number = len(list(self.folder.iterdir()))
            draft = self.folder / f".{number}"
            draft.write_text(f"{action} {after}")
            draft.rename(self.folder / f"{point}@{number}")

    def carried_out(self) -> int:
        return len(list(self.folder.glob("done-*")))

    def meet(self, operator: str, point: str, replica: int) -> None:
        """Carries out the next order for a point of an operator or of this replica of it, if there is one."""
        names = (f"{operator}.{point}", f"{operator}.{point}.{replica}")
        for path in sorted(path for name in names for path in self.folder.glob(f"{name}@*")):
            taken = path.with_name(f"done-{path.name}")
            try:
                action, after = path.read_text().rsplit(" ", 1)
                if int(after) > 0:
                    path.write_text(f"{action} {int(after) - 1}")
                    return
                path.rename(taken)
            except (FileNotFoundError, ValueError):
                continue  # another process was quicker
            act(action)
            return


def act(action: str) -> None:
    """What an order says: raise, die, take the executor along, lose its shuffle files, be slow."""
    name, _, argument = action.partition(" ")
    if name == "raise":
        raise InjectedError("ordered to fail")
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "kill_executor":
        os.kill(_parent(os.getppid()), signal.SIGKILL)
        time.sleep(30)  # its death takes this process along
    elif name == "lose_shuffles":
        for folder in os.environ["SPARK_LOCAL_DIRS"].split(","):
            for file in Path(folder).glob("*/shuffle_*.data"):
                file.unlink(missing_ok=True)
    elif name == "sleep":
        time.sleep(float(argument))
    else:
        raise ValueError(f"no such action: {action}")


def _parent(pid: int) -> int:
    text = Path(f"/proc/{pid}/stat").read_text()
    return int(text[text.rindex(")") + 2 :].split()[1])
