"""The idle recorder: the whole recording interface, doing nothing.

A recorder that is not recording (before `start`, after `finish`, on a rank
that is not recorded, in a forked child) is of this class; `start` turns it
into one with `LiveMethods` in front, so that the live path tests no flag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pytscope.recording.harmless import warn_once
from pytscope.recording.keys import FETCH, Open
from pytscope.recording.plain import name_of

if TYPE_CHECKING:
    from pytscope.recording.collectors import Sampler
    from pytscope.recording.live import Owned
    from pytscope.recording.writer import Writer

T = TypeVar("T")
MAX_SAID = 100
"""Different warnings one recording keeps."""


class Recorder:
    """Begin, mark, phase, log and end, as no-ops; and the wrappers built on them."""

    __slots__ = (
        "__weakref__",
        "_clock",
        "_comm",
        "_disabled",
        "_elsewhere",
        "_error",
        "_events",
        "_fetch",
        "_micro_step",
        "_mine",
        "_others",
        "_own",
        "_phases",
        "_said",
        "_samplers",
        "_step",
        "_stepping",
        "_synchronize",
        "_thread",
        "_writer",
    )

    _clock: Callable[[], int]
    _elsewhere: bool
    _events: list[Any]
    _others: dict[int, list[tuple[str, int]]]
    _mine: Owned
    _own: Owned
    _said: set[str]
    _samplers: tuple[Sampler, ...]
    _synchronize: Callable[[], None]
    _thread: int
    _writer: Writer

    def __init__(self) -> None:
        self._disabled = False
        self._error = 0
        self._samplers = ()
        self._stepping: object = None
        self._fetch = PhaseBlock(self, FETCH)
        self._comm = PhaseBlock(self, Open("comm"))
        self._phases: dict[str, Open] = {}
        self._step = StepBlock(self, update=True)
        self._micro_step = StepBlock(self, update=False)

    # --- stamps: overridden by LiveMethods ----------------------------------

    def begin_step(self) -> None:
        """Begin a step, or the next micro-batch of it."""

    def end_step(self, update: bool = True) -> None:
        """End an optimizer step, or with `update=False` one micro-batch of it."""

    def mark(self, name: str) -> None:
        """Name the time since the last mark, step begin or block: it was `name`."""

    def log(
        self,
        loss: Any = None,
        grad_norm: Any = None,
        lr: Any = None,
        tokens: Any = None,
        samples: Any = None,
        **extra: Any,
    ) -> None:
        """Record values for the current step.

        Outside a step they belong to the last completed one, until the next
        fetch or step begins; before any step, to the run. Values on an
        accelerator are read later, without waiting for it. Of a name that is
        logged several times in a step the last value counts, except counts.

        Args:
            loss: Training loss.
            grad_norm: Gradient norm.
            lr: Learning rate.
            tokens: Tokens in this step, on this rank. Logged several times in a
                step, as once a micro-batch, they add up.
            samples: Samples in this step, on this rank; they add up as well.
            **extra: Any other numbers, by name.
        """

    def _say(self, message: str) -> None:
        """Warn once, in the log and in the record."""
        if message not in self._said and len(self._said) < MAX_SAID:
            self._said.add(message)
            warn_once(message)
            self._writer.note("warning", {"message": message})

    def _open_block(self, block: PhaseBlock) -> None:
        """Stamp the opening of a block."""

    def _close_block(self, *, exhausted: bool = False) -> None:
        """Stamp the end of a block."""

    def _failed(self, error: BaseException) -> None:
        """Stamp an exception that leaves the step."""

    def _span(self, name: str, since: int) -> None:
        """Note a block of another thread that ends now."""

    def _ended_by(self, error: BaseException) -> None:
        """Note the exception that ends the recording."""

    def _abandoned(self) -> None:
        """Stamp the closing of `steps()` in mid-step."""

    # --- built on them --------------------------------------------------------

    def phase(self, name: str) -> PhaseBlock:
        """A block of a named phase: `with prof.phase("eval"): …`. Blocks nest."""
        if type(name) is not str:
            name = name_of(name)
        key = self._phases.get(name)
        if key is None:
            key = Open(name)
            if len(self._phases) < 1024:  # noqa: PLR2004  # names made up per step must not pile up
                self._phases[name] = key
        return NamedBlock(self, key)

    def comm(self) -> PhaseBlock:
        """A block of communication, taken out of the phase around it."""
        return self._comm

    def step(self, update: bool = True) -> StepBlock:
        """A step as a block: `with prof.step(): …`.

        Args:
            update: False for a micro-batch after which no optimizer step comes.
        """
        return self._step if update else self._micro_step

    def iter_data(self, loader: Iterable[T]) -> Iterable[T]:
        """Iterate over a loader; the waiting is phase `data`.

        The result has the loader's length and attributes, and may be iterated
        again, as the loader may.
        """
        if hasattr(type(loader), "__aiter__") and not hasattr(type(loader), "__iter__"):
            warn_once("iter_data() of an asynchronous loader is not timed")
            return loader
        return loader if self._disabled else TimedLoader(self, loader)

    def steps(self, loader: Iterable[T]) -> Iterator[T]:
        """Iterate over a loader, one step per batch: fetch, begin, body, end."""
        return iter(loader) if self._disabled else self._steps(loader)

    def _steps(self, loader: Iterable[T]) -> Iterator[T]:
        batches = TimedLoader(self, loader)
        for batch in batches:
            self._stepping = batches
            self.begin_step()
            try:
                yield batch
            except GeneratorExit:
                if self._stepping is batches:  # else it was closed long after its step
                    self._abandoned()
                raise
            self.end_step()


class PhaseBlock:
    """A reusable, re-entrant block of one phase."""

    __slots__ = ("_recorder", "key")

    def __init__(self, recorder: Recorder, key: Open) -> None:
        self._recorder = recorder
        self.key = key

    def __enter__(self) -> None:
        self._recorder._open_block(self)  # noqa: SLF001  # one object in two classes

    def __exit__(self, *_exc: object) -> None:
        self._recorder._close_block()  # noqa: SLF001  # as above


class NamedBlock(PhaseBlock):
    """A block that ends at the latest when nothing holds it any more.

    Ctrl-C at the very entry of `__exit__` would leave a block open for good.
    """

    __slots__ = ("_entered",)

    def __init__(self, recorder: Recorder, key: Open) -> None:
        self._recorder = recorder
        self.key = key
        self._entered = 0

    def __enter__(self) -> None:
        self._entered += 1
        self._recorder._open_block(self)  # noqa: SLF001  # one object in two classes

    def __exit__(self, *_exc: object) -> None:
        self._recorder._close_block()  # noqa: SLF001  # as above
        self._entered -= 1

    def __del__(self) -> None:
        while getattr(self, "_entered", 0):  # torch.compile makes some that were never set up
            self.__exit__()


class StepBlock:
    """A reusable block of one step or micro-batch."""

    __slots__ = ("_recorder", "_update")

    def __init__(self, recorder: Recorder, *, update: bool) -> None:
        self._recorder = recorder
        self._update = update

    def __enter__(self) -> None:
        self._recorder._stepping = None  # noqa: SLF001  # one object in two classes
        self._recorder.begin_step()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if error is None or kind is GeneratorExit:
            self._recorder.end_step(self._update)
        else:
            self._recorder._failed(error)  # noqa: SLF001  # one object in two classes


class TimedLoader(Generic[T]):
    """A loader whose fetches are `data` blocks; everything else is the loader's."""

    __slots__ = ("_iterator", "_loader", "_recorder")

    def __init__(self, recorder: Recorder, loader: Iterable[T]) -> None:
        self._recorder = recorder
        self._loader = loader
        self._iterator: TimedIterator[T] | None = None

    def __iter__(self) -> Iterator[T]:
        return TimedIterator(self._recorder, self._loader)

    def __next__(self) -> T:
        if self._iterator is None:
            self._iterator = TimedIterator(self._recorder, self._loader)
        return next(self._iterator)

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]  # raises TypeError as the loader does

    def __bool__(self) -> bool:
        return bool(self._loader)

    def __contains__(self, item: object) -> bool:
        return item in self._loader  # type: ignore[operator]  # raises as the loader does

    def __getitem__(self, item: Any) -> Any:
        return self._loader[item]  # type: ignore[index]  # raises as the loader does

    def __getattr__(self, name: str) -> Any:
        if name in TimedLoader.__slots__:  # a copy in the making asks before they are set
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = name in TimedLoader.__slots__
        (object.__setattr__ if own else setattr)(self if own else self._loader, name, value)


class TimedIterator(Generic[T]):
    """An iterator whose making and fetches are `data` blocks."""

    __slots__ = ("_block", "_fetch", "_recorder")

    def __init__(self, recorder: Recorder, loader: Iterable[T]) -> None:
        self._recorder = recorder
        self._block = block = recorder._fetch  # noqa: SLF001  # one object in two classes
        with block:
            self._fetch = iter(loader).__next__

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        recorder = self._recorder
        recorder._open_block(self._block)  # noqa: SLF001  # the hot path of every fetch
        try:
            batch = self._fetch()
        except BaseException:
            recorder._close_block(exhausted=True)  # noqa: SLF001  # as above
            raise
        recorder._close_block()  # noqa: SLF001  # as above
        return batch
