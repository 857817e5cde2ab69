"""`Column`: one value a step, carried by an analysis and left out of JSON."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
import numpy.typing as npt


def _read_only(values: npt.ArrayLike) -> npt.NDArray[Any]:
    array = np.asarray(values).view()
    array.flags.writeable = False
    return array


@attrs.frozen(eq=False, repr=False)
class Column:
    """An array for rules to compute with; numpy takes it as an array.

    Attributes:
        values: The array, read-only; for columns of steps, one value a row.
        omit_from_json: Tells the JSON document, which knows no analysis
            types, to leave such a field out.
    """

    values: npt.NDArray[Any] = attrs.field(converter=_read_only)
    omit_from_json: ClassVar[bool] = True

    def __len__(self) -> int:
        """Number of values."""
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The values, as numpy asks for them."""
        if dtype is None and not copy:
            return self.values
        return np.array(self.values, dtype=dtype)

    def __repr__(self) -> str:
        return f"Column({len(self)} values)"
