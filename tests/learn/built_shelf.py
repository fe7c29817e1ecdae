"""Recordings built by hand, of what the shipped ones may not hold: other answers, other cards."""

from __future__ import annotations

import gzip
import json
import shutil
from typing import TYPE_CHECKING

from build import Build
from foretrace.learn.recorded import ABOUT, SHIPPED, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BF16 = "c10::BFloat16"
GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
LAUNCH = {"registers per thread": 168, "block": [384, 1, 1], "grid": [132, 1, 1], "shared memory": 213188}


def shelf(tmp_path: Path, **built: Build) -> Shelf:
    """The shipped recordings, with some more or other ones; underscores in names stand for hyphens."""
    folder = tmp_path / "built"
    shutil.copytree(SHIPPED, folder)
    for name, build in built.items():
        (folder / f"{name.replace('_', '-')}.json.gz").write_bytes(gzip.compress(build.text()))
    return Shelf(folder)


def noting(tmp_path: Path, **notes: object) -> Shelf:
    """The shipped recordings, with other notes beside them."""
    folder = tmp_path / "noted"
    shutil.copytree(SHIPPED, folder)
    about = json.loads((folder / ABOUT).read_text())
    about["notes"] |= notes
    (folder / ABOUT).write_text(json.dumps(about))
    return Shelf(folder)


def steps(one: Callable[[Build, float], None], widths: tuple[float, ...]) -> Build:
    """A recording of an H200 whose steps are as wide as given (microseconds); ``one`` fills a step from its start."""
    build = Build().gpu()
    start = 0.0
    for number, width in enumerate(widths):
        build.step(number, start, width - 1)
        one(build, start)
        start += width
    return build


def first_calls(first_us: float, later_us: float) -> Build:
    """A matmul whose first call is slow on the CPU."""
    widths = (first_us, later_us, later_us)

    def one(build: Build, at: float) -> None:
        width = first_us if at == 0 else later_us
        build.op("aten::matmul", at + 2, width - 10).op("aten::mm", at + 3, width - 12)
        build.kernel(GEMM, at + width - 6, 3, launched=at + width - 10, **LAUNCH)

    return steps(one, widths)


def sdpa(backend: str, kernels: list[tuple[str, float]], q: list[int], k: list[int], dtype: str = BF16) -> Build:
    """A call of SDPA that ran on a backend."""
    inner = {
        "math": "aten::_scaled_dot_product_attention_math",
        "flash": "aten::_scaled_dot_product_flash_attention",
        "efficient": "aten::_scaled_dot_product_efficient_attention",
        "cudnn": "aten::_scaled_dot_product_cudnn_attention",
    }[backend]
    given = {
        "dims": [q, k, k, [], [], [], [], []],
        "types": [dtype, dtype, dtype, "", "Scalar", "Scalar", "", "Scalar"],
        "concrete": ["", "", "", "", "0.", "True", "", "True"],
    }

    def one(build: Build, at: float) -> None:
        build.op("aten::scaled_dot_product_attention", at + 2, 80, **given)
        build.op(inner, at + 4, 70, dims=[q, k, k], types=[dtype] * 3)
        for number, (name, length) in enumerate(kernels):
            build.kernel(name, at + 30 + 20 * number, length, launched=at + 10 + number)

    return steps(one, (200.0, 200.0, 200.0))


def decoder(attention_us: float, linear_us: float, rest_us: float) -> Build:
    """A block with its attention annotated."""

    def one(build: Build, at: float) -> None:
        build.annotation("block_fwd", at + 1, 190)
        build.op("aten::linear", at + 2, 20).kernel(GEMM, at + 20, linear_us, launched=at + 5, **LAUNCH)
        build.op("aten::rms_norm", at + 30, 10).kernel(
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
            at + 90,
            rest_us,
            launched=at + 32,
        )
        build.annotation("attention", at + 60, 80)
        build.op("aten::bmm", at + 62, 20).kernel(GEMM, at + 100, attention_us / 4, launched=at + 65, **LAUNCH)
        build.op("aten::_softmax", at + 90, 20).kernel(
            "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)",
            at + 130,
            3 * attention_us / 4,
            launched=at + 95,
        )

    return steps(one, (400.0, 400.0, 400.0))


def launched_one_by_one(number: int, each_us: float, gap_us: float) -> Build:
    """Small kernels, each from a launch of its own."""

    def one(build: Build, at: float) -> None:
        for place in range(number):
            start = at + 2 + place * gap_us
            build.op("aten::mul", start, gap_us - 1)
            build.kernel(
                "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float>>(int)",
                start + gap_us / 2 + 1,
                each_us,
                launched=start + 1,
            )

    width = number * gap_us + 10
    return steps(one, (width, width, width))


def replayed(number: int, each_us: float, width_us: float) -> Build:
    """The same kernels behind one graph launch."""

    def one(build: Build, at: float) -> None:
        build.annotation("decode_step", at + 1, 15)
        build.replay(
            ["void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float>>(int)"] * number,
            ts=at + 12,
            dur=each_us,
            launched=at + 3,
        )

    return steps(one, (width_us, width_us, width_us))
