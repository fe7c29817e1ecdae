"""Accelerators: how their names read, their architecture, and the dense peak rates that their makers state.

Rates are in TFLOP/s (TOP/s for integers) without structured sparsity, bandwidth in GB/s, both per device as PyTorch
sees one (half of an MI250, which shows as two). A tensor-core rate of 16-bit floats is that with float32
accumulation. ``source`` is the document that states the rates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CARDS", "Card"]


@dataclass(frozen=True)
class Card:
    """One model."""

    name: str
    """What a person calls it, and ``--gpu`` takes."""
    pattern: str
    """A pattern for the whole of a device's name, the maker's words in front aside, in any case."""
    architecture: str
    """``9.0`` (compute capability) or ``gfx942``."""
    gigabytes_per_s: float
    tensor: Mapping[str, float]
    """By dtype, on tensor (matrix) cores."""
    vector: Mapping[str, float]
    """By dtype, on CUDA (vector) cores."""
    source: str = field(repr=False)


def _halves(rate: float, **more: float) -> dict[str, float]:
    """The same rate for bf16 and fp16, and others beside it."""
    return {"bf16": rate, "fp16": rate, **more}


_VOLTA: Final = "NVIDIA Tesla V100 GPU architecture white paper"
_AMPERE_WP: Final = "NVIDIA A100 Tensor Core GPU datasheet"
_GA102: Final = "NVIDIA Ampere GA102 GPU architecture white paper v2"
_ADA: Final = "NVIDIA Ada GPU architecture white paper"
_H100: Final = "NVIDIA H100 Tensor Core GPU architecture white paper"
_RTX50: Final = "NVIDIA RTX Blackwell GPU architecture white paper"
_CDNA3: Final = "AMD CDNA 3 architecture white paper and the accelerator's data sheet"


def _ampere_rtx(name: str, fp32: float, bandwidth: float) -> Card:
    tensor = _halves(2 * fp32, tf32=fp32, int8=8 * fp32)
    return Card(
        f"RTX {name}", rf"(geforce )?rtx {name}( \d+ ?gb)?", "8.6", bandwidth, tensor,
        {"fp32": fp32, "fp64": fp32 / 64}, _GA102,
    )  # fmt: skip


def _ada_rtx(name: str, fp32: float, bandwidth: float) -> Card:
    tensor = _halves(2 * fp32, tf32=fp32, fp8=4 * fp32, int8=8 * fp32)
    return Card(
        f"RTX {name}", rf"(geforce )?rtx {name}( d)?", "8.9", bandwidth, tensor,
        {"fp32": fp32, "fp64": fp32 / 64}, _ADA,
    )  # fmt: skip


def _blackwell_rtx(name: str, fp32: float, bandwidth: float) -> Card:
    tensor = _halves(2 * fp32, tf32=fp32, fp8=4 * fp32, int8=8 * fp32, fp4=16 * fp32)
    return Card(
        f"RTX {name}", rf"(geforce )?rtx {name}( d)?", "12.0", bandwidth, tensor,
        {"fp32": fp32, "fp64": fp32 / 64}, _RTX50,
    )  # fmt: skip


_HOPPER_SXM: Final = _halves(989.4, tf32=494.7, fp8=1978.9, int8=1978.9, fp64=66.9)
_HOPPER_SXM_VECTOR: Final = {"fp32": 66.9, "fp64": 33.5}
_HOPPER_NVL: Final = _halves(835.5, tf32=417.5, fp8=1670.5, int8=1670.5, fp64=60.0)
_HOPPER_NVL_VECTOR: Final = {"fp32": 60.0, "fp64": 30.0}
_B200: Final = _halves(2250, tf32=1125, fp8=4500, int8=4500, fp4=9000, fp64=37)
_GB200: Final = _halves(2500, tf32=1250, fp8=5000, int8=5000, fp4=10000, fp64=40)

# The longest names come first where one is the beginning of another: patterns match the whole name, so order is for
# people who look a name up by what they call it.
CARDS: Final[tuple[Card, ...]] = (
    Card("V100S", r"(tesla )?v100s-pcie.*", "7.0", 1134, {"fp16": 130}, {"fp32": 16.4, "fp64": 8.2},
         "NVIDIA V100 datasheet"),
    Card("V100 PCIe", r"(tesla )?v100-pcie.*", "7.0", 900, {"fp16": 112}, {"fp32": 14.0, "fp64": 7.0},
         "NVIDIA V100 datasheet"),
    Card("V100", r"(tesla )?v100(-(sxm|dgxs).*)?", "7.0", 900, {"fp16": 125}, {"fp32": 15.7, "fp64": 7.8}, _VOLTA),
    Card("T4", r"(tesla )?t4g?", "7.5", 320, {"fp16": 65, "int8": 130}, {"fp32": 8.1, "fp64": 0.253},
         "NVIDIA T4 Tensor Core GPU datasheet"),
    Card("A100 80GB PCIe", r"a[18]00[ -](pcie-80gb|80gb pcie)", "8.0", 1935,
         _halves(312, tf32=156, int8=624, fp64=19.5), {"fp32": 19.5, "fp64": 9.7}, _AMPERE_WP),
    Card("A100 80GB", r"a100-sxm-?4?-80gb|a100[ -]80gb|a800-sxm4-80gb|(a100-)?pg509-210", "8.0", 2039,
         _halves(312, tf32=156, int8=624, fp64=19.5), {"fp32": 19.5, "fp64": 9.7}, _AMPERE_WP),
    Card("A100", r"a100(-(sxm-?4?|pcie|pg\d+)(-40gb)?.*)?|a100-sxm.*", "8.0", 1555,
         _halves(312, tf32=156, int8=624, fp64=19.5), {"fp32": 19.5, "fp64": 9.7}, _AMPERE_WP),
    Card("A30", r"a30", "8.0", 933, _halves(165, tf32=82, int8=330, fp64=10.3), {"fp32": 10.3, "fp64": 5.2},
         "NVIDIA A30 Tensor Core GPU datasheet"),
    Card("A10G", r"a10g", "8.6", 600, _halves(70, tf32=35, int8=140), {"fp32": 35, "fp64": 0.547},
         "NVIDIA A10G Tensor Core GPU datasheet"),
    Card("A10", r"a10", "8.6", 600, _halves(125, tf32=62.5, int8=250), {"fp32": 31.2, "fp64": 0.976},
         "NVIDIA A10 Tensor Core GPU datasheet"),
    Card("A40", r"a40", "8.6", 696, _halves(149.7, tf32=74.8, int8=299.3), {"fp32": 37.4, "fp64": 0.585},
         "NVIDIA A40 datasheet"),
    Card("RTX A6000", r"(quadro )?rtx a6000", "8.6", 768, _halves(154.8, tf32=77.4, int8=309.7),
         {"fp32": 38.7, "fp64": 0.605}, _GA102),
    _ampere_rtx("3090 Ti", 40.0, 1008),
    _ampere_rtx("3090", 35.6, 936),
    _ampere_rtx("3080 Ti", 34.1, 912),
    _ampere_rtx("3080", 29.8, 760),
    _ampere_rtx("3070 Ti", 21.7, 608),
    _ampere_rtx("3070", 20.3, 448),
    _ampere_rtx("3060 Ti", 16.2, 448),
    _ampere_rtx("3060", 12.7, 360),
    Card("L4", r"l4", "8.9", 300, _halves(121, tf32=60, fp8=242.5, int8=242.5), {"fp32": 30.3, "fp64": 0.473},
         "NVIDIA L4 Tensor Core GPU datasheet"),
    Card("L40S", r"l40s", "8.9", 864, _halves(362.05, tf32=183, fp8=733, int8=733), {"fp32": 91.6, "fp64": 1.43},
         "NVIDIA L40S GPU datasheet"),
    Card("L40", r"l40g?", "8.9", 864, _halves(181.05, tf32=90.5, fp8=362, int8=362), {"fp32": 90.5, "fp64": 1.41},
         "NVIDIA L40 GPU datasheet"),
    Card("RTX 6000 Ada", r"rtx 6000 ada( generation)?", "8.9", 960, _halves(364.2, tf32=182.1, fp8=728.5, int8=728.5),
         {"fp32": 91.1, "fp64": 1.42}, _ADA),
    _ada_rtx("4090", 82.6, 1008),
    _ada_rtx("4080 SUPER", 52.2, 736),
    _ada_rtx("4080", 48.7, 717),
    _ada_rtx("4070 Ti SUPER", 44.1, 672),
    _ada_rtx("4070 Ti", 40.1, 504),
    _ada_rtx("4070 SUPER", 35.5, 504),
    _ada_rtx("4070", 29.1, 504),
    _ada_rtx("4060 Ti", 22.1, 288),
    _ada_rtx("4060", 15.1, 272),
    _blackwell_rtx("5090", 104.8, 1792),
    _blackwell_rtx("5080", 56.3, 960),
    _blackwell_rtx("5070 Ti", 43.9, 896),
    _blackwell_rtx("5070", 30.9, 672),
    _blackwell_rtx("5060 Ti", 23.7, 448),
    _blackwell_rtx("5060", 19.2, 448),
    Card("RTX PRO 6000", r"rtx pro 6000 blackwell.*", "12.0", 1792,
         _halves(503.8, tf32=251.9, fp8=1007.6, int8=1007.6, fp4=2015.2), {"fp32": 125.0, "fp64": 1.95},
         "NVIDIA RTX PRO 6000 Blackwell datasheet"),
    Card("H100 PCIe", r"h100[ -]pcie", "9.0", 2039, _halves(756, tf32=378, fp8=1513, int8=1513, fp64=51.2),
         {"fp32": 51.2, "fp64": 25.6}, _H100),
    Card("H100 NVL", r"h100 nvl", "9.0", 3938, _HOPPER_NVL, _HOPPER_NVL_VECTOR, "NVIDIA H100 GPU datasheet"),
    Card("H100", r"h100( 80gb hbm3e?|[ -]sxm\d?.*)?", "9.0", 3350, _HOPPER_SXM, _HOPPER_SXM_VECTOR, _H100),
    Card("H800", r"h800( pcie)?", "9.0", 3350, _halves(989.4, tf32=494.7, fp8=1978.9, int8=1978.9, fp64=1.0),
         {"fp32": 66.9, "fp64": 1.0}, "NVIDIA H800 datasheet"),
    Card("H20", r"h20(-3e)?", "9.0", 4000, _halves(148, tf32=74, fp8=296, int8=296, fp64=1.0),
         {"fp32": 44, "fp64": 1.0}, "NVIDIA H20 datasheet"),
    Card("H200 NVL", r"h200 nvl", "9.0", 4800, _HOPPER_NVL, _HOPPER_NVL_VECTOR,
         "NVIDIA H200 Tensor Core GPU datasheet"),
    Card("H200", r"h200( sxm\d?.*)?", "9.0", 4800, _HOPPER_SXM, _HOPPER_SXM_VECTOR,
         "NVIDIA H200 Tensor Core GPU datasheet"),
    Card("GH200 144GB", r"gh200 144g.*", "9.0", 4900, _HOPPER_SXM, _HOPPER_SXM_VECTOR,
         "NVIDIA GH200 Grace Hopper Superchip datasheet"),
    Card("GH200", r"gh200( 480gb| 120gb)?", "9.0", 4000, _HOPPER_SXM, _HOPPER_SXM_VECTOR,
         "NVIDIA GH200 Grace Hopper Superchip datasheet"),
    Card("B200", r"b200.*", "10.0", 8000, _B200, {"fp32": 75, "fp64": 37}, "NVIDIA HGX B200 and DGX B200 datasheets"),
    Card("GB200", r"gb200.*", "10.0", 8000, _GB200, {"fp32": 80, "fp64": 40}, "NVIDIA GB200 NVL72 datasheet"),
    Card("B300", r"b300.*", "10.3", 8000, _halves(2250, tf32=1125, fp8=4500, int8=150, fp4=13500, fp64=1.25),
         {"fp32": 75, "fp64": 1.25}, "NVIDIA HGX B300 datasheet"),
    Card("GB300", r"gb300.*", "10.3", 8000, _halves(2500, tf32=1250, fp8=5000, int8=165, fp4=15000, fp64=1.39),
         {"fp32": 80, "fp64": 1.39}, "NVIDIA GB300 NVL72 datasheet"),
    Card("MI210", r"(instinct )?mi210", "gfx90a", 1638.4, _halves(181, fp32=45.3, int8=181, fp64=45.3),
         {"fp32": 22.6, "fp64": 22.6}, "AMD Instinct MI210 data sheet"),
    Card("MI250", r"(instinct )?mi250", "gfx90a", 1638.4, _halves(181.05, fp32=45.25, int8=181.05, fp64=45.25),
         {"fp32": 22.65, "fp64": 22.65}, "AMD Instinct MI250 data sheet, per graphics compute die"),
    Card("MI250X", r"(instinct )?mi250x.*", "gfx90a", 1638.4, _halves(191.5, fp32=47.85, int8=191.5, fp64=47.85),
         {"fp32": 23.95, "fp64": 23.95}, "AMD Instinct MI250X data sheet, per graphics compute die"),
    Card("MI300A", r"(instinct )?mi300a.*", "gfx942", 5300,
         _halves(980.6, tf32=490.3, fp32=122.6, fp8=1961.2, int8=1961.2, fp64=122.6), {"fp32": 122.6, "fp64": 61.3},
         _CDNA3),
    Card("MI300X", r"(instinct )?mi300x.*", "gfx942", 5300,
         _halves(1307.4, tf32=653.7, fp32=163.4, fp8=2614.9, int8=2614.9, fp64=163.4), {"fp32": 163.4, "fp64": 81.7},
         _CDNA3),
    Card("MI325X", r"(instinct )?mi325x.*", "gfx942", 6000,
         _halves(1307.4, tf32=653.7, fp32=163.4, fp8=2614.9, int8=2614.9, fp64=163.4), {"fp32": 163.4, "fp64": 81.7},
         "AMD Instinct MI325X data sheet"),
    Card("MI350X", r"(instinct )?mi350x.*", "gfx950", 8000,
         _halves(2306.9, fp32=144.2, fp8=4613.7, int8=4613.7, fp4=9227.5, fp64=72.1), {"fp32": 144.2, "fp64": 72.1},
         "AMD Instinct MI350X data sheet"),
    Card("MI355X", r"(instinct )?mi355x.*", "gfx950", 8000,
         _halves(2516.6, fp32=157.3, fp8=5033.2, int8=5033.2, fp4=10066.3, fp64=78.6), {"fp32": 157.3, "fp64": 78.6},
         "AMD Instinct MI355X data sheet"),
)  # fmt: skip
