"""What stands in front of methods of the Trainer's parts while a fit is recorded.

Each is put into one object's attributes and leaves its class alone. Copied or
pickled with the object, it turns into the method it stands in front of.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any

from pytscope.recording.harmless import harmless
from pytscope.recording.keys import Open
from pytscope_lightning.edges import Edges
from pytscope_torch.evaluating import Evaluating
from pytscope_torch.framework import Told


class Wrapper:
    """Stands in front of a method.

    Args:
        method: The method, bound.
    """

    __slots__ = ("__weakref__", "_method")

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method: Any = method

    def __getattr__(self, name: str) -> Any:
        if name == "_method" or name.startswith("__"):  # not set yet in a copy; the object's own
            raise AttributeError(name)
        return getattr(self._method, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self._method, memo)

    def __reduce__(self) -> tuple[Any, ...]:
        """The method itself, of the object that is pickled along."""
        if isinstance(self._method, Wrapper):  # of another recording
            return self._method.__reduce__()
        return getattr, (self._method.__self__, self._method.__name__)


class Around(Wrapper):
    """A method that is one phase as a whole.

    Args:
        method: The method, bound.
        told: Where to.
        key: The phase.
        after: Called with the method's arguments when it is over, or None.
    """

    __slots__ = ("_after", "_key", "_told")

    def __init__(
        self,
        method: Callable[..., Any],
        told: Told | Evaluating,
        key: Open,
        after: Callable[..., None] | None = None,
    ) -> None:
        super().__init__(method)
        self._told = told
        self._key = key
        self._after = after

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The method's call, in its block."""
        self._told.enter(self._key)
        try:
            return self._method(*args, **kwargs)
        finally:
            self._told.leave(self._key)
            if self._after is not None:
                with harmless("recording logged values"):
                    self._after(*args, **kwargs)


class Start(Wrapper):
    """`start` of the Trainer's profiler: what it is told begins.

    Args:
        method: The method, bound.
        edges: Told of the actions that have a phase.
    """

    __slots__ = ("_edges", "_phases")

    def __init__(self, method: Callable[..., Any], edges: Edges) -> None:
        super().__init__(method)
        self._edges = edges
        self._phases = edges.phases

    def __call__(self, action_name: str, *args: Any, **kwargs: Any) -> Any:
        """The profiler's own start; the phase begins after it."""
        out = self._method(action_name, *args, **kwargs)
        if action_name in self._phases:
            self._edges.started(action_name)
        return out


class Stop(Start):
    """`stop` of the Trainer's profiler: what it is told is over."""

    __slots__ = ()

    def __call__(self, action_name: str, *args: Any, **kwargs: Any) -> Any:
        """The profiler's own stop; the phase ends before it."""
        if action_name in self._phases:
            self._edges.stopped(action_name, sys.exc_info()[1])
        return self._method(action_name, *args, **kwargs)


class Profile(Start):
    """`profile` of a profiler that does nothing, as it is by default.

    Lightning asks for some thirty blocks a step; this makes those without a phase cheaper
    than they are without a recording.
    """

    __slots__ = ("_under",)

    def __init__(self, method: Callable[..., Any], edges: Edges) -> None:
        super().__init__(method, edges)
        self._under = method if isinstance(method, Profile) else Action  # of another recording

    def __call__(self, action_name: str) -> Action:
        """A block that starts and stops what it is named after."""
        under = self._under(action_name)
        return Block(under, self._edges) if action_name in self._phases else under


class Action(ContextDecorator):
    """An action of which nobody is told.

    Attributes:
        name: Its name.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> str:
        return self.name

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the block."""


class Block(Action):
    """An action that has a phase.

    Args:
        under: What it would be without.
        edges: Told of it.
    """

    def __init__(self, under: Action, edges: Edges) -> None:
        super().__init__(under.name)
        self._under = under
        self._edges = edges

    def __enter__(self) -> str:
        name = self._under.__enter__()
        self._edges.started(name)
        return name

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the block."""
        self._edges.stopped(self.name, error)
        self._under.__exit__(kind, error, trace)
