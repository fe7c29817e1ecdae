"""pytest plugin: predictions and baselines of what a test's code does on the device and on the host.

    def test_attention(foretrace):
        trace = foretrace.profile(attention, q, k, v)
        foretrace.check(trace, "memcpys == 0", "backend == flash")
        foretrace.assert_matches_baseline(trace)

    @pytest.mark.foretrace("kernels <= 5", because="matmul, scale, mask, softmax, matmul")
    def test_kernels(foretrace):
        foretrace.profile(attention, q, k, v)

pytest imports this module in every run, so that everything else is imported when a test asks for it.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from types import TracebackType

    from foretrace.predictions import Outcome, Prediction
    from foretrace.trace.model import Trace

__all__ = ["Foretrace", "foretrace"]

_MARKER: Final = "foretrace"
_HELP: Final = (
    "foretrace(*predictions, because=None): hold these predictions against every trace that the test takes with the "
    'foretrace fixture, e.g. foretrace("kernels == 5", "memcpys == 0").'
)
_FOLDER: Final = "foretrace_baselines"
_LONGEST: Final = 120
_WRITTEN = pytest.StashKey[list[Path]]()
_TAKEN = pytest.StashKey[list["Trace"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--foretrace-update`` and the name of the baselines' folder."""
    group = parser.getgroup("foretrace")
    group.addoption(
        "--foretrace-update",
        action="store_true",
        help="Write the baselines that foretrace.assert_matches_baseline compares with, instead of comparing.",
    )
    parser.addini(_FOLDER, "Folder beside each test file that holds foretrace's baselines.", default=_FOLDER)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _HELP)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """After a test that is marked: hold its predictions against the traces it took."""
    marks = list(item.iter_markers(_MARKER))
    predictions = _predictions(marks) if marks else []
    result = yield
    if predictions:
        _hold(item, predictions)
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the baselines that were written."""
    for path in config.stash.get(_WRITTEN, []):
        shown = path.relative_to(config.rootpath) if path.is_relative_to(config.rootpath) else path
        terminalreporter.write_line(f"foretrace: wrote {shown}")


def _predictions(marks: list[pytest.Mark]) -> list[Prediction]:
    """The predictions of a test's marks, outermost first. A mark that does not parse fails the test."""
    from foretrace.errors import PredictionError  # noqa: PLC0415 - paid for by marked tests alone
    from foretrace.predictions.grammar import parse  # noqa: PLC0415 - the same

    found: list[Prediction] = []
    wrong = ""
    for mark in reversed(marks):
        unknown = sorted(set(mark.kwargs) - {"because"})
        if unknown:
            wrong = f"the foretrace mark takes predictions and because, not {unknown[0]}."
        try:
            found += [parse(one, mark.kwargs.get("because")) if isinstance(one, str) else one for one in mark.args]
        except PredictionError as error:
            wrong = str(error)
        if wrong:
            break
    if wrong:
        # Outside the handler: a failure in there would be told along with the error that it tells.
        pytest.fail(wrong, pytrace=False)
    return found


def _hold(item: pytest.Item, predictions: list[Prediction]) -> None:
    taken = item.stash.get(_TAKEN, [])
    if not taken:
        pytest.fail(
            "the test is marked with foretrace predictions but took no trace: profile or read one with the foretrace "
            "fixture.",
            pytrace=False,
        )
    for trace in taken:
        _, failed = _held(trace, predictions)
        if failed:
            pytest.fail(failed, pytrace=False)


def _held(trace: Trace, predictions: Sequence[str | Prediction]) -> tuple[list[Outcome], str]:
    """(the outcomes, what did not come true as text; empty where all did)."""
    from foretrace.predictions import check  # noqa: PLC0415 - paid for by tests that use it
    from foretrace.report.check_text import outcomes_text, tally  # noqa: PLC0415 - the same
    from foretrace.report.escape import plain  # noqa: PLC0415 - the same

    outcomes = check(trace, *predictions)
    wrong = [outcome for outcome in outcomes if outcome.outcome != "hit"]
    return outcomes, f"{plain(trace.file)}: {tally(outcomes)}\n{outcomes_text(wrong)}" if wrong else ""


