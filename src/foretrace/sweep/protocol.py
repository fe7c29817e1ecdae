"""What a sweep and its worker processes say to each other: a JSON line each way, one word a line."""

from __future__ import annotations

import msgspec

from foretrace.capture.recording import DeviceInfo, ShapeInfo  # noqa: TC001 - msgspec reads the types
from foretrace.capture.sweep_case import CaseOptions
from foretrace.capture.sweep_row import SweepRow  # noqa: TC001 - the same

__all__ = [
    "Done",
    "Given",
    "Hello",
    "Job",
    "Reply",
    "Sorry",
    "Turn",
    "VariantRef",
    "decode_job",
    "decode_reply",
    "line",
]


class VariantRef(msgspec.Struct, frozen=True):
    """A variant by its name, and where the callable is when it is one of the user's own."""

    name: str
    target: str | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One case to measure: sent to a worker."""

    case: str
    shape: ShapeInfo
    variants: tuple[VariantRef, ...]
    options: CaseOptions = CaseOptions()
    limit: float = 120.0
    """Seconds that one variant may take at this case."""


class Hello(msgspec.Struct, frozen=True, tag=True):
    """The worker is up."""

    device: DeviceInfo
    devices: int
    """How many devices of this type it sees."""


class Sorry(msgspec.Struct, frozen=True, tag=True):
    """The worker cannot come up."""

    reason: str


class Turn(msgspec.Struct, frozen=True, tag=True):
    """Whose turn it is now; "" while the inputs are made."""

    variant: str


class Given(msgspec.Struct, frozen=True, tag=True):
    """A row; its trace, if any, lies in the worker's folder."""

    row: SweepRow


class Done(msgspec.Struct, frozen=True, tag=True):
    """The case has ended."""

    sound: bool
    """Whether the worker can be given another."""


Reply = Hello | Sorry | Turn | Given | Done

_ENCODER = msgspec.json.Encoder()
_JOB = msgspec.json.Decoder(Job)
_REPLY: msgspec.json.Decoder[Reply] = msgspec.json.Decoder(Reply)


def line(message: msgspec.Struct) -> bytes:
    """The message as one line."""
    return _ENCODER.encode(message) + b"\n"


def decode_job(text: bytes) -> Job:
    """A job from its line."""
    return _JOB.decode(text)


def decode_reply(text: bytes) -> Reply:
    """A worker's word from its line."""
    return _REPLY.decode(text)
