"""Options that take several words: the option again, or commas, as people of other tools write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

__all__ = ["words_of"]


def words_of(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """``("FT101,FT2", "FT301")`` as three words; a word that is empty stays, to be refused by who knows the words."""
    return tuple(word.strip() for value in values for word in value.split(","))
