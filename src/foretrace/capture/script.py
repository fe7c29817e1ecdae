"""Running a script under the profiler, as `python SCRIPT` would run it."""

from __future__ import annotations

import runpy
import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

from foretrace.capture.profile import profile
from foretrace.errors import CaptureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["record_script"]


def record_script(
    script: Path,
    arguments: Sequence[str] = (),
    *,
    path: Path,
    steps: int | None = None,
    warmup: int = 10,
    device: str | None = None,
    with_stack: bool = False,
    profile_memory: bool = False,
) -> profile:
    """Run the script and write its trace to ``path``.

    Without ``steps`` the whole script is one window. With it, every step of an optimizer ends a step: the first
    ``warmup`` pass, ``steps`` are recorded, and the script runs on to its end unrecorded.

    Raises ``UsageError`` where there is no such file, ``CaptureError`` when the script raises, exits with a code
    other than 0, or takes no step; what it had recorded until then is written all the same.
    """
    if not script.is_file():
        raise UsageError(f"no script {script}; give the path of a Python file, or MODULE:CALLABLE.")
    switch_on = min(warmup, 2)
    recorded = profile(
        steps,
        wait=warmup - switch_on,
        warmup=switch_on,
        path=path,
        device=device,
        with_stack=with_stack,
        profile_memory=profile_memory,
    )
    failure: CaptureError | None = None
    with _as_main(script, arguments), _steps_by_optimizer(recorded, on=steps is not None), recorded:
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as stop:
            if stop.code not in (None, 0):
                failure = CaptureError(f"{script} exited with {stop.code!r}")
                failure.__cause__ = stop
        except Exception as error:  # noqa: BLE001 (a stranger's script: whatever it raises is reported as one sentence)
            failure = CaptureError(f"{script} raised {_where(error, script)}")
            failure.__cause__ = error
    if failure is not None:
        kept = f"; what was recorded until then is in {path}." if recorded.written else "; nothing was recorded."
        raise CaptureError(f"{failure}{kept}") from failure.__cause__
    if not recorded.written:
        raise CaptureError(
            f"no step of {script} was recorded: --steps counts the steps of an optimizer, and fewer than "
            f"{recorded.calls_needed} ended; leave --steps out to record the whole script."
        )
    return recorded


def _where(error: Exception, script: Path) -> str:
    """The error's first line, and the line of the script it came through."""
    text = (str(error).strip().splitlines() or [""])[0]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(script)]
    line = f" in line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{line}" + (f": {text}" if text else "")


@contextmanager
def _as_main(script: Path, arguments: Sequence[str]) -> Iterator[None]:
    """The arguments and the import path that a script finds when Python runs it."""
    words, places = sys.argv, list(sys.path)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        yield
    finally:
        sys.argv = words
        sys.path[:] = places


@contextmanager
def _steps_by_optimizer(recorded: profile, *, on: bool) -> Iterator[None]:
    if not on:
        yield
        return
    from torch.optim.optimizer import register_optimizer_step_post_hook

    handle = register_optimizer_step_post_hook(lambda *_: recorded.step())
    try:
        yield
    finally:
        handle.remove()
