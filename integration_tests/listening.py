"""The sockets that a process and all beneath it listen on, as the kernel tells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

__all__ = ["Listening", "listening", "tree"]

Listening = tuple[IPv4Address | IPv6Address, int, str]
"""An address, a port, and the name of the process."""
_LISTEN = "0A"


def listening(pid: int) -> list[Listening]:
    """The TCP sockets that a process and all beneath it listen on."""
    sockets = {inode: socket for family in ("tcp", "tcp6") for inode, socket in _sockets(family)}
    return [
        (*sockets[inode], (Path("/proc") / str(process) / "comm").read_text().strip())
        for process in tree(pid)
        for inode in _inodes(process)
        if inode in sockets
    ]


def tree(pid: int) -> Iterator[int]:
    """A process and all beneath it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has just ended
                continue
            children.setdefault(parent, []).append(int(entry.name))
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children.get(process, [])


def _inodes(pid: int) -> Iterator[str]:
    for file in (Path("/proc") / str(pid) / "fd").iterdir():
        try:
            target = os.readlink(file)
        except FileNotFoundError:  # closed meanwhile
            continue
        if target.startswith("socket:["):
            yield target[8:-1]


def _sockets(family: str) -> Iterator[tuple[str, tuple[IPv4Address | IPv6Address, int]]]:
    for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == _LISTEN:
            address, port = fields[1].split(":")
            yield fields[9], (_address(address), int(port, 16))


def _address(text: str) -> IPv4Address | IPv6Address:
    """The kernel writes addresses as words of four bytes, in the order of the machine: little-endian."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    address = ip_address(b"".join(words))
    return getattr(address, "ipv4_mapped", None) or address
