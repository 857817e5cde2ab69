"""Doors: names that sibling packages bring, importable from pytscope all the same."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pytscope.model.errors import MissingPackage


def enter(name: str, module: str, extra: str) -> Any:
    """What a sibling package calls `name`, or a sentence on how to get it.

    Args:
        name: The attribute wanted.
        module: Import name of the sibling; its distribution is spelt with dashes.
        extra: The extra of pytscope-core that installs it.

    Raises:
        MissingPackage: The sibling, or a package it needs, is not installed, or
            the installed sibling does not bring the name.
    """
    package = module.replace("_", "-")
    command = f"pip install 'pytscope-core[{extra}]'"
    try:
        sibling = import_module(module)
        return getattr(sibling, name)
    except ModuleNotFoundError as error:
        lacking = package if error.name == module else f"{error.name}, which {package} needs,"
        msg = f"{name} is part of {package}; {lacking} is not installed: {command}"
        raise MissingPackage(msg) from error
    except AttributeError as error:
        msg = f"the installed {package} does not bring {name}; a newer one may: {command} --upgrade"
        raise MissingPackage(msg) from error
