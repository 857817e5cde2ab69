"""Which plugins to use: the values of the environment and of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs
from packaging.utils import canonicalize_name

NO_AUTOLOAD = "PYTSCOPE_DISABLE_PLUGIN_AUTOLOAD"
ONLY = "PYTSCOPE_PLUGINS"
DISABLED = "PYTSCOPE_DISABLED_PLUGINS"
RAISE = "PYTSCOPE_RAISE_PLUGIN_ERRORS"

_FALSE = frozenset({"", "0", "false", "no", "off"})


def _names(text: str) -> frozenset[str]:
    return frozenset(filter(None, (name.strip() for name in text.split(","))))


def truthy(value: str) -> bool:
    """Whether the value of an environment variable is neither empty nor a word for no."""
    return value.strip().lower() not in _FALSE


def raises_plugin_errors(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for plugin failures to be raised."""
    return truthy(environ.get(RAISE, ""))


@attrs.frozen
class PluginSelection:
    """Which of the advertised plugins to load.

    A name is an entry-point name or a distribution name; the built-ins are
    always loaded.

    Attributes:
        only: Load these alone, or None for no such limit.
        disabled: Never load these.
        autoload: Whether plugins outside `only` load when `only` is None.
    """

    only: frozenset[str] | None = None
    disabled: frozenset[str] = frozenset()
    autoload: bool = True

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> PluginSelection:
        """Read the three variables that choose plugins.

        Args:
            environ: Usually `os.environ`.
        """
        return cls(
            only=_names(environ[ONLY]) if environ.get(ONLY, "").strip() else None,
            disabled=_names(environ.get(DISABLED, "")),
            autoload=not truthy(environ.get(NO_AUTOLOAD, "")),
        )

    def narrowed(
        self, *, only: Iterable[str] | None = None, disabled: Iterable[str] = ()
    ) -> PluginSelection:
        """The same with the command line's wishes on top.

        Args:
            only: Replaces the allow-list unless None.
            disabled: Added to the names that are not loaded.
        """
        allowed = self.only if only is None else frozenset(only)
        return PluginSelection(allowed, self.disabled | frozenset(disabled), self.autoload)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name mentioned, sorted."""
        return tuple(sorted(self.disabled | (self.only or frozenset())))

    def refusal(self, name: str, distribution: str) -> str:
        """Why a plugin is not to be loaded, or an empty string.

        Args:
            name: Its entry-point name.
            distribution: The distribution that advertises it.
        """
        if _mentions(self.disabled, name, distribution):
            return "disabled by name"
        if self.only is not None:
            chosen = _mentions(self.only, name, distribution)
            return "" if chosen else "not among the plugins asked for"
        return "" if self.autoload else f"{NO_AUTOLOAD} is set"


def _mentions(names: frozenset[str], name: str, distribution: str) -> bool:
    canonical = canonicalize_name(distribution)
    return any(n == name or canonicalize_name(n) == canonical for n in names)
