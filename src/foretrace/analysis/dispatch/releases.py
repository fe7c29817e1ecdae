"""Dispatch by PyTorch release: orders, checks and limits, as data.

Each release is the one before it with what changed. The orders and checks are those of
``aten/src/ATen/native/transformers/cuda/sdp_utils.cpp`` (CPU: ``sdp_utils_cpp.cpp``) in that release; the names of the
checks are keys of ``checks.CHECKS``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from foretrace.errors import UsageError

if TYPE_CHECKING:
    from foretrace.analysis.dispatch.facts import Architecture, Facts

__all__ = ["OLDER_CHECKS", "RELEASES", "CudnnFirst", "HeadDimLimit", "Named", "Release", "release_named"]

_Capability = tuple[int, int]


@dataclass(frozen=True)
class CudnnFirst:
    """Where cuDNN comes before flash."""

    newer_than: int
    """Only with a cuDNN newer than this."""
    archs: frozenset[_Capability]


@dataclass(frozen=True)
class HeadDimLimit:
    """The largest head dim that cuDNN takes on some architectures."""

    limit: int
    archs: frozenset[_Capability]
    cudnn: int
    """From this cuDNN on."""
    only: tuple[int, int] | None = None
    """Only for these head dims of query and value."""


@dataclass(frozen=True)
class Release:
    """What dispatch does in one release."""

    name: str
    cudnn: int
    """The cuDNN that its own builds bring."""
    other_cudnn: tuple[int, ...]
    """cuDNN releases that other builds of it bring, where that changes an answer."""
    newest_arch: _Capability
    """The newest architecture that fused backends accept."""
    small_chips: tuple[tuple[_Capability, _Capability], ...]
    """Architectures whose shared memory is too small for flash's backward with large head dims."""
    cudnn_first: CudnnFirst | None
    cudnn_limits: tuple[HeadDimLimit, ...]
    """The first that fits holds; 128 where none does."""
    flash_checks: tuple[str, ...]
    efficient_checks: tuple[str, ...]
    cudnn_checks: tuple[str, ...]
    cpu_checks: tuple[str, ...]
    gqa: frozenset[str]
    """Backends that take fewer key heads with ``enable_gqa``."""
    hip_gqa: frozenset[str]
    hip_head_dim: int
    hip_efficient_aligned: bool
    """On HIP, efficient asks for head dims in multiples of 8 (4 in fp32)."""
    unequal_kv_heads: frozenset[str] = frozenset()
    """Backends whose key and value may differ in heads."""
    mqa: frozenset[str] = frozenset()
    """Backends that take one key head for many query heads without ``enable_gqa``."""
    cpu_mask_any_stride: bool = False
    cudnn_any_length_1: bool = False
    """cuDNN takes no sequence length 1 at all, rather than no key length 1."""
    cudnn_backward_limits: bool = False
    decode_off: bool = False
    unbatched: bool = False
    """Inputs of three dimensions are given a batch dimension before the checks."""

    def order(self, facts: Facts) -> tuple[str, ...]:
        """The backends in the order they are tried."""
        if facts.arch.kind == "cpu":
            return ("flash", "math")
        if facts.arch.kind == "hip":
            return ("flash", "efficient", "math")
        first = self.cudnn_first
        if first and facts.cudnn > first.newer_than and facts.arch.capability in first.archs:
            return ("cudnn", "flash", "efficient", "math")
        return ("flash", "efficient", "math", "cudnn")

    def checks(self, backend: str, arch: Architecture) -> tuple[str, ...]:
        """The checks a backend asks, in order."""
        if arch.kind == "cpu":
            return self.cpu_checks if backend == "flash" else ()
        listed = {"flash": self.flash_checks, "efficient": self.efficient_checks, "cudnn": self.cudnn_checks}
        names = listed.get(backend, ())
        if arch.kind == "hip" and backend == "efficient":
            return tuple("hip_efficient_head_dim" if name == "efficient_head_dim" else name for name in names)
        return names

    def raises(self, backend: str) -> tuple[str, ...]:
        """What a backend's own code refuses once it was chosen."""
        return {
            "efficient": ("mask_dtype", "efficient_strides", "composable_backward"),
            "flash": ("composable_backward",),
        }.get(backend, ())

    def cudnn_limit(self, arch: Architecture, cudnn: int, query: int, value: int) -> int:
        """The largest head dim cuDNN takes."""
        for each in self.cudnn_limits:
            if cudnn >= each.cudnn and arch.capability in each.archs and each.only in (None, (query, value)):
                return each.limit
        return 128

    def cudnn_has_256(self, arch: Architecture, cudnn: int) -> bool:
        """Whether cuDNN's limits of the backward are asked."""
        return self.cudnn_backward_limits and self.cudnn_limit(arch, cudnn, 256, 256) == 256  # noqa: PLR2004

    def cudnn_decode_off(self, arch: Architecture, cudnn: int) -> bool:
        """Whether cuDNN is kept from query length 1."""
        return (
            self.decode_off
            and arch.major in (10, 11)
            and 91900 <= cudnn <= 92500  # noqa: PLR2004 - 9.19.0 to 9.25.0
            and cudnn != 92401  # noqa: PLR2004 - 9.24.1
        )


