"""Columns: arrays for rules that cannot be written to."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.analyses import Column
from pytscope.model.jsonable import jsonable


def test_numpy_takes_a_column_as_an_array():
    column = Column([3, 1, 2])
    assert np.median(column) == 2
    assert np.asarray(column, np.float64).dtype == np.float64
    assert len(column) == 3


def test_a_column_is_read_only_and_leaves_its_source_alone():
    source = np.arange(3)
    column = Column(source)
    with pytest.raises(ValueError, match="read-only"):
        column.values[0] = 9
    source[0] = 7
    copy = np.array(column)
    copy[0] = 1
    assert column.values[0] == 7


def test_a_column_shows_its_size_and_stays_out_of_json():
    assert repr(Column([1, 2])) == "Column(2 values)"
    assert jsonable({"a": 1, "each": Column([1, 2])}) == {"a": 1}
