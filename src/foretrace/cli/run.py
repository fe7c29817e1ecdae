"""`foretrace run`: a trace of your own code, recorded properly and read at once."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foretrace.errors import CaptureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.capture.profile import profile

__all__ = ["command"]


@click.command(name="run", context_settings={"allow_interspersed_args": False})
@click.argument("target", metavar="SCRIPT | MODULE:CALLABLE")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    help="Steps to record: of a callable one call each [default: 5]; of a script what an optimizer's step() ends "
    "[default: the whole script is one window].",
)
@click.option(
    "--warmup",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Steps or calls before recording; a callable is called on until its times settle.",
)
@click.option("--device", help="cpu leaves the GPU out. [default: whatever is here]")
@click.option("--stack", is_flag=True, help="Record Python frames and nn.Modules too; slows the CPU side.")
@click.option("--memory", is_flag=True, help="Record allocations too.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the trace goes, .json or .json.gz. [default: NAME.json.gz, with a number if it exists]",
)
@click.option("--force", is_flag=True, help="Overwrite -o FILE.")
@click.option("--json", "as_json", is_flag=True, help="The reading as JSON; what the script prints goes to stderr.")
def command(
    *,
    target: str,
    arguments: tuple[str, ...],
    steps: int | None,
    warmup: int,
    device: str | None,
    stack: bool,
    memory: bool,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Record a trace of SCRIPT with its ARGS, or of MODULE:CALLABLE, and read it.

    A callable is called without arguments, once a step; if its first call returns a callable, that one is recorded
    in its place, so that setting up stays outside. Options of foretrace stand before SCRIPT.
    """
    from foretrace.capture.target import is_target  # noqa: PLC0415 - `--help` needs none of it

    callable_given = is_target(target) and not Path(target).is_file()
    path = _output(output, target, force=force)
    words: dict[str, Any] = {"path": path, "device": device, "with_stack": stack, "profile_memory": memory}
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        if callable_given:
            if arguments:
                raise UsageError(f"a callable takes no arguments; leave out {' '.join(arguments)!r}.")
            recorded = _record_callable(target, steps=steps or 5, warmup=warmup, **words)
        else:
            from foretrace.capture.script import record_script  # noqa: PLC0415 - imports torch

            recorded = record_script(Path(target), arguments, steps=steps, warmup=warmup, **words)
    _show(recorded, path, as_json=as_json)


def _record_callable(target: str, **words: Any) -> profile:
    from foretrace.capture.profile import profile_callable  # noqa: PLC0415 - imports torch
    from foretrace.capture.target import load_target  # noqa: PLC0415 - the same

    function: Callable[[], Any] = load_target(target)
    try:
        first = function()
        return profile_callable(first if callable(first) else function, **words)
    except CaptureError:
        raise
    except Exception as error:
        line = (str(error).strip().splitlines() or [""])[0]
        raise CaptureError(f"{target} raised {type(error).__name__}: {line}") from error


def _output(output: Path | None, target: str, *, force: bool) -> Path:
    if output is not None:
        if output.exists() and not force:
            raise UsageError(f"{output} exists; give another -o, or --force to overwrite it.")
        return output
    name = target.rpartition(":")[2] if ":" in target else Path(target).stem
    path, number = Path(f"{name}.json.gz"), 1
    while path.exists():
        number += 1
        path = Path(f"{name}-{number}.json.gz")
    return path


def _show(recorded: profile, path: Path, *, as_json: bool) -> None:
    from foretrace.report.data import reading  # noqa: PLC0415 - numpy

    found = reading(recorded.trace)
    if as_json:
        from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for

        print_json(found.to_json())
    else:
        from foretrace.report.console import console  # noqa: PLC0415 - rich is for people
        from foretrace.report.read_text import print_reading  # noqa: PLC0415 - the same

        print_reading(console(), found)
    click.echo(f"wrote {path}", err=True)
