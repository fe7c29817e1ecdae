"""The kernel names that PyTorch walk-throughs decode come out with the same meaning."""

import pytest

from foretrace.names.decode import decode

# name -> facts, and words that the pieces' meanings hold.
NAMES = {
    "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn": (
        {
            "role": "gemm",
            "unit": "tensor_core",
            "input_dtype": "bf16",
            "accumulate_dtype": "fp32",
            "instruction": "mma 16x8x16",
            "tile": "128x256",
            "tile_k": 64,
            "stages": 3,
            "layout": "nn",
        },
        ["compute capability 8.x (A100 family)", "16x8x16", "3 stages in flight", "neither input transposed"],
    ),
    "ampere_bf16_s16816gemm_bf16_128x128_ldg8_relu_f2f_stages_32x5_tn": (
        {"role": "gemm", "unit": "tensor_core", "stages": 5, "tile_k": 32, "layout": "tn"},
        ["ReLU", "5 stages in flight", "the first input transposed"],
    ),
    "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x6_tn": (
        {"role": "gemm", "unit": "tensor_core", "tile": "64x64", "stages": 6},
        ["share one output tile along K"],
    ),
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(Params)": (
        {"library": "CUTLASS", "role": "gemm", "unit": "tensor_core", "arch": "sm80", "tile": "64x64", "stages": 6},
        ["aligned to 8 elements"],
    ),
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>(Params)": (
        {"role": "gemm", "unit": "tensor_core", "instruction": "wmma 16x16x16", "layout": "tn", "stages": 2},
        ["wmma interface", "16x16x16"],
    ),
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_32x1_nn_align8>(Params)": (
        {"role": "gemm", "unit": "tensor_core", "instruction": "wmma 16x16x16", "layout": "nn", "stages": 1},
        ["one stage"],
    ),
    "ampere_sgemm_128x64_tn": (
        {"role": "gemm", "unit": "cuda_core", "input_dtype": "fp32", "instruction": "ffma"},
        ["float32", "CUDA cores"],
    ),
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t, "
    "cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)": (
        {"library": "memory-efficient (xformers)", "role": "attention_forward", "unit": "tensor_core", "head_dim": 64},
        ["forward", "64 queries", "registers"],
    ),
    "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_3_64x64x64_4x1x1_kernel0_0": (
        {"library": "cuDNN", "role": "attention_forward", "unit": "tensor_core", "arch": "sm80", "head_dim": 64},
        ["scaled dot product attention", "without writing the score matrix"],
    ),
    "triton_poi_fused__unsafe_view_gelu_mul_0": (
        {"library": "Inductor Triton", "role": "elementwise", "fused_ops": ("_unsafe_view", "gelu", "mul")},
        ["pointwise", "torch.compile"],
    ),
    "_geglu_tanh_forward_kernel": (
        {"library": "Liger", "role": "elementwise", "op": "geglu"},
        ["Liger"],
    ),
    "Memcpy DtoD (Device -> Device)": (
        {"role": "copy", "unit": "none"},
        ["within the device's memory"],
    ),
}


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:60])
def test_a_walkthrough_name(name):
    facts, words = NAMES[name]
    decoded = decode(name)
    assert {fact: getattr(decoded, fact) for fact in facts} == facts
    meanings = " ".join(token.meaning for token in decoded.tokens)
    assert [word for word in words if word not in meanings] == []


def test_there_are_twelve():
    assert len(NAMES) == 12
