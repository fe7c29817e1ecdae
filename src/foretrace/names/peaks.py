"""Peak rates of a device by unit and dtype, from the table of cards or a file of the user's own.

The file is TOML, one table for each device, named as a trace names it or as the table of cards does::

    ["NVIDIA H200"]
    source = "measured here"
    bandwidth = 4.3e12            # bytes per second
    tensor_core = { bf16 = 790e12 }
    cuda_core = { fp32 = 60e12 }

What a table does not give is taken from the table of cards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foretrace.errors import UsageError
from foretrace.names.cards import CARDS, Card

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["UNITS", "Peaks", "card_named", "peaks_of", "read_peaks"]

UNITS: Final = ("tensor_core", "cuda_core")

_TERA: Final = 1e12
_GIGA: Final = 1e9
_MAKERS: Final = re.compile(r"(nvidia|amd|radeon|\s)+", re.IGNORECASE)
# Formats that run at the rate of another one.
_SAME_RATE: Final = {"fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp4_e2m1": "fp4", "uint8": "int8"}


@dataclass(frozen=True)
class Peaks:
    """What a device can do at most."""

    device: str
    bytes_per_s: float | None
    flops: Mapping[tuple[str, str], float]
    """By (unit, dtype), in FLOP/s."""
    source: str

    def rate(self, unit: str, dtype: str) -> float | None:
        """FLOP/s of a unit on a dtype; None where it has none, or it is not known.

        A unit that lacks a format does it as the nearest one it has: 16-bit floats on CUDA cores go through
        float32, and matrix products of formats without tensor cores run on CUDA cores.
        """
        bare = _SAME_RATE.get(dtype, dtype)
        found = self.flops.get((unit, bare))
        if found is not None:
            return found
        if unit == "tensor_core":
            return self.rate("cuda_core", bare) if bare in ("bf16", "fp16", "fp32", "fp64", "tf32") else None
        if bare in ("bf16", "fp16", "tf32"):
            return self.flops.get((unit, "fp32"))
        return None


def _bare(name: str) -> str:
    """A device's name without its maker's, in lower case, single spaces."""
    rest = re.sub(r"\s+", " ", name).strip()
    found = _MAKERS.match(rest)
    return (rest[found.end() :] if found else rest).lower()


def card_named(name: str) -> Card | None:
    """The card that a device's name, or what a person calls it, stands for; None where it is not in the table."""
    bare = _bare(name)
    for card in CARDS:
        if bare == card.name.lower() or re.fullmatch(card.pattern, bare, re.IGNORECASE):
            return card
    return None


def peaks_of(name: str, own: Mapping[str, Mapping[str, Any]] | None = None) -> Peaks | None:
    """The peaks of a device by its name, a user's own rates first; None where neither names it.

    Args:
        name: a device's name as a trace gives it, or as a person calls the card.
        own: tables read with ``read_peaks``.
    """
    card = card_named(name)
    flops: dict[tuple[str, str], float] = {}
    bandwidth: float | None = None
    source = ""
    if card:
        flops = {("tensor_core", dtype): rate * _TERA for dtype, rate in card.tensor.items()}
        flops |= {("cuda_core", dtype): rate * _TERA for dtype, rate in card.vector.items()}
        bandwidth, source = card.gigabytes_per_s * _GIGA, card.source
    names = {_bare(name), *([card.name.lower()] if card else [])}
    for title, table in (own or {}).items():
        if _bare(title) in names:
            bandwidth = table.get("bandwidth", bandwidth)
            flops |= {(unit, dtype): rate for unit in UNITS for dtype, rate in table.get(unit, {}).items()}
            source = table.get("source", "a file of the user's own")
            break
    else:
        if card is None:
            return None
    return Peaks(name, bandwidth, flops, source)


def read_peaks(path: Path) -> dict[str, dict[str, Any]]:
    """Read a file of peak rates.

    Raises:
        UsageError: the file cannot be read, or holds what is no rate.
    """
    import tomllib  # noqa: PLC0415 - for a user's own table only

    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML file of peak rates: {error}.") from error
    for device, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"{path}: {device!r} is no table; write [{device!r}] and the rates below it.")
        _check(path, device, table)
    return tables


def _check(path: Path, device: str, table: dict[str, Any]) -> None:
    known = {"source", "bandwidth", *UNITS}
    if unknown := set(table) - known:
        raise UsageError(f"{path}: {device} has {min(unknown)!r}; it may have {', '.join(sorted(known))}.")
    if not isinstance(table.get("source", ""), str):
        raise UsageError(f"{path}: the source of {device} is no text.")
    rates = {"bandwidth": table.get("bandwidth", 1.0)}
    for unit in UNITS:
        given = table.get(unit, {})
        if not isinstance(given, dict):
            raise UsageError(f"{path}: {unit} of {device} is no table of rates by dtype.")
        rates |= {f"{unit}.{dtype}": rate for dtype, rate in given.items()}
    for what, rate in rates.items():
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < float("inf"):
            raise UsageError(f"{path}: {what} of {device} is {rate!r}; give a number above 0.")
