"""Pairs and keys of an attention, against counting every one."""

from hypothesis import given
from hypothesis import strategies as st

from foretrace.analysis.roofline.pairs import keys_seen, pairs

BOUND = st.one_of(st.none(), st.integers(0, 9))


@given(st.integers(0, 8), st.integers(0, 8), BOUND, BOUND, st.booleans())
def test_every_pair_is_counted(queries, keys, left, right, bottom):
    shift = keys - queries if bottom else 0
    seen = [
        (i, j)
        for i in range(queries)
        for j in range(keys)
        if (left is None or j >= i + shift - left) and (right is None or j <= i + shift + right)
    ]
    assert pairs(queries, keys, left=left, right=right, bottom=bottom) == len(seen)
    assert keys_seen(queries, keys, left=left, right=right, bottom=bottom) == len({key for _, key in seen})
