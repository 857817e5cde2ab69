"""Doors: names that sibling packages bring, importable from pytscope all the same."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pytscope.model.errors import MissingPackage


def door(here: str, name: str, module: str, extra: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module with one name that a sibling package brings.

    Args:
        here: The module's own name.
        name: The attribute.
        module: Import name of the sibling.
        extra: The extra of pytscope-core that installs it.
    """

    def find(wanted: str) -> Any:
        if wanted != name:
            msg = f"module {here!r} has no attribute {wanted!r}"
            raise AttributeError(msg)
        return enter(name, module, extra)

    return find


def enter(name: str, module: str, extra: str, shown: str = "") -> Any:
    """What a sibling package calls `name`, or a sentence on how to get it.

    Args:
        name: The attribute wanted.
        module: Import name of the sibling; its distribution is spelt with dashes.
        extra: The extra of pytscope-core that installs it.
        shown: What the user asked for; the attribute by default.

    Raises:
        MissingPackage: The sibling, or a package it needs, is not installed, or
            the installed sibling does not bring the name.
    """
    package, wanted = module.replace("_", "-"), shown or name
    command = f"pip install 'pytscope-core[{extra}]'"
    try:
        sibling = import_module(module)
        return getattr(sibling, name)
    except ModuleNotFoundError as error:
        if error.name is None or _installed(error.name):
            msg = (
                f"{wanted} is part of {package}, which cannot be imported ({error}); "
                f"newer versions may go together: {command} --upgrade"
            )
            raise MissingPackage(msg) from error
        lacking = package if error.name == module else f"{error.name}, which {package} needs,"
        msg = f"{wanted} is part of {package}; {lacking} is not installed: {command}"
        if error.name == module:
            msg += f", or ./{package} from a clone"
        raise MissingPackage(msg) from None  # the sentence says all there is to it
    except AttributeError as error:
        newer = f"a newer one may: {command} --upgrade"
        msg = f"the installed {package} does not bring {wanted}; {newer}"
        raise MissingPackage(msg) from error


def _installed(module: str) -> bool:
    """Whether the package of a module that was not found is there all the same."""
    try:
        return find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):  # an import hook refuses it; a stand-in without a spec
        return False
