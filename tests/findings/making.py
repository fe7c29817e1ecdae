"""Small traces of the things that rules look for: a step in a few lines. Times are microseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from build import Build

__all__ = [
    "BF16",
    "FLASH",
    "FP32",
    "LOADER",
    "Step",
    "busy_host",
    "item",
    "sdpa",
    "slow_download",
    "steps",
    "tiny",
    "unfused",
]

LAUNCH = 5.5
"""What a launch takes on the host."""
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
BF16, FP32 = "c10::BFloat16", "float"
FLASH = (
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>>"
)
FMHA = "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)"
CUDNN = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0"
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>"
GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
SGEMM = (
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel"
)
MUL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, "
    "at::native::binary_internal::MulFunctor<float>>, std::array<char*, 2ul>>(int)"
)
COPY = "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)"
_KERNELS = {"flash": FLASH, "efficient": FMHA, "cudnn": CUDNN}
_INNER = {
    "flash": "aten::_scaled_dot_product_flash_attention",
    "efficient": "aten::_scaled_dot_product_efficient_attention",
    "cudnn": "aten::_scaled_dot_product_cudnn_attention",
    "math": "aten::_scaled_dot_product_attention_math",
}


class Step:
    """One step: a clock for the host and one for the device, which runs behind it."""

    def __init__(self, build: Build, number: int, start: float, length: float) -> None:
        self.build = build.step(number, start, length)
        self.number = number
        self.host = start + 1
        self.device = start + 3

    def op(self, name: str, inside: Callable[[Step], Any] | None = None, **inputs: Any) -> Step:
        """An op, around what ``inside`` adds."""
        at = len(self.build.events)
        start = self.host
        self.build.op(name, start, 1, **inputs)
        self.host += 0.25
        if inside is not None:
            inside(self)
        self.host += 0.25
        self.build.events[at]["dur"] = self.host - start
        self.host += 0.25
        return self

    def kernel(self, name: str, dur: float = 20, **more: Any) -> Step:
        """A kernel, launched now; the device runs it when it is free."""
        start = max(self.device, self.host + 2)
        self.build.kernel(name, start, dur, launched=self.host, **more)
        self.host += LAUNCH
        self.device = start + dur
        return self

    def memcpy(self, name: str, dur: float = 20, **more: Any) -> Step:
        """A copy."""
        start = max(self.device, self.host + 2)
        self.build.memcpy(name, start, dur, launched=self.host, **more)
        self.host += LAUNCH
        self.device = start + dur
        return self

    def sync(self, name: str = "cudaStreamSynchronize") -> Step:
        """The host waits until the device is done."""
        length = max(1.0, self.device - self.host)
        self.build.call(name, self.host, length)
        self.host += length + 0.5
        return self

    def leaf(self, name: str, kernel: str, dur: float = 20, **inputs: Any) -> Step:
        """An op with one kernel."""
        return self.op(name, lambda step: step.kernel(kernel, dur), **inputs)


def steps(
    make: Callable[[Step], Any], number: int = 3, period: float = 1000, gpu: str = "NVIDIA H200", **device: Any
) -> Build:
    """Some steps, each made the same way; the device is an H200 unless said otherwise."""
    build = Build().gpu(gpu, **device)
    for at in range(number):
        make(Step(build, at + 1, at * period, period * 0.9))
    return build


def sdpa(
    step: Step,
    backend: str = "flash",
    q: tuple[int, ...] = (8, 16, 1024, 64),
    k: tuple[int, ...] | None = None,
    v: tuple[int, ...] | None = None,
    *,
    dtype: str = BF16,
    mask: tuple[int, ...] | None = None,
    mask_dtype: str = BF16,
    causal: bool = False,
    dropout: float = 0.0,
    gqa: bool = False,
    dur: float = 100,
    inside: Callable[[Step], Any] | None = None,
) -> Step:
    """One call of `scaled_dot_product_attention` that ran on a backend."""
    shapes = [list(q), list(k or q), list(v or k or q), list(mask) if mask else [], [], [], [], []]
    kinds = [dtype, dtype, dtype, mask_dtype if mask else "", "Scalar", "Scalar", "", "Scalar"]
    concrete = ["", "", "", "", str(dropout), str(causal), "", str(gqa)]

    def run(step: Step) -> None:
        if inside is not None:
            inside(step)
        if backend in _KERNELS:
            step.kernel(_KERNELS[backend], dur)

    return step.op(
        "aten::scaled_dot_product_attention",
        lambda step: step.op(_INNER[backend], run, dims=shapes, types=kinds, concrete=concrete),
        dims=shapes,
        types=kinds,
        concrete=concrete,
    )


def unfused(
    step: Step,
    matrices: int = 128,
    length: int = 1024,
    head_dim: int = 64,
    *,
    dtype: str = BF16,
    gemm: str = GEMM,
    between: Callable[[Step], Any] | None = None,
    shapes: bool = True,
) -> Step:
    """Attention written out: bmm, what lies between, softmax, bmm."""

    def given(*sizes: list[int]) -> dict[str, Any]:
        return {"dims": list(sizes), "types": [dtype] * len(sizes)} if shapes else {}

    query, key = [matrices, length, head_dim], [matrices, head_dim, length]
    scores, value = [matrices, length, length], [matrices, length, head_dim]
    step.leaf("aten::bmm", gemm, 80, **given(query, key))
    if between is not None:
        between(step)
    step.leaf("aten::_softmax", SOFTMAX, 250, **given(scores))
    return step.leaf("aten::bmm", gemm, 80, **given(scores, value))


def tiny(step: Step, number: int = 10) -> None:
    """Kernels of a microsecond, one after another."""
    for _ in range(number):
        step.leaf("aten::mul", MUL, 1)


def busy_host(step: Step, name: str, length: float) -> None:
    """An op that keeps the CPU busy and launches nothing."""
    step.op(name, lambda step: setattr(step, "host", step.host + length))


def item(step: Step) -> None:
    """A value read on the host: a copy of four bytes, waited for."""

    def read(step: Step) -> None:
        step.op(
            "aten::_local_scalar_dense", lambda step: step.memcpy("Memcpy DtoH (Device -> Pinned)", 2, bytes=4).sync()
        )

    step.op("aten::item", read)


def slow_download(step: Step, length: float) -> None:
    """A blocking copy to the host that begins only after a while."""
    start = step.device = max(step.device, step.host + 2)
    step.build.activity(
        "Memcpy DtoH (Device -> Pageable)", step.host + length, 2, step.host, "gpu_memcpy", "cudaMemcpy", bytes=64
    )
    step.build.events[-2]["dur"] = length + 4
    step.host += length + 5
    step.device = start + length + 2
