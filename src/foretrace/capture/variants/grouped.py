"""Grouped-query attention for variants whose matmul wants as many kv heads as query heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["repeated"]


def repeated(heads: Tensor, groups: int) -> Tensor:
    """K or V with each kv head repeated for its query heads, as model code does; itself when there is one each."""
    return heads if groups == 1 else heads.repeat_interleave(groups, dim=1)
