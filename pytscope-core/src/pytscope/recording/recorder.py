"""The idle recorder: the whole recording interface, doing nothing.

A recorder that is not recording (before `start`, after `finish`, on a rank
that is not recorded, in a forked child) is of this class; `start` turns it
into one with `LiveMethods` in front, so that the live path tests no flag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from pytscope.recording.collectors import Sampler
    from pytscope.recording.writer import Note, Writer

T = TypeVar("T")


class Recorder:
    """Begin, mark, phase, log and end, as no-ops; and the wrappers built on them."""

    __slots__ = (
        "__weakref__",
        "_clock",
        "_disabled",
        "_error",
        "_events",
        "_micro_step",
        "_notes",
        "_others",
        "_phases",
        "_samplers",
        "_step",
        "_synchronize",
        "_thread",
        "_writer",
    )

    _clock: Callable[[], int]
    _events: list[Any]
    _notes: list[Note]
    _others: dict[int, list[tuple[str, int]]]
    _samplers: tuple[Sampler, ...]
    _synchronize: Callable[[], None]
    _thread: int
    _writer: Writer

    def __init__(self) -> None:
        self._disabled = False
        self._error = 0
        self._phases: dict[str, PhaseBlock] = {}
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
        accelerator are read later, without waiting for it.

        Args:
            loss: Training loss.
            grad_norm: Gradient norm.
            lr: Learning rate.
            tokens: Tokens in this step, on this rank.
            samples: Samples in this step, on this rank.
            **extra: Any other numbers, by name.
        """

    def _open_block(self, block: PhaseBlock) -> None:
        """Stamp the opening of a block."""

    def _close_block(self, *, exhausted: bool = False) -> None:
        """Stamp the end of a block."""

    def _failed(self, error: BaseException) -> None:
        """Stamp an exception that leaves the step."""

    def _ended_by(self, error: BaseException) -> None:
        """Note the exception that ends the recording."""

    def _abandoned(self) -> None:
        """Stamp the closing of `steps()` in mid-step."""

    # --- built on them --------------------------------------------------------

    def phase(self, name: str) -> PhaseBlock:
        """A block of a named phase: `with prof.phase("eval"): …`. Blocks nest."""
        block = self._phases.get(name)
        if block is None:
            block = PhaseBlock(self, name)
            if len(self._phases) < 1024:  # noqa: PLR2004  # names made up per step must not pile up
                self._phases[name] = block
        return block

    def comm(self) -> PhaseBlock:
        """A block of communication, taken out of the phase around it."""
        return self.phase("comm")

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
        return loader if self._disabled else TimedLoader(self, loader)

    def steps(self, loader: Iterable[T]) -> Iterator[T]:
        """Iterate over a loader, one step per batch: fetch, begin, body, end."""
        return iter(loader) if self._disabled else self._steps(loader)

    def _steps(self, loader: Iterable[T]) -> Iterator[T]:
        for batch in TimedLoader(self, loader):
            self.begin_step()
            try:
                yield batch
            except GeneratorExit:
                self._abandoned()
                raise
            self.end_step()


class PhaseBlock:
    """A reusable, re-entrant block of one phase."""

    __slots__ = ("_recorder", "key")

    def __init__(self, recorder: Recorder, name: str) -> None:
        from pytscope.recording.keys import Open

        self._recorder = recorder
        self.key = Open(str(name))

    def __enter__(self) -> None:
        self._recorder._open_block(self)  # noqa: SLF001  # one object in two classes

    def __exit__(self, *_exc: object) -> None:
        self._recorder._close_block()  # noqa: SLF001  # as above


class StepBlock:
    """A reusable block of one step or micro-batch."""

    __slots__ = ("_recorder", "_update")

    def __init__(self, recorder: Recorder, *, update: bool) -> None:
        self._recorder = recorder
        self._update = update

    def __enter__(self) -> None:
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

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class TimedIterator(Generic[T]):
    """An iterator whose making and fetches are `data` blocks."""

    __slots__ = ("_block", "_fetch", "_recorder")

    def __init__(self, recorder: Recorder, loader: Iterable[T]) -> None:
        self._recorder = recorder
        self._block = block = recorder.phase("data")
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
