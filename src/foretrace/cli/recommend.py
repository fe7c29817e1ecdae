"""`foretrace recommend`: the backend for one shape, by measured evidence."""

from __future__ import annotations

import re
from typing import Any

import click

from foretrace.errors import UsageError

__all__ = ["command", "parse_shape"]

_SIZE = re.compile(r"(\d+)(?:/(\d+))?")


@click.command(name="recommend")
@click.option("--shape", metavar="B,H,L,D", help="Batch, heads, length, head dim; H/KV for GQA, L/KV for other keys.")
@click.option("--batch", "-b", type=int, help="Batch size.")
@click.option("--heads", type=int, help="Query heads.")
@click.option("--kv-heads", type=int, help="Key and value heads. [default: --heads]")
@click.option("--length", "--seq", "-l", type=int, help="Query length; 1 with a --kv-length is decoding.")
@click.option("--kv-length", type=int, help="Key and value length. [default: --length]")
@click.option("--head-dim", "-d", type=int, help="Size of a head.")
@click.option("--dtype", default="bf16", show_default=True, help="bf16, fp16, fp32, fp64.")
@click.option("--causal/--no-causal", default=True, show_default=True, help="Causal attention.")
@click.option("--mask", default="none", show_default=True, help="none, bool, float, padding, window, alibi.")
@click.option("--training", is_flag=True, help="Forward and backward.")
@click.option("--from", "source", metavar="DIR|URL|NAME", help="A sweep. [default: the one in the package]")
@click.option("--gpu", metavar="NAME", help="Which device of the sweep: H200, or a part of its name.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
def command(*, shape: str | None, as_json: bool, **options: Any) -> None:
    """Say which backend to pin for a shape, or to keep PyTorch's choice, and how sure that is.

    \b
    foretrace recommend --shape 8,16,4096,128
    foretrace recommend --shape 1,32/8,1/16384,128 --from my-sweep
    """  # noqa: D301 - click's mark for a paragraph that is not wrapped
    if shape is not None:
        for name, size in parse_shape(shape).items():
            if options[name] is not None:
                raise UsageError(f"--{name.replace('_', '-')} is in --shape already; give one of the two.")
            options[name] = size
    from foretrace.sweep.recommend import recommend  # noqa: PLC0415 - `--help` needs none of it

    found = recommend(**options)
    if as_json:
        from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for

        print_json(found.to_json())
        return
    from foretrace.report.recommend_text import print_recommendation  # noqa: PLC0415 - rich is for people

    print_recommendation(None, found)


def parse_shape(text: str) -> dict[str, int]:
    """``8,16,1024,64`` or ``1,32/8,1/4096,128`` as sizes by name. Raises ``UsageError``."""
    parts = [_SIZE.fullmatch(part.strip()) for part in text.split(",")]
    names = ("batch", "heads", "length", "head_dim")
    if len(parts) != len(names) or not all(parts):
        raise UsageError(f"--shape is {text!r}; give B,H,L,D, e.g. 8,16,1024,64, or 1,32/8,1/4096,128.")
    sizes: dict[str, int] = {}
    for name, part in zip(names, parts, strict=True):
        if part is None:
            continue
        sizes[name] = int(part[1])
        if part[2] is not None:
            if name not in ("heads", "length"):
                raise UsageError(
                    f"--shape is {text!r}; only heads and length take a second number, for keys and values."
                )
            sizes[f"kv_{name}"] = int(part[2])
    return sizes
