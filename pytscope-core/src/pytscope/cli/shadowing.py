"""A warning about an unrelated distribution that shares the import name."""

from __future__ import annotations

from pytscope.cli.output import say

OTHER = "pytscope"


def warn_of_other_distribution() -> None:
    """Say once that another distribution puts its files into the same package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version(OTHER)
    except PackageNotFoundError:
        return
    say(
        f"warning: the distribution {OTHER} {found} is installed beside pytscope-core and writes "
        f"into the same package; remove both, then install pytscope-core alone"
    )
