"""The page about the comparison names every variant, option, mask kind and key there is."""

from pathlib import Path

import click

import foretrace
from foretrace.capture.shapes import MASKS
from foretrace.capture.variants import VARIANTS
from foretrace.cli.attention import command

PAGE = (Path(__file__).parents[2] / "docs" / "attention.md").read_text(encoding="utf-8")


def test_every_variant_and_mask_kind_is_described():
    for word in (*VARIANTS, *(kind for kind in MASKS if kind != "none")):
        assert f"`{word}`" in PAGE or f"--mask {word}" in PAGE, word


def test_every_key_of_a_row_is_described():
    row = foretrace.attention(replay="h200").to_json()["variants"][0]
    known = {"variant", "status", "reason", "trace", "findings", "kernels", "memcpys", "memsets"}
    for key in set(row) - known:
        assert f"`{key}`" in PAGE, key


def test_every_option_has_help():
    for option in command.params:
        assert isinstance(option, click.Option)
        assert option.help, option.name
