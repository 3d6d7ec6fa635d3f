"""Where an engine keeps its checkpoints: a small file system of its own, which can be full, or gone for a while."""

from __future__ import annotations

import errno
import os
import subprocess
from contextlib import suppress
from pathlib import Path

__all__ = ["Storage"]

MEGABYTES = 64


class Storage:
    """A folder of those that containers share. Only root can mount a file system there; otherwise it stays a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.away = folder, folder / "away"
        folder.mkdir()
        self.mounted = os.geteuid() == 0
        if self.mounted:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", folder], check=True)

    def fill(self) -> None:
        """Leave no byte. Without a file system of its own, nobody can write new files instead."""
        if not self.mounted:
            self.hide()
            return
        with (self.folder / "filler").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def hide(self) -> None:
        """Take all that is there away, and put files in the places of folders: nothing can be read or written."""
        self.away.mkdir()
        for path in list(self.folder.iterdir()):
            if path != self.away:
                path.rename(self.away / path.name)
                path.touch()

    def mend(self) -> None:
        """All is there again, and there is room."""
        (self.folder / "filler").unlink(missing_ok=True)
        if self.away.exists():
            for path in list(self.away.iterdir()):
                (self.folder / path.name).unlink(missing_ok=True)
                path.rename(self.folder / path.name)
            self.away.rmdir()

    def close(self) -> None:
        """Let go of the file system."""
        if self.mounted:
            self.mounted = False
            with suppress(subprocess.CalledProcessError):  # a container that is about to end still has it
                subprocess.run(["umount", "--lazy", self.folder], check=True)