def _with(checks: tuple[str, ...], name: str, *, after: str) -> tuple[str, ...]:
    """The checks with one more among them."""
    at = checks.index(after) + 1
    return (*checks[:at], name, *checks[at:])


_HOPPER: Final[_Capability] = (9, 0)
_FLASH_AND_CUDNN: Final = frozenset({"flash", "cudnn"})
_FUSED: Final = frozenset({"flash", "efficient", "cudnn"})

_FLASH: Final = (
    "four_dimensions",
    "no_mask",
    "flash_head_dim",
    "fused_architecture",
    "small_chip_grad",
    "causal_lengths",
    "low_precision",
    "flash_heads",
    "nonzero_lengths",
    "stride_or_single",
)
_EFFICIENT: Final = (
    "efficient_architecture",
    "four_dimensions",
    "efficient_head_dim",
    "nonzero_lengths",
    "stride",
    "efficient_heads",
    "efficient_dtype",
)
_CPU: Final = (
    "no_dropout",
    "four_dimensions",
    "cpu_heads",
    "mask_shape",
    "cpu_head_dim",
    "nonzero_lengths",
    "stride",
    "cpu_dtype",
)

V2_6: Final = Release(
    name="2.6",
    cudnn=90100,
    other_cudnn=(90501,),
    newest_arch=(9, 0),
    small_chips=(((8, 6), (8, 9)),),
    cudnn_first=None,
    cudnn_limits=(),
    flash_checks=_FLASH,
    efficient_checks=_EFFICIENT,
    cudnn_checks=(
        "nonzero_lengths",
        "stride_or_single",
        "four_dimensions",
        "cudnn_head_dim",
        "cudnn_lengths",
        "low_precision",
        "mask_shape",
        "fused_architecture",
    ),
    cpu_checks=_CPU,
    gqa=frozenset({"flash"}),
    hip_gqa=frozenset({"flash"}),
    hip_head_dim=256,
    hip_efficient_aligned=False,
    cudnn_any_length_1=True,
)
V2_7: Final = replace(
    V2_6,
    name="2.7",
    cudnn=90501,
    other_cudnn=(90701,),
    newest_arch=(12, 0),
    cudnn_checks=(
        "nonzero_lengths",
        "four_dimensions",
        "cudnn_head_dim",
        "cudnn_lengths",
        "low_precision",
        "mask_shape",
        "fused_architecture",
        "stride_or_single",
    ),
    small_chips=(((8, 6), (8, 9)), ((12, 0), (12, 1))),
    hip_head_dim=512,
)
V2_8: Final = replace(
    V2_7,
    name="2.8",
    cudnn=91002,
    other_cudnn=(),
    newest_arch=(12, 1),
    cudnn_limits=(HeadDimLimit(256, frozenset({_HOPPER}), cudnn=0),),
    cudnn_checks=(*V2_7.cudnn_checks, "cudnn_heads"),
    gqa=_FLASH_AND_CUDNN,
    unequal_kv_heads=frozenset({"cudnn"}),
    cpu_mask_any_stride=True,
    hip_efficient_aligned=True,
)
V2_9: Final = replace(
    V2_8,
    name="2.9",
    cudnn_limits=(HeadDimLimit(256, frozenset({_HOPPER}), cudnn=91000),),
    gqa=_FLASH_AND_CUDNN | {"cpu"},
    cudnn_checks=(
        "cudnn_dropout_bug",
        "four_dimensions",
        "low_precision",
        "mask_shape",
        "fused_architecture",
        "nonzero_lengths",
        "stride_or_single",
        "cudnn_heads",
        "cudnn_head_dim",
        "cudnn_lengths",
    ),
    other_cudnn=(91300,),
    cudnn_any_length_1=False,
)
V2_10: Final = replace(
    V2_9,
    name="2.10",
    other_cudnn=(91501,),
    cudnn_first=CudnnFirst(newer_than=91500, archs=frozenset({(9, 0), (10, 0), (10, 3)})),
)
_BLACKWELL: Final = frozenset({(10, 0), (10, 1), (10, 3), (10, 7)})
V2_11: Final = replace(
    V2_10,
    name="2.11",
    cudnn=91900,
    other_cudnn=(91002, 91701),
    cudnn_limits=(*V2_10.cudnn_limits, HeadDimLimit(192, _BLACKWELL, cudnn=91100, only=(192, 128))),
)
V2_12: Final = replace(
    V2_11,
    name="2.12",
    cudnn=92000,
    other_cudnn=(91002,),
    cudnn_checks=_with(V2_11.cudnn_checks, "cudnn_dropout_sixteenth", after="fused_architecture"),
)
V2_13: Final = replace(
    V2_12,
    name="2.13",
    efficient_checks=_with(V2_12.efficient_checks, "efficient_offset", after="efficient_head_dim"),
    cudnn_checks=_with(V2_12.cudnn_checks, "cudnn_grid", after="cudnn_heads"),
)
_NEXT: Final = frozenset({(10, 7)})
_DATA_CENTER: Final = (_BLACKWELL | {_HOPPER}) - _NEXT
V2_14: Final = replace(
    V2_13,
    name="2.14",
    cudnn=92400,
    other_cudnn=(91002,),
    cudnn_first=CudnnFirst(newer_than=91500, archs=_DATA_CENTER | _NEXT),
    cudnn_limits=(
        HeadDimLimit(256, _DATA_CENTER, cudnn=92201),
        HeadDimLimit(256, _NEXT, cudnn=92501),
        HeadDimLimit(192, _DATA_CENTER | _NEXT, cudnn=91100, only=(192, 128)),
    ),
    cudnn_checks=(*V2_13.cudnn_checks, "cudnn_decode", "cudnn_backward_head_dim"),
    gqa=_FUSED | {"cpu"},
    mqa=_FUSED | {"cpu"},
    cudnn_backward_limits=True,
    decode_off=True,
    unbatched=True,
)
V2_15: Final = replace(
    V2_14,
    name="2.15",
    cudnn=92600,
    other_cudnn=(91002,),
    flash_checks=_with(V2_14.flash_checks, "flash_grid", after="low_precision"),
    cudnn_checks=(*V2_14.cudnn_checks, "cudnn_finite_gradients"),
)

