"""What the blocks of a step were, decided when the step is over.

Instrumentation sees edges: a fetch, a forward pass, a backward pass, an
optimizer step. `name_step` turns the keys it wrote (`pytscope_torch.stamps`), with
the placeholders that `unfold` put before each block, into keys that `pytscope.tile`
knows, one for one.

- A *round* is a fetch and what follows it up to the next fetch. It trained if
  a backward pass was in it, or a forward pass and an optimizer step, or if a
  framework told so of its forward pass; a backward
  pass whose round has no forward pass belongs to the last round that has one
  (a loop that fetches ahead).
- A round with forward passes that did not train was evaluation, its fetch and
  the time between them too.
- Time from a forward pass to its backward pass is `loss`; where no forward pass
  was seen, the time from the fetch to the backward pass is `compute`.
- Anything else between blocks is `other`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytscope.recording.keys import (
    BEGIN,
    EXHAUSTED,
    FAIL,
    FETCH,
    MICRO,
    START,
    Open,
    is_close,
    is_end,
)
from pytscope_torch.stamps import (
    BACKWARD,
    BROKE,
    CREATE,
    EVALUATE,
    FORWARD,
    GAP,
    OPENED,
    OPTIMIZER,
    PASSES,
    SLOT,
    TRAINS,
)

NOTHING = START
"""A key that cuts the wall and names nothing."""
EVAL = Open("eval")
PLACEHOLDERS = (GAP, SLOT, BROKE, TRAINS)
FETCHES = (FETCH, CREATE)


def unfold(keys: Sequence[object]) -> tuple[list[object], list[int]]:
    """Keys with placeholders, and of which of the keys each comes.

    They are in front of each block, and behind a backward pass that came to its end.
    """
    out: list[object] = []
    places: list[int] = []
    opened: list[object] = []
    for place, key in enumerate(keys):
        some = [GAP, SLOT, key] if key in OPENED else [key]
        if isinstance(key, Open):
            opened.append(key)
        elif is_close(key) and opened and opened.pop() is BACKWARD:
            some += [] if BROKE in keys[place + 1 : place + 2] else [SLOT]
        out += some
        places += [place] * len(some)
    return out, places


def name_step(keys: Sequence[object]) -> list[object]:
    """Name the placeholders of one step, or of the beginning of one."""
    out = list(keys)
    over = bool(keys) and is_end(keys[-1])
    waiting: list[tuple[str, list[Item], bool]] = [("other", items_of(keys), True)]
    for name, items, counted in waiting:  # grows: blocks inside blocks
        Level(name, items, out, over=over).settle(counted=counted)
        for item in items:
            opened = out[item.place]
            if isinstance(opened, Open) and item.inner:
                waiting.append((opened.name, item.inner, item.key is not BACKWARD))
    if BEGIN in keys and out.count(BEGIN) > keys.count(BEGIN):  # begun by hand as well
        out = [NOTHING if key is BEGIN else made for key, made in zip(keys, out, strict=True)]
    return out


class Item:
    """A block or a placeholder.

    Attributes:
        key: Its key; of a block the one that opens it.
        place: Where that key is.
        found: Whether a fetch found a batch.
        inner: What is inside a block.
        evaluation: Whether it turned out to be part of an evaluation.
    """

    __slots__ = ("evaluation", "found", "inner", "key", "place")

    def __init__(self, key: object, place: int) -> None:
        self.key = key
        self.place = place
        self.found = True
        self.inner: list[Item] = []
        self.evaluation = key is EVALUATE

    def holds(self, *keys: object) -> bool:
        """Whether the block is one of these, or has one inside."""
        return self.key in keys or any(item.holds(*keys) for item in self.inner)

    @property
    def telling(self) -> bool:
        """Whether it tells where in its round the loop is."""
        return self.holds(*FETCHES, *PASSES, BACKWARD, OPTIMIZER)


def items_of(keys: Iterable[object]) -> list[Item]:
    """Blocks and placeholders, nested as they are.

    A block that was opened in an earlier step and closes here is passed over:
    what was in it and what follows it are on one level.
    """
    top: list[Item] = []
    opened: list[Item] = []
    for place, key in enumerate(keys):
        if isinstance(key, Open):
            item = Item(key, place)
            (opened[-1].inner if opened else top).append(item)
            opened.append(item)
        elif is_close(key):
            if opened:
                opened.pop().found = key is not EXHAUSTED
        elif key in PLACEHOLDERS:
            (opened[-1].inner if opened else top).append(Item(key, place))
    return top


class Round:
    """A fetch and what follows it up to the next one; the first may have no fetch.

    Attributes:
        items: The fetch, and what follows it.
        trained: Whether it trained.
        evaluated: Whether it was evaluation.
    """

    __slots__ = ("evaluated", "items", "trained")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.trained = False
        self.evaluated = False

    def holds(self, *keys: object) -> bool:
        """Whether one of these blocks is in it, at any depth."""
        return any(item.holds(*keys) for item in self.items)

    @property
    def bare(self) -> bool:
        """Whether it is a fetch and nothing that tells what for."""
        return not self.holds(*PASSES, BACKWARD, OPTIMIZER)

    @property
    def found(self) -> bool:
        """Whether its fetch found a batch."""
        return all(item.found for item in self.items if item.key in FETCHES)


def rounds_of(items: Iterable[Item]) -> list[Round]:
    """Cut a level before each fetch that found a batch, and after each that found none."""
    rounds = [Round()]
    for item in items:
        if item.key in FETCHES and item.found:
            rounds.append(Round())
        rounds[-1].items.append(item)
        if not item.found:
            rounds.append(Round())
    return rounds


class Level:
    """The blocks side by side in one place, and what is between them.

    Args:
        name: What unnamed time on the level is.
        items: What is on it.
        out: The step's keys, to be renamed in place.
        over: Whether the step is over.
    """

    __slots__ = ("_items", "_name", "_out", "_over")

    def __init__(self, name: str, items: list[Item], out: list[object], *, over: bool) -> None:
        self._name = name
        self._items = items
        self._out = out
        self._over = over

    def settle(self, *, counted: bool) -> None:
        """Name everything on the level.

        Args:
            counted: Whether its passes make micro-batches: not those of a backward pass.
        """
        judge(rounds := rounds_of(self._items), over=self._over)
        for this in rounds:
            for item in this.items:
                if this.evaluated:
                    item.evaluation |= item.key in FETCHES or item.key is FORWARD
                elif self._name == "eval" and not this.trained:
                    item.evaluation |= item.key in FETCHES  # a fetch inside of a fetch
        for item in self._items:
            if item.evaluation:
                self._out[item.place] = EVAL
            elif item.key is SLOT or item.key is TRAINS:
                self._out[item.place] = NOTHING
            elif item.key is BROKE:
                self._out[item.place] = FAIL
        self._gaps()
        if counted:
            self._micro_batches()

    def _gaps(self) -> None:
        """Name each gap by the telling blocks on both sides of it."""
        after: list[Item | None] = []
        following: Item | None = None
        for item in reversed(self._items):
            after.append(following)
            following = item if item.telling else following
        before: Item | None = None
        passed = False
        for item, follows in zip(self._items, reversed(after), strict=True):
            if item.key is GAP:
                self._out[item.place] = self._gap(before, follows, passed=passed)
            elif item.telling:
                before = item
                if item.key is FORWARD and not item.evaluation:
                    passed = True
                elif item.holds(OPTIMIZER) or (item.key is BACKWARD and not _again(follows)):
                    passed = False
            elif item.key is BROKE:
                passed = False

    def _gap(self, before: Item | None, follows: Item | None, *, passed: bool) -> str:
        if before is not None and before.evaluation and follows is not None and follows.evaluation:
            return "eval"
        if follows is None or follows.evaluation:
            return self._name
        if passed and follows.key in (BACKWARD, FORWARD, *FETCHES):
            return "loss"
        if follows.key is BACKWARD and before is not None and self._name == "other":
            return "compute"
        return self._name

    def _micro_batches(self) -> None:
        """Place the begin of each micro-batch, and the end of each but the last.

        A micro-batch is forward passes and their backward passes. What follows
        an optimizer step, or is inside of one, is not a micro-batch more.
        """
        slot: Item | None = None
        ending: Item | None = None
        begun = backward = stepped = False
        for item in self._items:
            if item.key is SLOT:
                slot = item
                ending = ending or (item if backward else None)
            elif item.key is not FORWARD and item.inner and item.holds(TRAINS):
                if backward and ending is not None and not stepped:  # what it holds is one more
                    self._out[ending.place] = MICRO
                begun, backward, ending, stepped = False, False, None, item.holds(OPTIMIZER)
            elif item.key is OPTIMIZER:
                stepped = True
            elif item.key is BACKWARD or (item.key is FORWARD and not item.evaluation):
                another = item.key is FORWARD and backward and not stepped and ending
                if slot is not None and (another or not begun):
                    if another and ending is not None and self._name != "optimizer":
                        self._out[ending.place] = MICRO
                        begun = False
                    if not begun:
                        self._out[slot.place] = BEGIN
                    begun, backward, ending, stepped = True, False, None, False
                backward |= item.key is BACKWARD


def _again(follows: Item | None) -> bool:
    """Whether another backward pass follows: of a second loss, of the same forward pass."""
    return follows is not None and follows.key is BACKWARD


def judge(rounds: Sequence[Round], *, over: bool) -> None:
    """Decide which rounds trained and which were evaluation.

    Args:
        rounds: All of one level, in order.
        over: Whether the step is over; else the last round may still train.
    """
    for at, this in enumerate(rounds):
        if this.holds(BACKWARD):
            this.trained = True
            if not this.holds(FORWARD):
                _fetched_ahead(rounds[:at])
        elif this.holds(FORWARD) and this.holds(OPTIMIZER, BROKE, TRAINS):
            this.trained = True
    for this in rounds:
        ended = over or this is not rounds[-1] or this.holds(EVALUATE)
        this.evaluated = ended and not this.trained and this.holds(FORWARD, EVALUATE)
    _judge_bare(rounds)


def _fetched_ahead(earlier: Sequence[Round]) -> None:
    """A backward pass without a forward pass is that of the last round with one."""
    for this in reversed(earlier):
        if this.holds(FORWARD):
            this.trained = True
            return


def _judge_bare(rounds: Sequence[Round]) -> None:
    """A bare fetch goes with the round after it, one that found nothing with the one before."""
    following = False
    for this in reversed(rounds):
        if not this.bare:
            following = this.evaluated
        elif this.found:
            this.evaluated = following
    before = False
    for this in rounds:
        if this.bare and not this.found:
            this.evaluated = before
        before = this.evaluated
