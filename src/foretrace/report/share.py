"""Share traces through a bucket of the Hugging Face Hub: trace-util uploads them, Perfetto opens them from there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from foretrace.errors import MissingDataError, UsageError
from foretrace.report.perfetto import ORIGIN
from foretrace.trace.source import open_source, split_member

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["link_of", "share", "staged"]

_SUFFIXES: Final = (".json", ".json.gz")
_PACKAGE: Final = "trace_util"


def share(traces: Sequence[Path], bucket: str, *, namespace: str | None = None) -> list[str]:
    """Upload traces and return a Perfetto link for each.

    trace-util runs as the command it is, so what it says and asks reaches the terminal.

    Raises:
        MissingDataError: trace-util is not installed, or nobody is logged in.
        UsageError: there is nothing to upload, or no such file, or trace-util did not finish.
    """
    files = _files(traces)
    owner = _owner(namespace)
    with tempfile.TemporaryDirectory(prefix="foretrace-share-") as place:
        folder = Path(place)
        names = staged(files, folder)
        command = [sys.executable, "-c", f"from {_PACKAGE}.cli import app; app()", str(folder), "--bucket", bucket]
        command += ["--namespace", namespace] if namespace else []
        done = subprocess.run(command, check=False, stdout=sys.stderr)  # noqa: S603 - our own interpreter and arguments
    if done.returncode:
        raise UsageError(f"trace-util did not finish (exit code {done.returncode}); what it said stands above.")
    return [link_of(owner, bucket, name) for name in names]


def _owner(namespace: str | None) -> str:
    """The namespace of the bucket, which the links name."""
    if importlib.util.find_spec(_PACKAGE) is None:
        raise MissingDataError('trace-util, which uploads, is not installed; install it: pip install "foretrace[hub]".')
    from huggingface_hub import HfApi, get_token  # noqa: PLC0415 - comes with trace-util

    if get_token() is None:
        raise MissingDataError("nobody is logged in to the Hugging Face Hub here; run `hf auth login` first.")
    if namespace:
        return namespace
    try:
        return str(HfApi().whoami()["name"])
    except Exception as error:  # whatever the Hub's client raises means the same here
        raise MissingDataError(
            f"the Hub does not say who is logged in ({type(error).__name__}); check the network and run "
            "`hf auth login`, or give --namespace."
        ) from error


def staged(traces: Sequence[Path], folder: Path) -> list[str]:
    """Put the traces into a folder as plain JSON, the one kind that trace-util links to; returns their names there.

    Raises:
        UsageError: a folder holds no trace.
        TraceFormatError: a file cannot be read.
    """
    names: list[str] = []
    for path in _files(traces):
        name = path.name
        for suffix in (".gz", ".zst", ".json"):
            name = name.removesuffix(suffix)
        free = f"{name}.json"
        number = 1
        while free in names:
            number += 1
            free = f"{name}-{number}.json"
        with open_source(path) as source, (folder / free).open("wb") as out:
            for piece in source.pieces():
                out.write(piece)
        names.append(free)
    return names


def _files(traces: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in traces:
        if not path.is_dir():
            place = split_member(path)[0]
            if place != "-" and not Path(place).exists():
                raise UsageError(f"{path}: no such file or folder.")
            found.append(path)
            continue
        inside = sorted(
            each for each in path.iterdir() if each.name.endswith(_SUFFIXES) and each.name != "attention.json"
        )
        if not inside:
            raise UsageError(f"{path} holds no traces (.json or .json.gz); give a folder that does.")
        found.extend(inside)
    return found


def link_of(owner: str, bucket: str, name: str) -> str:
    """The viewer, with a file of a bucket."""
    parts = "/".join(quote(part, safe="") for part in (owner, bucket))
    return f"{ORIGIN}/#!/?url=https://huggingface.co/buckets/{parts}/resolve/{quote(name, safe='')}"
