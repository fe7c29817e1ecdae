"""How many (query, key) pairs an attention has to look at: causal, windows, unequal lengths, counted exactly.

Query i sees key j where ``i + shift - left <= j <= i + shift + right``; a bound that is None is open. ``shift`` is 0
where the diagonal is aligned top-left (``scaled_dot_product_attention``) and Lk - Lq where it is bottom-right (the
flash-attn package). is_causal is ``right = 0``.
"""

from __future__ import annotations

__all__ = ["keys_seen", "pairs"]


def _ramp(first: int, rows: int, most: int) -> int:
    """The sum of min(max(first + i, 0), most) over i from 0 to rows - 1."""
    if rows <= 0 or most <= 0:
        return 0
    start = max(0, -first)  # rows before this one count nothing
    if start >= rows:
        return 0
    first += start
    rows -= start
    rising = min(rows, max(0, most - first))  # rows whose count is below ``most``
    total = rising * first + rising * (rising - 1) // 2
    return total + (rows - rising) * most


def pairs(queries: int, keys: int, *, left: int | None = None, right: int | None = None, bottom: bool = False) -> int:
    """Pairs of one head, exactly.

    Args:
        queries: Lq.
        keys: Lk.
        left: keys before the diagonal that a query sees; None is all.
        right: keys after it; None is all, 0 is causal.
        bottom: the diagonal is aligned bottom-right rather than top-left.
    """
    shift = keys - queries if bottom else 0
    # Keys up to the right bound, less those before the left one.
    upto = queries * keys if right is None else _ramp(shift + right + 1, queries, keys)
    before = 0 if left is None else _ramp(shift - left, queries, keys)
    return max(0, upto - before)


def keys_seen(
    queries: int, keys: int, *, left: int | None = None, right: int | None = None, bottom: bool = False
) -> int:
    """Keys that some query sees: what must be read of K and V."""
    if queries <= 0 or keys <= 0:
        return 0
    shift = keys - queries if bottom else 0
    high = keys if right is None else min(keys, max(0, queries + shift + right))
    low = 0 if left is None else min(keys, max(0, shift - left))
    return max(0, high - low)
