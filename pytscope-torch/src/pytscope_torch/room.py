"""How much memory processes here may still take: of the machine, and of their control groups."""

from __future__ import annotations

from pathlib import Path

import psutil

MOUNT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
UNLIMITED = 1 << 60
"""Limits above this are none."""


def available_bytes() -> int | None:
    """The least of what the machine has available and what the control groups leave.

    Returns:
        Bytes, or None when nobody tells. Memory that the kernel would give back
        (caches) counts as available.
    """
    try:
        machine = [psutil.virtual_memory().available]
    except (psutil.Error, OSError):
        machine = []
    left = machine + group_rooms()
    return max(min(left), 0) if left else None


def group_rooms(own: Path = OWN, mount: Path = MOUNT) -> list[int]:
    """What each limited control group leaves, from the process's own up to the root.

    Args:
        own: File that names the process's groups.
        mount: Where the groups are mounted.
    """
    try:
        lines = own.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    rooms: list[int] = []
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            rooms += _walk(mount, path, ("memory.max", "memory.current"), "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            rooms += _walk(mount / "memory", path, names, "total_inactive_file")
    return rooms


def _walk(mount: Path, path: str, names: tuple[str, str], cache: str) -> list[int]:
    rooms = []
    group = mount / path.lstrip("/")
    for folder in (group, *group.parents):
        if mount not in (folder, *folder.parents):
            break
        limit, used = (_number(folder / name) for name in names)
        if limit is not None and used is not None and limit < UNLIMITED:
            rooms.append(limit - used + (_entry(folder / "memory.stat", cache) or 0))
    return rooms


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # not there, or `max`
        return None


def _entry(path: Path, name: str) -> int | None:
    try:
        lines = path.read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.split()[:1] == [name]), None)
    except (OSError, ValueError, IndexError):
        return None