OLDER_CHECKS: Final = {"flash": ("older_flash_backward",)}
"""What releases before the oldest known are known to have refused besides, by backend."""

RELEASES: Final = (V2_6, V2_7, V2_8, V2_9, V2_10, V2_11, V2_12, V2_13, V2_14, V2_15)


@dataclass(frozen=True)
class Named:
    """A release that was asked for, and the rules that stand for it."""

    release: Release
    exact: bool
    """False where it is newer than the newest known, whose rules then stand in."""


def release_named(text: str) -> Named:
    """The rules of a release given as ``2.11``, ``2.11.0`` or ``2.11.0+cu130``.

    Raises:
        UsageError: it is no release, or older than the oldest known.
    """
    found = re.match(r"v?(\d+)\.(\d+)(?=\D|\Z)", text)
    if not found:
        raise UsageError(f"{text!r} is no PyTorch release; write it like 2.11.")
    number = (int(found[1]), int(found[2]))
    for release in RELEASES:
        if number == _number(release.name):
            return Named(release, exact=True)
    oldest, newest = RELEASES[0], RELEASES[-1]
    if number < _number(oldest.name):
        raise UsageError(f"the rules of PyTorch {text} are not known; the oldest known are {oldest.name}'s.")
    return Named(newest, exact=False)


def _number(name: str) -> _Capability:
    major, minor = name.split(".")
    return int(major), int(minor)
