"""PyTorch's own answer about a call, and the rules beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foretrace.analysis.dispatch.decide import Dispatch, dispatch
from foretrace.analysis.dispatch.facts import Architecture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foretrace.analysis.dispatch.call import Call

__all__ = ["Compared", "compared"]


@dataclass(frozen=True)
class Compared:
    """The rules beside PyTorch's answer."""

    rules: Dispatch
    torch: str
    cudnn: int | None
    device: str
    arch: Architecture
    backend: str
    """The backend PyTorch picks when left alone, or ``error``."""
    backends: dict[str, tuple[bool, str]]
    """For each backend: whether it ran when pinned, and PyTorch's words where it did not."""

    @property
    def place(self) -> str:
        """The device, in words."""
        return self.device if str(self.arch).upper() == self.device else f"{self.device} ({self.arch})"

    @property
    def differences(self) -> list[str]:
        """Where the two disagree: ``backend``, or a backend's name."""
        found = [] if self.rules.backend == self.backend else ["backend"]
        return found + [name for name, (ran, _) in self.backends.items() if ran != self.rules.backends[name].eligible]

    def to_json(self) -> dict[str, Any]:
        """The keys of ``calls[]``, with ``live`` beside the rules."""
        live = {
            "torch": self.torch,
            "cudnn": self.cudnn,
            "device": self.device,
            "backend": self.backend,
            "backends": {name: {"ran": ran, "words": words} for name, (ran, words) in self.backends.items()},
            "differences": self.differences,
        }
        return {**self.rules.to_json(), "live": live}


def compared(call: Call, answer: Mapping[str, Any]) -> Compared:
    """The rules for the PyTorch and device that were asked, beside their answer.

    Args:
        call: the call.
        answer: ``torch``, ``cudnn``, ``device``, ``kind`` (``cuda``, ``hip``, ``cpu``), ``capability``, ``arch``,
            ``backend`` and ``backends``, as ``capture.ask_dispatch`` gives them.

    Raises:
        UsageError: the PyTorch is older than the oldest release known.
    """
    major, minor = answer["capability"]
    arch = Architecture(answer["kind"], major, minor, answer["arch"])
    rules = dispatch(call, arch, release=answer["torch"], cudnn=answer["cudnn"])
    kept = ("torch", "cudnn", "device", "backend", "backends")
    return Compared(rules, arch=arch, **{name: answer[name] for name in kept})