class _OneSentence:
    """Lets an error of foretrace's start where the test called it, without what happened inside foretrace."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _where: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        from foretrace.errors import ForetraceError  # noqa: PLC0415 - paid for by tests that use it

        if isinstance(error, ForetraceError):
            raise error.with_traceback(None) from None


def _asked_for(device: str | None) -> str | None:
    """The kind of the device that a test asks for.

    Raises:
        CaptureError: it is not here; recording another one instead would hold predictions against the wrong thing.
    """
    from foretrace.capture.device import choose_device  # noqa: PLC0415 - imports torch
    from foretrace.capture.needs_torch import import_torch  # noqa: PLC0415 - the same
    from foretrace.errors import CaptureError  # noqa: PLC0415 - the same

    import_torch()
    if device is None:
        return None
    try:
        return choose_device(device).type
    except CaptureError as error:
        raise CaptureError(
            f"foretrace.profile(device={device!r}): {str(error).partition(';')[0].rstrip('.')}; leave device out to "
            "record what is here, or skip the test where there is none."
        ) from None


class Foretrace:
    """What the ``foretrace`` fixture gives a test."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._names: list[str] = []

    @property
    def traces(self) -> list[Trace]:
        """The traces this test took so far."""
        node: pytest.Item = self._request.node
        return node.stash.setdefault(_TAKEN, [])

    def profile(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        steps: int = 3,
        warmup: int = 3,
        device: str | None = None,
        with_stack: bool = False,
        profile_memory: bool = False,
        **kwargs: Any,
    ) -> Trace:
        """Profile ``function(*args, **kwargs)`` and read the trace: ``warmup`` calls first, then one call a step.

        ``device="cpu"`` leaves a GPU out; ``"cuda"`` and ``"xpu"`` ask for one, and the test fails where there is
        none. Without it whatever devices are here are recorded.

        Raises:
            CaptureError: torch is missing or does not profile here, or there is no such device.
            UsageError: ``steps`` is no number of steps.
        """
        __tracebackhide__ = True
        from foretrace.capture.profile import profile  # noqa: PLC0415 - imports torch

        with _OneSentence():
            device = _asked_for(device)
        # A fixed number of calls: a test holds structure, which settles sooner than times do.
        for _ in range(warmup):
            function(*args, **kwargs)
        with _OneSentence():
            recorder = profile(steps, device=device, with_stack=with_stack, profile_memory=profile_memory)
        with recorder as recorded:
            for _ in recorded.steps():
                function(*args, **kwargs)
        with _OneSentence():
            trace = recorded.trace
        self.traces.append(trace)
        return trace

    def read(self, path: str | Path, *, step: str | None = None) -> Trace:
        """Read a stored trace; a relative path is looked for beside the test file first.

        Raises:
            TraceFormatError: there is no such file, or it is no PyTorch profiler trace.
        """
        __tracebackhide__ = True
        from foretrace.trace.load import load_trace  # noqa: PLC0415 - paid for by tests that use it

        beside = self._request.path.parent / path
        with _OneSentence():
            trace = load_trace(beside if beside.exists() else path, step=step)
        self.traces.append(trace)
        return trace

    def check(self, trace: Trace, *predictions: str | Prediction) -> list[Outcome]:
        """Assert that each prediction is a hit; a miss says where it comes from, and unresolved is no pass.

        Raises:
            AssertionError: a prediction missed, or the trace holds no data for it.
            PredictionError: a prediction does not parse.
        """
        __tracebackhide__ = True
        with _OneSentence():
            outcomes, failed = _held(trace, predictions)
        if failed:
            raise AssertionError(failed)
        return outcomes

    def assert_matches_baseline(self, trace: Trace, name: str | None = None) -> None:
        """Assert that the structure of a step is what this test's baseline says; ``name`` tells several apart.

        The baseline is a text file in ``foretrace_baselines`` beside the test file, one for each kind of device. It
        is written by ``pytest --foretrace-update`` and by nothing else.

        Raises:
            AssertionError: there is no baseline yet, or the structure differs.
            PredictionError: the baseline is damaged.
        """
        __tracebackhide__ = True
        from foretrace.analysis.structure import structure  # noqa: PLC0415 - paid for by tests that use it
        from foretrace.report.baseline_text import (  # noqa: PLC0415 - the same
            baseline_text,
            differences_text,
            read_baseline,
        )

        found = structure(trace)
        path = self._baseline(found.device_class, name)
        config = self._request.config
        if config.getoption("--foretrace-update"):
            text = baseline_text(found, self._test)
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                config.stash.setdefault(_WRITTEN, []).append(path)
            return
        shown = path.relative_to(config.rootpath) if path.is_relative_to(config.rootpath) else path
        if not path.exists():
            others = sorted(other.name for other in path.parent.glob(f"{path.name.rsplit('.', 2)[0]}.*.txt"))
            rest = f" (there are {', '.join(others)})" if others else ""
            raise AssertionError(
                f"no baseline for a device of class {found.device_class}{rest}: {shown}\n"
                "Make it with pytest --foretrace-update, and review and commit the file."
            )
        with _OneSentence():
            lines = differences_text(read_baseline(path), trace)
        if lines:
            raise AssertionError(
                "\n".join(
                    [f"a step is not what its baseline says: {shown}"]
                    + [f"  {line}" for line in lines]
                    + ["If this is meant, rewrite the baseline with pytest --foretrace-update."]
                )
            )

    @property
    def _test(self) -> str:
        """The test's name within its file, with its class and parameters."""
        node: pytest.Item = self._request.node
        return node.nodeid.partition("::")[2].replace("::", ".") or node.name

    def _baseline(self, device_class: str, name: str | None) -> Path:
        """Where a baseline lies. The second one of a test without a name is numbered."""
        test = self._test
        if name is not None:
            test = f"{test}.{name}"
        elif test in self._names:
            test = f"{test}.{sum(known == test for known in self._names) + 1}"
        self._names.append(self._test if name is None else test)
        folder = self._request.path.parent / str(self._request.config.getini(_FOLDER))
        return folder / self._request.path.stem / f"{_file_name(test)}.{_file_name(device_class)}.txt"


def _file_name(text: str) -> str:
    """A name for a file: as written where that is safe, else with a checksum, so that no two names meet."""
    safe = re.sub(r"[^A-Za-z0-9_.+-]+", "-", text.replace("[", "-").replace("]", "")).strip(".-")
    plain = re.sub(r"\[([A-Za-z0-9_.+-]*)\]\Z", r"-\1", text) == safe
    if plain and len(safe) <= _LONGEST:
        return safe
    return f"{safe[:_LONGEST]}-{zlib.crc32(text.encode()):08x}"


@pytest.fixture
def foretrace(request: pytest.FixtureRequest) -> Foretrace:
    """Profile callables, read traces, hold predictions and baselines against them."""
    return Foretrace(request)
