"""`foretrace why`: which SDPA backend ran or would run, and why each other one did not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from foretrace._version import __version__
from foretrace.analysis.dispatch.call import (
    LAYOUTS,
    MASKS,
    Call,
    Operand,
    call_from_case,
    contiguous,
    dtype_from,
    laid_out,
    mask_of,
)
from foretrace.analysis.dispatch.decide import dispatch
from foretrace.analysis.dispatch.devices import architecture_named
from foretrace.errors import UsageError
from foretrace.names.peaks import card_named
from foretrace.report.escape import plain

if TYPE_CHECKING:
    from foretrace.analysis.dispatch.decide import Dispatch
    from foretrace.analysis.dispatch.facts import Architecture

__all__ = ["command"]

SCHEMA = 1
_SHOWN = 5


def _numbers(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Whole numbers with commas between them."""
    if value is None:
        return None
    try:
        numbers = tuple(int(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list like 8,16,1024,64.") from None
    if any(number < 0 for number in numbers):
        raise click.BadParameter(f"{value!r} has a negative number.")
    return numbers


_LIST: Any = {"callback": _numbers, "metavar": "N,N,..."}


@click.command(name="why")
@click.argument("trace", type=click.Path(path_type=Path), required=False)
@click.option("--q", "query", **_LIST, help="Shape of the query, e.g. 8,16,1024,64.")
@click.option("--k", "key", **_LIST, help="Shape of the key; the query's where not given.")
@click.option("--v", "value", **_LIST, help="Shape of the value; the key's where not given.")
@click.option("--dtype", default="bf16", show_default=True, help="bf16, fp16, fp32 or fp64.")
@click.option("--mask", type=click.Choice(MASKS), default="none", show_default=True, help="Kind of attn_mask.")
@click.option("--mask-shape", **_LIST, help="Shape of the mask, where it is not that of its kind.")
@click.option("--causal", is_flag=True, help="is_causal=True.")
@click.option("--dropout", type=click.FloatRange(0, 1), default=0.0, metavar="P", help="dropout_p.")
@click.option("--grad", is_flag=True, help="Query, key or value requires grad.")
@click.option("--gqa", is_flag=True, help="enable_gqa=True.")
@click.option("--layout", type=click.Choice(LAYOUTS), default="contig", show_default=True, help="How q, k, v lie.")
@click.option("--strides", **_LIST, help="Strides of q, and of k and v where theirs are not given.")
@click.option("--k-strides", **_LIST, help="Strides of k.")
@click.option("--v-strides", **_LIST, help="Strides of v.")
@click.option("--gpu", metavar="NAME", help="The device: H200, A100, RTX 4090, MI300X, sm90, gfx942, cpu.")
@click.option("--torch", "release", metavar="X.Y", help="The PyTorch release; where not given, 2.6 to 2.15 are tried.")
@click.option("--cudnn", metavar="X.Y.Z", help="The cuDNN release; where not given, those of PyTorch's builds.")
@click.option(
    "--cases", type=click.File(encoding="utf-8"), metavar="FILE|-", help="Calls as JSON lines; answers as JSON."
)
@click.option("--live", is_flag=True, help="Ask the PyTorch and GPU at hand too, and compare.")
@click.option("--all", "everything", is_flag=True, help="Every shape of a trace.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
def command(
    *,
    trace: Path | None,
    query: tuple[int, ...] | None,
    cases: TextIO | None,
    gpu: str | None,
    release: str | None,
    cudnn: str | None,
    live: bool,
    everything: bool,
    as_json: bool,
    **call_options: Any,
) -> int:
    """Say which backend scaled_dot_product_attention ran in TRACE, or would run, and why not another.

    \b
    foretrace why TRACE
    foretrace why --q 8,16,1024,64 --dtype bf16 --causal --gpu H200 --torch 2.11
    foretrace why --cases calls.jsonl --gpu H200 --torch 2.11
    """  # noqa: D301 - click's mark for a paragraph that is not wrapped
    given = [what for what, asked in (("TRACE", trace), ("--q", query), ("--cases", cases)) if asked is not None]
    if len(given) != 1:
        raise UsageError(
            "give one of a trace, --q or --cases" + (f", not {' and '.join(given)}." if given else "; see --help.")
        )
    number = None if cudnn is None else _cudnn_number(cudnn)
    if trace is not None:
        _from_trace(trace, release, number, everything=everything, as_json=as_json)
        return 0
    calls = _read_cases(cases) if cases is not None else [_call_from_options(query or (), **call_options)]
    if live:
        return _ask_live(calls, as_json=as_json or cases is not None)
    if gpu is None:
        raise UsageError("on which device? Give --gpu: H200, A100, RTX 4090, MI300X, sm90, gfx942 or cpu.")
    arch = architecture_named(gpu)
    found = [dispatch(call, arch, release=release, cudnn=number) for call in calls]
    if as_json or cases is not None:
        _print_json({"calls": [each.to_json() for each in found]})
    else:
        _print(calls[0], found[0], _place(gpu, arch))
    return 0


def _print_json(content: dict[str, Any]) -> None:
    from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for

    print_json({"schema": SCHEMA, "foretrace": __version__, **content})


def _place(gpu: str, arch: Architecture) -> str:
    card = card_named(gpu)
    return f"{card.name} ({arch})" if card else str(arch)


def _print(call: Call, found: Dispatch, place: str) -> None:
    from foretrace.report.console import console  # noqa: PLC0415 - rich is for people
    from foretrace.report.why_text import print_dispatch  # noqa: PLC0415 - the same

    print_dispatch(console(), call, found, place)


def _from_trace(path: Path, release: str | None, cudnn: int | None, *, everything: bool, as_json: bool) -> None:
    from foretrace.analysis.dispatch.recorded import recorded_calls  # noqa: PLC0415 - only for traces
    from foretrace.cli.opening import open_trace  # noqa: PLC0415 - the same

    trace = open_trace(path)
    rows = recorded_calls(trace, torch=release, cudnn=cudnn)
    devices = [device.name for device in trace.devices]
    if as_json:
        head = {"file": trace.file, "devices": devices}
        _print_json({"trace": head, "calls": [row.to_json() for row in rows]})
        return
    if not rows:
        click.echo(
            f"{plain(path.name)} has no call of scaled_dot_product_attention; `foretrace read` shows what it has."
        )
        return
    from foretrace.report.console import console  # noqa: PLC0415 - rich is for people
    from foretrace.report.why_text import print_recorded, release_text  # noqa: PLC0415 - the same

    known = release_text(release, "a trace does not store its release of torch")
    title = " · ".join([trace.file, *devices[:1], known])
    print_recorded(console(), title, rows, limit=None if everything else _SHOWN)


def _ask_live(calls: list[Call], *, as_json: bool) -> int:
    from foretrace.analysis.dispatch.asked import compared  # noqa: PLC0415 - only with torch
    from foretrace.capture.ask_dispatch import ask_pytorch  # noqa: PLC0415 - torch is for who asks it

    rows = [compared(call, ask_pytorch(call)) for call in calls]
    if as_json:
        _print_json({"calls": [row.to_json() for row in rows]})
        return 0
    from foretrace.report.console import console  # noqa: PLC0415 - rich is for people
    from foretrace.report.why_text import print_dispatch, print_live  # noqa: PLC0415 - the same

    out = console()
    for call, row in zip(calls, rows, strict=True):
        print_dispatch(out, call, row.rules, row.place)
        print_live(out, row)
    return 0


def _cudnn_number(text: str) -> int:
    parts = text.split(".")
    if len(parts) == 1 and text.isdigit() and len(text) >= 4:  # noqa: PLR2004 - as cuDNN writes itself: 91900
        return int(text)
    try:
        major, minor, patch = (int(part) for part in [*parts, "0", "0"][:3])
    except ValueError:
        raise UsageError(f"{text!r} is no cuDNN release; write it like 9.19.0.") from None
    return major * 10000 + minor * 100 + patch


def _call_from_options(
    query: tuple[int, ...],
    *,
    key: tuple[int, ...] | None,
    value: tuple[int, ...] | None,
    dtype: str,
    mask: str,
    mask_shape: tuple[int, ...] | None,
    causal: bool,
    dropout: float,
    grad: bool,
    gqa: bool,
    layout: str,
    strides: tuple[int, ...] | None,
    k_strides: tuple[int, ...] | None,
    v_strides: tuple[int, ...] | None,
) -> Call:
    word = dtype_from(dtype)

    def operand(name: str, dims: tuple[int, ...], given: tuple[int, ...] | None) -> Operand:
        if len(dims) < 2:  # noqa: PLR2004 - a length and a head dim
            raise UsageError(f"{name} has the shape {','.join(map(str, dims))}; it needs two sizes at least.")
        if given is not None and len(given) != len(dims):
            raise UsageError(f"{name} has {len(dims)} sizes and {len(given)} strides; give as many.")
        return Operand(dims, word, given if given is not None else laid_out(dims, layout))

    key = key or query
    q = operand("q", query, strides)
    k = operand("k", key, k_strides or strides)
    v = operand("v", value or key, v_strides or k_strides or strides)
    held = mask_of(mask, q, k)
    if mask_shape is not None:
        if held is None:
            raise UsageError("--mask-shape needs --mask.")
        held = Operand(mask_shape, held.dtype, contiguous(mask_shape), requires_grad=held.requires_grad)
    return Call(q, k, v, held, causal=causal, dropout=dropout, grad=grad, gqa=gqa)


def _read_cases(lines: TextIO) -> list[Call]:
    calls = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except ValueError as error:
            raise UsageError(f"line {number} of the cases is no JSON: {error}.") from error
        if isinstance(case, dict) and isinstance(case.get("case"), dict):
            case = case["case"]
        if not isinstance(case, dict):
            raise UsageError(f"line {number} of the cases is no JSON object.")
        try:
            calls.append(call_from_case(case))
        except UsageError as error:
            raise UsageError(f"line {number} of the cases: {error}") from error
    return calls
