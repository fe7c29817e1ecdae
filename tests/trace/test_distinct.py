"""Sets of numbers, against Python's own; and what reading loads."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrace.trace.distinct import both, distinct, either, is_among, without

RECORDINGS = Path(__file__).parents[1] / "recordings" / "h200"
NUMBERS = st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)), max_size=30)


@given(NUMBERS, NUMBERS)
def test_sets_of_numbers_are_those_of_python(one, other):
    first, second = np.array(one, np.int64), np.array(other, np.int64)
    assert distinct(first).tolist() == sorted(set(one))
    assert either(first, second).tolist() == sorted({*one, *other})
    assert both(first, second).tolist() == sorted({*one} & {*other})
    assert without(first, second).tolist() == sorted({*one} - {*other})
    assert is_among(first, second).tolist() == [value in other for value in one]
    assert is_among(first, other).tolist() == [value in other for value in one]


def test_distinct_values_keep_their_kind_and_may_lie_in_any_shape():
    assert distinct(np.array([[3, 1], [1, 3]], np.uint8)).tolist() == [1, 3]
    assert distinct(np.array([3, 1], np.uint8)).dtype == np.uint8


@pytest.mark.parametrize("name", ["m_llama_eager", "p3_sdpa_math", "x_item_sync"])
def test_reading_loads_no_more_than_it_needs(name):
    code = (
        "import sys; from foretrace.cli import main\n"
        "try: main()\n"
        "finally: print(sorted({'numpy.ma', 'statistics', 'html', 'tomllib', 'rich', 'torch'} & set(sys.modules)))"
    )
    trace = str(RECORDINGS / f"{name}.json.gz")
    ended = subprocess.run(
        [sys.executable, "-c", code, "read", trace, "--json"], capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines()[-1] == "[]"
