"""`foretrace kernel`: a kernel's name taken apart, and the occupancy of its launch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from foretrace._version import __version__
from foretrace.errors import UsageError
from foretrace.names.decode import Decoded, decode
from foretrace.names.occupancy import Occupancy, occupancy
from foretrace.report.escape import ellipsis, plain

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["command"]

_SCHEMA: Final = 1

# The widest column of pieces; longer ones are cut in their middle.
_PIECE: Final = 32

_UNITS: Final = {
    "tensor_core": "tensor core",
    "cuda_core": "CUDA core",
    "none": "moves data",
    "unknown": "not said",
}


@click.command(name="kernel")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--device", metavar="NAME", help="The device's name, for what the kernel's name leaves to it.")
@click.option("--registers", type=click.IntRange(1, 1024), metavar="N", help="Registers a thread, for occupancy.")
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="Threads a block, for occupancy.")
@click.option("--shared-memory", type=click.IntRange(0), metavar="BYTES", help="Static and dynamic, a block.")
@click.option("--blocks", type=click.IntRange(1), metavar="N", help="Blocks of the grid.")
@click.option("--sms", type=click.IntRange(1), metavar="N", help="Multiprocessors of the device.")
@click.option("--capability", metavar="X.Y", help="Compute capability (8.0 is A100, 9.0 H100 and H200).")
@click.option("--json", "as_json", is_flag=True, help="As JSON (schema 1); several names become a list.")
def command(
    *,
    names: tuple[str, ...],
    device: str | None,
    registers: int | None,
    threads: int | None,
    shared_memory: int | None,
    blocks: int | None,
    sms: int | None,
    capability: str | None,
    as_json: bool,
) -> None:
    """Take the kernel NAME apart: who wrote it, what it computes, in which precision, on which units.

    Quote the name for the shell. A - stands for names on standard input, one a line. With --registers, --threads and
    --capability the occupancy of such a launch is explained too.
    """
    asked = _asked(names)
    launch = _launch(
        registers=registers,
        threads=threads,
        shared_memory=shared_memory,
        blocks=blocks,
        sms=sms,
        capability=capability,
    )
    decoded = [decode(name, device=device) for name in asked]
    if as_json:
        _print_json(decoded, launch)
        return
    from foretrace.report.console import console  # noqa: PLC0415 - rich is for people

    out = console()
    if len(decoded) == 1:
        _print_one(out, decoded[0])
    else:
        _print_many(out, decoded)
    if launch is not None:
        from rich.padding import Padding  # noqa: PLC0415 - the same
        from rich.text import Text  # noqa: PLC0415 - the same

        out.print()
        out.print(Padding(Text(launch.explanation), (0, 0, 0, 1), expand=False))


def _asked(names: tuple[str, ...]) -> list[str]:
    asked: list[str] = []
    for name in names:
        if name == "-":
            lines = sys.stdin.buffer.read().decode("utf-8", "replace").splitlines()
            asked += [line.strip() for line in lines if line.strip()]
        elif name.strip():
            asked.append(name.strip())
    if not asked:
        raise UsageError("there is no kernel name to take apart; give one in quotes, or - and names on standard input.")
    return asked


def _launch(
    *,
    registers: int | None,
    threads: int | None,
    shared_memory: int | None,
    blocks: int | None,
    sms: int | None,
    capability: str | None,
) -> Occupancy | None:
    if registers is None and threads is None and capability is None:
        if shared_memory is not None or blocks is not None or sms is not None:
            raise UsageError("occupancy needs --registers, --threads and --capability as well.")
        return None
    if registers is None or threads is None or capability is None:
        raise UsageError("occupancy needs --registers, --threads and --capability, all three.")
    major, _, minor = capability.partition(".")
    if not (major.isdecimal() and (minor or "0").isdecimal()):
        raise UsageError(f"--capability {plain(capability)!r} is no compute capability; write it like 9.0.")
    found = occupancy(
        registers=registers,
        block_threads=threads,
        shared_memory_bytes=shared_memory or 0,
        grid_blocks=blocks,
        compute_capability=(int(major), int(minor or 0)),
        sms=sms,
    )
    if found is None:
        raise UsageError(
            f"there is no occupancy for this launch: compute capability {plain(capability)} is not in the tables, or "
            "no such block fits an SM."
        )
    return found


def _print_json(decoded: list[Decoded], launch: Occupancy | None) -> None:
    import msgspec  # noqa: PLC0415 - only where JSON is asked for

    content: dict[str, Any] = {"schema": _SCHEMA, "foretrace": __version__}
    if len(decoded) == 1:
        content |= decoded[0].to_json()
    else:
        content["kernels"] = [one.to_json() for one in decoded]
    content["occupancy"] = launch.to_json() if launch is not None else None
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(content), indent=1))
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def _print_one(out: Console, decoded: Decoded) -> None:
    """The sentence, then the name piece by piece."""
    from rich.padding import Padding  # noqa: PLC0415 - rich is for people
    from rich.table import Table as Grid  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    out.print(Padding(Text(plain(decoded.words), style="bold"), (0, 0, 0, 1), expand=False))
    if not decoded.tokens:
        return
    out.print()
    grid = Grid(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    pieces = [ellipsis(plain(token.text), _PIECE) for token in decoded.tokens]
    grid.add_column(no_wrap=True, width=max(map(len, pieces)))
    grid.add_column()
    for piece, token in zip(pieces, decoded.tokens, strict=True):
        grid.add_row(Text(piece, style="cyan"), _meaning(plain(token.meaning), token.fact))
    out.print(Padding(grid, (0, 0, 0, 1), expand=False))


def _meaning(meaning: str, fact: str | None) -> Any:
    """What a piece means; what it proves about the units stands out."""
    from rich.text import Text  # noqa: PLC0415 - rich is for people

    text = Text(meaning)
    if fact is None:
        text.stylize("dim")
    return text


def _print_many(out: Console, decoded: list[Decoded]) -> None:
    """One line a name."""
    from foretrace.report.console import Column, print_grid  # noqa: PLC0415 - rich is for people

    columns = [
        Column("what it is", text=True, least=40),
        Column("units", text=True, least=11),
        Column("library", text=True, least=8, most=18),
        Column("name", text=True, least=16),
    ]
    rows = [(plain(one.short), _UNITS[one.unit], one.library, ellipsis(plain(one.name), 60)) for one in decoded]
    print_grid(out, columns, rows)
