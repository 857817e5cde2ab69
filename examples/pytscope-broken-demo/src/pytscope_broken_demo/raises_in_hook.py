"""Raises when it is asked for its rules, as when a configuration file is missing."""

from collections.abc import Iterator

from pytscope import Rule, Run, hookimpl, rule


@rule("BROKEN.NEVER_SEEN", since="1.0.0")
def never_seen(run: Run) -> None:
    """Detects nothing; the hook that brings it fails after it."""


@hookimpl
def pytscope_rules() -> Iterator[Rule]:
    yield never_seen
    msg = "acme.toml"
    raise FileNotFoundError(msg)
