"""The command line: a click group that loads a command's module only when that command is asked for.

Errors are caught once, here: one sentence on standard error and exit code 2. ``--debug`` shows the traceback.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from contextlib import suppress
from itertools import takewhile
from typing import Any

import click

from foretrace._version import __version__
from foretrace.errors import ForetraceError

__all__ = ["COMMANDS", "cli", "main"]

# Command: (module below foretrace.cli, one line of help). Written down so that listing them imports nothing.
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "Record a trace of your own script or callable, properly, and read it."),
    "attention": ("attention", "Profile attention variants at one shape and compare them."),
    "read": ("read", "Read a trace: trust, steps, kernels, ops."),
    "report": ("report", "Write a trace, or variants side by side, as one HTML page."),
    "open": ("open", "Open a trace in the Perfetto viewer, without uploading it."),
    "share": ("share", "Upload traces to a Hub bucket and print Perfetto links."),
    "rules": ("rules", "List the findings that exist."),
    "explain": ("explain", "Explain one finding, and show it in a trace."),
    "why": ("why", "Say which SDPA backend ran or would run, and why each other one did not."),
    "sweep": ("sweep", "Measure variants at many shapes, on many GPUs, and say who wins where."),
    "check": ("check", "Hold predictions against a trace."),
    "diff": ("diff", "Say what changed between two traces: counts before times."),
    "metrics": ("metrics", "Print every named number of a trace."),
    "calibrate": ("calibrate", "Measure this card's copy bandwidth and matrix rates, for the roofline."),
    "recommend": ("recommend", "Say which attention backend to pin for a shape, by measured evidence."),
    "learn": ("learn", "Guided lessons on recorded traces: guess, then look."),
    "kernel": ("kernel", "Take a kernel name apart, token by token."),
}

EXIT_FAILED = 1
EXIT_COULD_NOT = 2


class _LazyGroup(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"foretrace.cli.{COMMANDS[name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 fine; 1 a prediction missed, or a --fail-on matched; 2 it could not be done.",
)
@click.version_option(__version__, prog_name="foretrace", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(ctx: click.Context, *, debug: bool) -> None:
    """Guess first, then look: what your GPU really did, kernel by kernel."""
    ctx.obj = {"debug": debug}


def _complain(sentence: str) -> None:
    """One line on standard error; a file's or a script's words in it cannot move the cursor."""
    from foretrace.report.escape import plain  # noqa: PLC0415 - only when something went wrong

    click.echo(f"foretrace: {plain(' '.join(sentence.split()))}", err=True)


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit with its code (0 fine, 1 failed a check, 2 could not do it)."""
    words = sys.argv[1:] if args is None else args
    if sys.stdout is None:
        # It was closed by whoever began the program: what would be printed goes nowhere.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - it stays open
    # Only before the command: behind it the words may be those of the user's own script.
    debug = "--debug" in takewhile(lambda word: word.startswith("-"), words)
    try:
        # Not click's own main: it exits with 1, a missed prediction's code, when the reader of a pipe goes away.
        with cli.make_context("foretrace", list(words)) as context:
            code: Any = cli.invoke(context)
        sys.stdout.flush()
    except ForetraceError as error:
        if debug:
            raise
        _complain(str(error))
        sys.exit(EXIT_COULD_NOT)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _complain("stopped.")
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        sys.exit(0)
    except click.ClickException as error:
        if debug:
            raise
        where = getattr(error, "ctx", None)
        hint = f" See {where.command_path} --help." if where else ""
        _complain(error.format_message().rstrip(".") + "." + hint)
        sys.exit(EXIT_COULD_NOT)
    except BrokenPipeError:
        # The reader of our output went away (`| head`); that is no error of anybody's.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        if debug:
            raise
        with suppress(OSError, ValueError):
            # What could not be written must not be tried again at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}.")
        sys.exit(EXIT_COULD_NOT)
    except MemoryError:
        if debug:
            raise
        _complain("this machine's memory does not suffice; give a smaller trace or a machine with more.")
        sys.exit(EXIT_COULD_NOT)
    except Exception as error:
        if debug:
            raise
        _complain(
            f"a fault of foretrace's own ({type(error).__name__}: {error}); run it again with --debug and "
            "report what it prints."
        )
        sys.exit(EXIT_COULD_NOT)
    if args is None:
        # All memory is given back at once when the process ends: the interpreter need not look for cycles in it first.
        gc.freeze()
    sys.exit(code if isinstance(code, int) else 0)
