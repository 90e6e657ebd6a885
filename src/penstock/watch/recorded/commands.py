"""Commands to a running application: a file each in its checkpoint, which the driver takes between micro-batches."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.control.commands import COMMANDS, check_command
from penstock.errors import InputError
from penstock.runtime.driver.command_files import FOLDER, command_name


def command_problem(body: Mapping[str, Any]) -> str | None:
    """What is wrong with a command, as one sentence."""
    if not body:
        return f"a command says what to do: {', '.join(COMMANDS)}"
    try:
        check_command(body)
    except InputError as error:
        return str(error)
    return None


def write_command(checkpoint: Path, body: Mapping[str, Any]) -> str:
    """Writes a command whole, readable for this user alone; gives its id."""
    folder = checkpoint / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    name = command_name(time.time())
    draft = folder / f".{name}.draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"id": name, "command": dict(body)}, file)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(folder / f"{name}.json")
    return name
