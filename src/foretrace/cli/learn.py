"""`foretrace learn`: guided lessons on recorded traces. Guess, then look."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foretrace.errors import UsageError
from foretrace.report.progress import counting_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foretrace.learn.recorded import Shelf
    from foretrace.learn.registry import Lesson

__all__ = ["command"]

SCHEMA = 1


@click.command(name="learn")
@click.argument("lesson", required=False, metavar="[LESSON]")
@click.option("--answers", is_flag=True, help="Print questions with their answers instead of asking.")
@click.option("--all", "everything", is_flag=True, help="Every lesson, with answers.")
@click.option("--live", is_flag=True, help="Record on this machine's GPU instead, and say where it differs.")
@click.option(
    "--from",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Use recordings that --record made, and say where they differ.",
)
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="DIR", help="Copy the recordings to DIR, to look at them."
)
@click.option(
    "--record",
    "target",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Make the recordings on this machine's GPU: all of them, or those of LESSON.",
)
@click.option("--json", "as_json", is_flag=True, help="The lessons as JSON (schema 1), for courses.")
def command(
    *,
    lesson: str | None,
    answers: bool,
    everything: bool,
    live: bool,
    folder: Path | None,
    save: Path | None,
    target: Path | None,
    as_json: bool,
) -> None:
    """Learn to read a trace by guessing first. Without LESSON, list the lessons.

    A lesson shows code, asks what its trace holds, opens the trace, and explains what you did not expect. It needs no
    GPU: the traces come with foretrace.
    """
    from foretrace.learn.registry import LESSONS, chosen_lesson  # noqa: PLC0415 - `--help` needs none of it

    _refuse_together(live=live, folder=folder, save=save, target=target)
    if lesson is not None and everything:
        raise UsageError("--all is every lesson; leave out the name or --all.")
    chosen = list(LESSONS.values()) if lesson is None else [chosen_lesson(lesson)]
    if target is not None:
        _record(target, None if lesson is None else chosen)
        return
    if save is not None:
        _save(save, chosen)
        return
    if lesson is None and not everything:
        if live or folder is not None:
            raise UsageError("which lesson? Name one, or give --all.")
        _list(chosen, as_json=as_json)
        return
    with _shelf(chosen, live=live, folder=folder) as shelf:
        if as_json:
            _print_json(chosen, shelf)
        else:
            ask = None if answers or everything or not _is_terminal() else _ask
            _teach(chosen, shelf, ask)


def _refuse_together(**given: Any) -> None:
    names = {"live": "--live", "folder": "--from", "save": "--save", "target": "--record"}
    asked = [names[name] for name, value in given.items() if value]
    if len(asked) > 1:
        raise UsageError(f"{asked[0]} and {asked[1]} do not go together; give one of them.")


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(prompt: str) -> str:
    with suppress(ImportError):
        import readline  # noqa: F401, PLC0415 - line editing at the prompt, where there is any
    return input(prompt)


def _list(lessons: list[Lesson], *, as_json: bool) -> None:
    if as_json:
        from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for

        print_json({"schema": SCHEMA, "lessons": [lesson.to_json() for lesson in lessons]})
        return
    from foretrace.learn.recorded import Shelf  # noqa: PLC0415 - not for the list as JSON
    from foretrace.learn.show import print_lessons  # noqa: PLC0415 - rich is for people
    from foretrace.report.console import console  # noqa: PLC0415 - the same

    print_lessons(console(), lessons, Shelf().made_with)


@contextmanager
def _shelf(lessons: Sequence[Lesson], *, live: bool, folder: Path | None) -> Iterator[Shelf]:
    """The recordings to teach from."""
    from foretrace.learn.recorded import Shelf  # noqa: PLC0415 - with the rest

    if not live:
        yield Shelf() if folder is None else Shelf(folder)
        return
    with tempfile.TemporaryDirectory(prefix="foretrace-") as name:
        _record(Path(name), lessons, quiet=True)
        yield Shelf(Path(name))


def _teach(lessons: Sequence[Lesson], shelf: Shelf, ask: Callable[[str], str] | None) -> None:
    from foretrace.learn.recorded import SHIPPED, Shelf  # noqa: PLC0415 - with the rest
    from foretrace.learn.registry import LESSONS  # noqa: PLC0415 - the same
    from foretrace.learn.session import Elsewhere, Leave, hold, tell  # noqa: PLC0415 - rich is for people
    from foretrace.learn.show import print_lesson_title, say  # noqa: PLC0415 - the same
    from foretrace.report.console import console  # noqa: PLC0415 - the same

    out = console()
    shipped = None if shelf.folder == SHIPPED else Shelf()
    for lesson in lessons:
        blocks = lesson.blocks(shelf)
        there = None if shipped is None else Elsewhere.of(shipped.device_name, lesson.blocks(shipped))
        print_lesson_title(out, lesson, len(LESSONS), shelf.made_with)
        if ask is None:
            tell(out, blocks, there)
            continue
        try:
            hold(out, blocks, shelf, ask, there)
        except Leave:
            out.print()
            say(out, f"Left. `foretrace learn {lesson.name}` begins it again.", style="dim", gap=False)


def _print_json(lessons: Sequence[Lesson], shelf: Shelf) -> None:
    from foretrace._version import __version__  # noqa: PLC0415 - with the rest
    from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for
    from foretrace.learn.content import block_json  # noqa: PLC0415 - the same

    print_json(
        {
            "schema": SCHEMA,
            "foretrace": __version__,
            "lessons": [
                {
                    **lesson.to_json(),
                    "made_with": shelf.made_with,
                    "blocks": [block_json(block) for block in lesson.blocks(shelf)],
                }
                for lesson in lessons
            ],
        }
    )


def _save(folder: Path, lessons: Sequence[Lesson]) -> None:
    """Copy recordings out of the package."""
    from foretrace.learn.recorded import ABOUT, SHIPPED  # noqa: PLC0415 - with the rest

    names = dict.fromkeys(name for lesson in lessons for name in lesson.recordings)
    folder.mkdir(parents=True, exist_ok=True)
    files = [*(path for name in names if (path := SHIPPED / f"{name}.json.gz").is_file()), SHIPPED / ABOUT]
    for file in files:
        shutil.copy(file, folder / file.name)
    click.echo(f"copied {len(files) - 1} recordings to {folder}; try: foretrace read {folder / files[0].name}")


def _record(folder: Path, lessons: Sequence[Lesson] | None, *, quiet: bool = False) -> None:
    from foretrace.learn.record import record  # noqa: PLC0415 - imports torch

    names = None if lessons is None else [name for lesson in lessons for name in lesson.recordings]
    with _progress() as progress:
        about = record(folder, names, progress=progress)
    for name, why in about.refused.items():
        click.echo(f"{name} could not be recorded: {why}", err=True)
    if not quiet:
        made = sorted(folder.glob("*.json.gz"))
        size = sum(path.stat().st_size for path in made)
        click.echo(f"{len(made)} recordings in {folder}, {size / 1e6:.2f} MB", err=True)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on standard error; a line for each recording where that is no terminal."""
    with counting_progress("recording") as bar:

        def tell(name: str, done: int, total: int) -> None:
            bar(name, done, total)
            if name and not sys.stderr.isatty():
                click.echo(f"{done + 1} of {total}: {name}", err=True)

        yield tell
