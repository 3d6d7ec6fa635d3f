"""Functions that run in processes of their own: one that has compiled nothing yet, or whose memory is measured."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["child_command", "in_child"]


def child_command(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """The command that calls a function of a module; arguments are passed as JSON."""
    return [sys.executable, "-m", __name__, function.__module__, function.__name__, json.dumps(arguments)]


def in_child(function: Callable[..., Iterator[Any]], *arguments: Any, **environment: str) -> Iterator[Any]:
    """What a function yields in a process of its own, as it comes."""
    command = child_command(function, *arguments)
    with subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        raise SystemExit(f"{function.__name__}{arguments} failed in a process of its own")


def main() -> None:
    """Call the function that the arguments name, and print what it yields."""
    module, name, arguments = sys.argv[1:4]
    for result in getattr(importlib.import_module(module), name)(*json.loads(arguments)) or ():
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
