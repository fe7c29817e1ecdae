"""`foretrace attention`: profile the attention variants at one shape and compare them."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foretrace.capture.recording import prepare_folder
from foretrace.errors import UsageError
from foretrace.report.progress import counting_progress

if TYPE_CHECKING:
    from foretrace.predictions import Outcome
    from foretrace.report.comparison import Comparison

__all__ = ["command"]


@click.command(name="attention")
@click.option("--batch", "-b", type=int, help="Batch size.")
@click.option("--heads", type=int, help="Query heads.")
@click.option("--kv-heads", type=int, help="Key and value heads; fewer than --heads is GQA. [default: --heads]")
@click.option("--length", "--seq", "-l", type=int, help="Query length; 1 with a --kv-length is decoding.")
@click.option("--kv-length", type=int, help="Key and value length. [default: --length]")
@click.option("--head-dim", "-d", type=int, help="Size of a head.")
@click.option("--dtype", help="bf16, fp16, fp32, fp64, or torch's own names.")
@click.option("--causal/--no-causal", default=True, show_default=True, help="Causal attention.")
@click.option(
    "--mask",
    default="none",
    show_default=True,
    help="Kind of mask tensor: none, bool, float, padding, window, alibi. Causality is then part of it.",
)
@click.option("--training", is_flag=True, help="Forward and backward, instead of forward without gradients.")
@click.option("--device", help="cpu, cuda, cuda:1. [default: the GPU, if there is one]")
@click.option("--variants", metavar="A,B,...", help="Only these variants.")
@click.option(
    "--variant",
    "own",
    multiple=True,
    metavar="MODULE:CALLABLE",
    help="Your own besides, called with q, k, v and what it takes of attn_mask (or mask), is_causal (or causal), "
    "scale, enable_gqa. May be repeated.",
)
@click.option("--steps", type=int, default=5, show_default=True, help="Steps to record, at least 3.")
@click.option(
    "--warmup",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Calls before measuring, at least; more until times settle.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where traces, attention.json and report.html go. [default: attention-DEVICE, with a number if it exists; "
    "of a recording only the report is written, and only with -o]",
)
@click.option("--force", is_flag=True, help="Write into -o DIR although it is not empty.")
@click.option("--replay", metavar="NAME|DIR", help="Read a recording instead of running: h200, or a folder of traces.")
@click.option("--why", is_flag=True, help="Say what keeps each SDPA backend from this call, by the dispatch rules.")
@click.option("--guess", is_flag=True, help="Ask for your guesses first, then show the table against them.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
def command(*, replay: str | None, why: bool, guess: bool, as_json: bool, **options: Any) -> None:
    """Profile attention variants at one shape: what ran, how many kernels, how long, how right.

    Sizes that are not given default to B 8, H 16, L 1024, D 64 in bf16 on a GPU, and to B 1, H 8, L 512, D 64 in
    fp32 on a CPU.
    """
    from foretrace import api  # noqa: PLC0415 - `--help` needs none of it

    output = options.pop("output")
    if replay is not None:
        _refuse_with_replay(options)
        found = api.attention(replay=replay, training=options["training"])
        if output is not None:
            prepare_folder(output, force=options["force"])
    else:
        names = options.pop("variants")
        chosen = None if names is None else [name.strip() for name in names.split(",") if name.strip()]
        output = output or _free_folder(options["device"])
        # What a variant of the user's own prints must not end up inside the JSON.
        with counting_progress("attention") as progress, redirect_stdout(sys.stderr) if as_json else nullcontext():
            found = api.attention(variants=chosen, output=output, progress=progress, **options)
    guesses = _guesses(found) if guess else {}
    page = _write_page(found, output)
    if as_json:
        from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for

        told = {name: [outcome.to_json() for outcome in outcomes] for name, outcomes in guesses.items()}
        print_json(found.to_json() | ({"guesses": told} if guess else {}))
        return
    from foretrace.report.comparison_text import print_comparison  # noqa: PLC0415 - rich is for people

    print_comparison(None, found, page, why=why)
    if guess:
        from foretrace.report.console import console  # noqa: PLC0415 - rich is for people
        from foretrace.report.guess_text import print_guesses  # noqa: PLC0415 - the same

        print_guesses(console(), guesses)


def _guesses(found: Comparison) -> dict[str, list[Outcome]]:
    """What became of the guesses, by variant; they are asked for before anything is shown."""
    from foretrace.cli.guessing import ask_guesses  # noqa: PLC0415 - few guess
    from foretrace.predictions import check  # noqa: PLC0415 - the same

    guesses = ask_guesses(found.rows)
    return {
        row.name: check(row.reading.trace, *guesses[row.name])
        for row in found.rows
        if row.reading is not None and row.name in guesses
    }


def _write_page(found: Comparison, folder: Path | None) -> Path | None:
    """The page, beside the traces; None where nothing ran or no folder was given."""
    if folder is None or not found.names:
        return None
    from foretrace.report.html import report  # noqa: PLC0415 - Bokeh

    return report(found, folder / "report.html")


def _refuse_with_replay(options: dict[str, Any]) -> None:
    """A recording is of one shape: asking for another beside it is a mistake worth a sentence."""
    for word in ("batch", "heads", "kv_heads", "length", "kv_length", "head_dim", "dtype", "device", "own"):
        if options[word]:
            flag = {"own": "variant"}.get(word, word.replace("_", "-"))
            raise UsageError(f"--{flag} has no effect on a recording; leave it out, or leave out --replay.")


def _free_folder(device: str | None) -> Path:
    """A folder in the working directory that is named for the device and does not exist yet."""
    from foretrace.capture.device import choose_device, describe_device  # noqa: PLC0415 - imports torch

    name = describe_device(choose_device(device)).name if choose_device(device).type != "cpu" else "cpu"
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower().removeprefix("nvidia ")).strip("-") or "device"
    folder, number = Path(f"attention-{slug}"), 1
    while folder.exists():
        number += 1
        folder = Path(f"attention-{slug}-{number}")
    return folder
