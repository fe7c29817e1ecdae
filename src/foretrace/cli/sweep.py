"""`foretrace sweep`: variants at many shapes, and what came of it."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foretrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foretrace.sweep.run import Progress

__all__ = ["command"]

_AXES = (
    "batch", "heads", "kv_heads", "length", "kv_length", "head_dim", "dtype", "causal", "mask", "training",
)  # fmt: skip
_WIDE = 120  # columns from which the name of the case fits beside the bar
_EVERY_S = 30.0  # between lines of progress where nobody watches a bar


@click.group(name="sweep", invoke_without_command=True)
@click.option("--batch", "-b", metavar="VALUES", help="Batch sizes: 1,8 or a range, 1:64:x2 or 8:64:+8.")
@click.option("--heads", metavar="VALUES", help="Query heads.")
@click.option("--kv-heads", metavar="VALUES", help="Key and value heads. [default: as many as heads]")
@click.option("--length", "--seq", "-l", metavar="VALUES", help="Query lengths, e.g. 512:16384:x2.")
@click.option("--kv-length", metavar="VALUES", help="Key and value lengths. [default: as long as queries]")
@click.option("--head-dim", "-d", metavar="VALUES", help="Sizes of a head.")
@click.option("--dtype", metavar="VALUES", help="bf16,fp16,fp32,fp64.")
@click.option("--causal", metavar="yes,no", help="Causal attention. [default: yes]")
@click.option("--mask", metavar="KINDS", help="Kinds of mask tensor: none, bool, float, padding, window, alibi.")
@click.option("--mode", "training", metavar="forward,training", help="Forward, or forward and backward.")
@click.option("--cases", type=click.Path(path_type=Path), metavar="FILE", help="Cases from a .toml or a .csv file.")
@click.option("--variants", metavar="A,B,...", help="[default: auto,math,efficient,flash,cudnn]")
@click.option("--variant", "own", multiple=True, metavar="MODULE:CALLABLE", help="Your own besides. May be repeated.")
@click.option("--device", help="cpu, cuda, cuda:1. [default: every GPU that is here]")
@click.option("--workers", type=int, help="Worker processes. [default: one a GPU; one on a CPU]")
@click.option("--threads", type=int, help="Threads of a worker on a CPU. [default: the CPUs over the workers]")
@click.option("--ray", metavar="auto|ADDRESS", help="Let a Ray cluster carry out the cases; local makes one here.")
@click.option(
    "--traces",
    type=click.Choice(["all", "winners", "none"]),
    default="none",
    show_default=True,
    help="Of which variants of a case to keep a trace; of winners, auto's is kept too.",
)
@click.option(
    "--limit", type=float, default=120.0, show_default=True, help="Seconds that a variant may take at a case."
)
@click.option("--seconds", type=float, default=2.0, show_default=True, help="Seconds of repeating a case, at most.")
@click.option("--spread", default="1%", show_default=True, help="Spread that is small enough to stop repeating.")
@click.option("--budget", type=float, metavar="SECONDS", help="Begin no further case after this time.")
@click.option("--retry", is_flag=True, help="Measure again what failed before.")
@click.option("--samples", is_flag=True, help="Keep every run's time in the rows.")
@click.option("-o", "--output", metavar="DIR|URL", help="Where the rows go; what is there already is not redone.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
@click.pass_context
def command(ctx: click.Context, /, *, output: str | None, as_json: bool, **options: Any) -> None:
    """Measure attention variants at every combination of the given sizes.

    Rows are appended to -o DIR as they come. Stop it, and the same command goes on where it was; so does one that
    says nothing but -o DIR.

    \b
    foretrace sweep --batch 1,8 --seq 512:16384:x2 --head-dim 64,128 -o my-sweep
    foretrace sweep show my-sweep
    """  # noqa: D301 - click's mark for a paragraph that is not wrapped
    if ctx.invoked_subcommand is not None:
        return
    if output is None:
        raise UsageError("where should the rows go? Give -o DIR, or see --help.")
    from foretrace.sweep.run import sweep  # noqa: PLC0415 - `--help` needs none of it

    chosen = {name: options.pop(name) for name in _AXES}
    names = options.pop("variants")
    try:
        with _progress() as progress:
            found = sweep(
                output,
                variants=None if names is None else [name.strip() for name in names.split(",") if name.strip()],
                spread=_share(options.pop("spread")),
                progress=progress,
                note=lambda sentence: click.echo(f"foretrace: {sentence}", err=True),
                **options,
                **chosen,
            )
    except KeyboardInterrupt:
        click.echo(f"\nWhat is measured is in {output}; the same command goes on from there.", err=True)
        raise click.Abort from None
    _show(found, as_json=as_json)


@command.command(name="show")
@click.argument("sweep", metavar="DIR|URL|NAME")
@click.option("--cases", is_flag=True, help="Every case: who is fastest, by how much, what the default loses.")
@click.option("--flips", is_flag=True, help="Everywhere the winner flips as one size grows.")
@click.option("--failures", is_flag=True, help="Every failure by reason.")
@click.option("--csv", "csv_path", type=click.Path(path_type=Path), metavar="FILE", help="Write the rows as CSV.")
@click.option("--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="Write a page, with heat maps.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
def show(*, sweep: str, csv_path: Path | None, page: Path | None, as_json: bool, **views: bool) -> None:
    """Say what came of a sweep: who wins where, by how much, and what PyTorch's own choice loses.

    DIR is the -o folder of a sweep, or h200: the one that comes with foretrace.
    """
    from foretrace.sweep.results import load_sweep, no_collection  # noqa: PLC0415 - `--help` needs none of it

    with no_collection():
        found = load_sweep(sweep)
        if csv_path is not None:
            try:
                found.table.to_csv(csv_path)
            except OSError as error:
                raise UsageError(f"{csv_path} cannot be written: {error.strerror}.") from error
            click.echo(f"wrote {csv_path}", err=True)
        if page is not None:
            from foretrace.report.html import report  # noqa: PLC0415 - only where a page is asked for

            report(found, page)
            click.echo(f"wrote {page}", err=True)
        _show(found, as_json=as_json, **views)


def _show(found: Any, *, as_json: bool, **views: bool) -> None:
    if as_json:
        from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for

        print_json(found.to_json())
        return
    from foretrace.report.sweep_text import Views, print_sweep  # noqa: PLC0415 - rich is for people

    print_sweep(None, found, Views(**views))


def _share(text: str) -> float:
    """``1%`` or ``0.01``. Raises ``UsageError``."""
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise UsageError(f"--spread is {text!r}; give a share such as 1% or 0.01.") from None


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """On a terminal a bar with an estimate on standard error; elsewhere a line every half minute."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console  # noqa: PLC0415 - rich is for people
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = [TextColumn(" sweep"), BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.description}")]
    out = Console(stderr=True)
    with Bar(*columns, console=out, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(now: Progress) -> None:
            failed = f", {now.failed:,} failed" if now.failed else ""
            bar.update(
                task,
                description=f"cases  {_left(now)}  {now.rows:,} rows{failed}"
                + (f"  {now.last}" if out.width >= _WIDE else ""),
                total=now.cases,
                completed=now.done,
            )

        yield tell


class _Lines:
    """Progress in a log."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    def __call__(self, now: Progress) -> None:
        first = now.rows == 0 and now.done == now.resumed
        if first and now.resumed:
            click.echo(f"foretrace: {now.resumed:,} of {now.cases:,} cases are done already.", err=True)
        if first or time.monotonic() - self._said < _EVERY_S:
            return
        self._said = time.monotonic()
        click.echo(f"foretrace: {now.done:,} of {now.cases:,} cases, {now.rows:,} rows; {_left(now)}", err=True)


def _left(now: Progress) -> str:
    if now.left_s is None:
        return "estimating"
    minutes, seconds = divmod(round(now.left_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"about {hours} h {minutes:02} min left" if hours else f"about {minutes}:{seconds:02} left"
