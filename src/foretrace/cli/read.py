"""`foretrace read`: a trace in the terminal, as JSON, or as CSV."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foretrace._version import __version__
from foretrace.cli.opening import open_trace, opening, opening_options
from foretrace.cli.word_list import words_of
from foretrace.trace.folder import load_all, trace_paths
from foretrace.trace.source import members

if TYPE_CHECKING:
    from rich.console import Console

    from foretrace.analysis.modules import ModuleRow
    from foretrace.analysis.roofline.recorded import TraceRoofline
    from foretrace.report.data import Reading

__all__ = ["command", "print_json"]


def print_json(content: Any) -> None:
    """Write plain values to standard output as JSON."""
    import msgspec  # noqa: PLC0415 - only where JSON is asked for

    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(content), indent=1))
    sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


@click.command(name="read")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
@click.option("--kernels", is_flag=True, help="All rows of the kernel table.")
@click.option("--ops", is_flag=True, help="All rows of the op table.")
@click.option("--steps", is_flag=True, help="Every step.")
@click.option("--tree", is_flag=True, help="The op tree of one step, with the kernels under each op.")
@click.option("--modules", is_flag=True, help="Time by nn.Module, where Python stacks were recorded.")
@click.option("--roofline", is_flag=True, help="How far each op is from what the device can do.")
@click.option(
    "--peaks",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Peak rates of devices in TOML, as `foretrace calibrate` writes them.",
)
@click.option("--findings", is_flag=True, help="Every finding in full: what, where, why, what to change.")
@click.option("--all", "everything", is_flag=True, help="Nothing folded: all trust lines, findings, ops of the tree.")
@click.option(
    "--select", multiple=True, callback=words_of, metavar="CODE", help="Ask only these rules (FT101,FT2,hidden-copy)."
)
@click.option("--ignore", multiple=True, callback=words_of, metavar="CODE", help="Do not ask these rules.")
@click.option(
    "--fail-on", multiple=True, callback=words_of, metavar="CODE|any", help="Exit with 1 when such a finding is there."
)
@opening_options
@click.option("--csv", "csv_folder", type=click.Path(path_type=Path), metavar="DIR", help="Write the tables as CSV.")
def command(
    *,
    trace: Path,
    as_json: bool,
    kernels: bool,
    ops: bool,
    steps: bool,
    tree: bool,
    modules: bool,
    roofline: bool,
    peaks: Path | None,
    findings: bool,
    everything: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: tuple[str, ...],
    csv_folder: Path | None,
    **how: Any,
) -> int:
    """Read TRACE: can it be trusted, what is a step, which kernels and ops take the time, what is odd.

    TRACE is a file (plain, gzip, zstd, zip or tar, told by its content), ARCHIVE:MEMBER, - for standard input, or a
    folder or archive with the traces of a job's ranks.
    """
    several = (
        trace_paths(trace) if trace.is_dir() else [Path(name) for name in members(trace)] if trace.is_file() else []
    )
    if len(several) > 1:
        _read_ranks(trace, several, as_json=as_json, how=how)
        return 0
    with opening(trace, **how) as coming:
        # Loaded while the file is read: together they take as long as the slower one.
        from foretrace.cli.fail_on import complain_of, failing_codes  # noqa: PLC0415
        from foretrace.findings.engine import chosen_rules  # noqa: PLC0415
        from foretrace.report.data import reading  # noqa: PLC0415

        if as_json:
            import msgspec  # noqa: F401, PLC0415
        # The rules are loaded by this; words that name none are refused without waiting for the file.
        chosen_rules(select, ignore)
        failing = failing_codes(fail_on)
        loaded = coming.result()
    found = reading(loaded, select=select, ignore=ignore)
    found.prepare()
    if csv_folder is not None:
        for path in found.write_csv(csv_folder):
            click.echo(f"wrote {path}", err=True)
    if as_json:
        print_json(_with_views(found, tree=tree, modules=modules, roof=_roofline(found, peaks) if roofline else None))
    else:
        views = {"kernels": kernels, "ops": ops, "steps": steps, "tree": tree, "modules": modules, "findings": findings}
        _print(found, {name for name, asked in views.items() if asked}, everything=everything, bare=not roofline)
        if roofline:
            from foretrace.report.console import console  # noqa: PLC0415 - rich is for people
            from foretrace.report.roofline_text import print_roofline  # noqa: PLC0415 - the same

            print_roofline(console(), _roofline(found, peaks), **({"limit": None} if everything else {}))
    return complain_of(found.examination, failing)


def _read_ranks(place: Path, paths: list[Path], *, as_json: bool, how: dict[str, Any]) -> None:
    from foretrace.analysis.ranks import ranks  # noqa: PLC0415 - only for folders
    from foretrace.report.data import SCHEMA  # noqa: PLC0415 - the same

    content = load_all(place, paths, lambda path: open_trace(path, **how))
    found = ranks(content.traces)
    if as_json:
        print_json({"schema": SCHEMA, "foretrace": __version__, **found.to_json(), "refused": content.refused})
        return
    from foretrace.report.console import console  # noqa: PLC0415 - rich is for people
    from foretrace.report.ranks_text import print_ranks  # noqa: PLC0415 - the same

    print_ranks(console(), place.name, found, content.refused)


def _chosen_step(found: Reading) -> int | None:
    """The step whose tree is shown: the first that per-step figures are over; None where there are no steps."""
    used = found.timeline.used
    return used[0] if used else None


def _roofline(found: Reading, peaks: Path | None) -> TraceRoofline:
    from foretrace.analysis.roofline.recorded import trace_roofline  # noqa: PLC0415 - a view that few ask for
    from foretrace.names.peaks import read_peaks  # noqa: PLC0415 - the same

    return trace_roofline(found.trace, None if peaks is None else read_peaks(peaks))


def _with_views(found: Reading, *, tree: bool, modules: bool, roof: TraceRoofline | None) -> dict[str, Any]:
    content = found.to_json()
    if roof is not None:
        content["roofline"] = roof.to_json()
    if tree:
        from foretrace.analysis.tree import step_tree  # noqa: PLC0415 - a view that few ask for

        content["tree"] = [node.to_json() for node in step_tree(found.trace, _chosen_step(found))]
    if modules:
        from foretrace.analysis.modules import module_table  # noqa: PLC0415 - a view that few ask for

        content["modules"] = [row.to_json() for row in module_table(found.trace)]
    return content


def _print(found: Reading, views: set[str], *, everything: bool, bare: bool) -> None:
    from foretrace.report import read_text as text  # noqa: PLC0415 - rich is for people
    from foretrace.report.console import console  # noqa: PLC0415 - the same

    out: Console = console()
    if bare and not views:
        text.print_reading(out, found, everything=everything)
        return
    modules: list[ModuleRow] = []
    if "modules" in views:
        from foretrace.analysis.modules import module_table  # noqa: PLC0415 - a view that few ask for

        modules = module_table(found.trace)
    text.print_title(out, found)
    if "steps" in views:
        text.print_steps(out, found)
    if "kernels" in views:
        text.print_kernels(out, found)
    if "ops" in views:
        text.print_ops(out, found)
    if "tree" in views:
        from foretrace.analysis.tree import step_tree  # noqa: PLC0415 - a view that few ask for

        text.print_tree(out, step_tree(found.trace, _chosen_step(found)), everything=everything)
    if modules:
        text.print_modules(out, modules)
    if "findings" in views:
        from foretrace.report.findings_text import print_findings  # noqa: PLC0415 - rich is for people

        print_findings(out, found.examination, per_step=bool(found.timeline.used), everything=everything)
