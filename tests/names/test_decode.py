"""Kernel names of every library in the tables, and what they say."""

import dataclasses

import pytest

from foretrace.names.decode import decode
from foretrace.names.decoded import MATRIX_ROLES, ROLES, UNITS, Decoded, Token

FLASH = (
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, "
    "Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, true, false, false, false, true, false, "
    "false>(pytorch_flash::Flash_fwd_params)"
)
EFFICIENT = (
    "fmha_cutlassF_{0}_aligned_64x64_rf_sm{1}(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm80, "
    "true, 64, 64, 64, true, true>::Params)"
)
CAST = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::"
    "{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, "
    "TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, "
    "at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int)"
)
MASKED_FILL = (
    "void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::masked_fill_kernel("
    "at::TensorIterator&, c10::Scalar const&)::{lambda()#1}::operator()() const::{lambda()#11}::operator()() const::"
    "{lambda(c10::Half, bool)#1}, std::array<char*, 3ul> >(int)"
)
FA3 = (
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, "
    "cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<128>, cute::C<176>, cute::C<64> >, 64, "
    "cutlass::bfloat16_t, float, cutlass::arch::Sm90, true> > > >(Params)"
)
SCALED_MM = (
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, "
    "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecializedFP8<4, cute::tuple<"
    "cute::C<1>, cute::C<2>, cute::C<1> >, X>, cute::tuple<cute::C<128>, cute::C<128>, cute::C<128> >, "
    "cutlass::float_e4m3_t> > >(Params)"
)

# name -> (library, role, unit, and the facts worth holding)
KNOWN = {
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT": (
        "cuBLASLt nvjet",
        "gemm",
        "tensor_core",
        {
            "input_dtype": "bf16",
            "accumulate_dtype": "fp32",
            "output_dtype": "bf16",
            "instruction": "wgmma",
            "tile": "256x128",
            "tile_k": 64,
            "stages": 4,
            "cluster": "1x2",
            "layout": "nn",
            "split_k": None,
            "arch": "sm90",
            "short": "bf16 GEMM 256x128, nvjet",
        },
    ),
    "nvjet_sm90_hsh_128x8_64x12_4x1_v_bz_splitK_NNT": (
        "cuBLASLt nvjet",
        "gemm",
        "tensor_core",
        {"input_dtype": "fp16", "split_k": True, "stages": 12},
    ),
    "nvjet_sm90_qqtst_128x64_128x8_1x2_h_bz_algo2_TNT": (
        "cuBLASLt nvjet",
        "gemm",
        "tensor_core",
        {"input_dtype": "fp8_e4m3", "accumulate_dtype": "fp32", "output_dtype": "bf16", "layout": "tn"},
    ),
    "nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT": (
        "cuBLASLt nvjet",
        "gemm",
        "tensor_core",
        {"arch": None, "instruction": "tcgen05"},
    ),
    "nvjet_tst_192x8_64x8_4x1_v_bz_TNT": (
        "cuBLASLt nvjet",
        "gemm",
        "tensor_core",
        {"arch": None, "instruction": None},
    ),
    "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn": (
        "cuBLAS",
        "gemm",
        "tensor_core",
        {
            "input_dtype": "bf16",
            "accumulate_dtype": "fp32",
            "output_dtype": "bf16",
            "instruction": "mma 16x8x16",
            "tile": "128x256",
            "tile_k": 64,
            "stages": 3,
            "layout": "tn",
            "arch": "ampere",
        },
    ),
    "ampere_sgemm_128x64_tn": (
        "cuBLAS",
        "gemm",
        "cuda_core",
        {"input_dtype": "fp32", "instruction": "ffma", "short": "fp32 GEMM 128x64, CUDA cores"},
    ),
    "volta_dgemm_64x64_nn": ("cuBLAS", "gemm", "cuda_core", {"input_dtype": "fp64", "instruction": "dfma"}),
    "turing_int8_i8816gemm_int8_128x128_ldg16_nt": (
        "cuBLAS",
        "gemm",
        "tensor_core",
        {"input_dtype": "int8", "accumulate_dtype": "int32", "instruction": "imma 8x8x16"},
    ),
    "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x64x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel"
    "__5x_cublas": (
        "cuBLAS",
        "gemm",
        "cuda_core",
        {"input_dtype": "fp32", "tile": "128x64", "tile_k": 8, "stages": 3, "layout": "nn", "arch": "sm80"},
    ),
    "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_warpgroupsize2x1x1_execute_segment_k_off_kernel"
    "__5x_cublas": ("cuBLAS", "gemm", "tensor_core", {"input_dtype": "tf32", "instruction": "wgmma"}),
    "sm90_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize32x32x32_stage5_warpsize2x2x1_tensor16x8x16_execute_kernel"
    "__5x_cublas": ("cuBLAS", "gemm", "tensor_core", {"input_dtype": "fp64", "instruction": "dmma 16x8x16"}),
    # The second kernel of a split carries the first one's name and multiplies nothing.
    "sm90_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x32_stage3_warpsize2x2x1_tensor16x8x16_aligna8_alignc8_"
    "execute_split_k_kernel__5x_cublas": ("cuBLAS", "reduction", "cuda_core", {"split_k": True, "instruction": None}),
    "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize64x128x64_warpgroupsize1x1x1_g1_execute_"
    "segment_k_off_kernel__5x_cudnn": (
        "cuDNN",
        "convolution",
        "tensor_core",
        {"op": "fprop", "input_dtype": "bf16", "layout": "nhwc", "instruction": "wgmma"},
    ),
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(Params)": (
        "CUTLASS",
        "gemm",
        "cuda_core",
        {"input_dtype": "fp32", "tile_k": 8, "stages": 4, "arch": "sm80"},
    ),
    "void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x64_128x3_tn_align16>(Params)": (
        "CUTLASS",
        "gemm",
        "tensor_core",
        {"input_dtype": "int8", "accumulate_dtype": "int32", "instruction": "imma 16x8x32"},
    ),
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_16x6_nn_align4>(Params)": (
        "CUTLASS",
        "gemm",
        "tensor_core",
        {"input_dtype": "tf32", "instruction": "mma 16x8x8"},
    ),
    "void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_32x32_16x5_tn_align1>(Params)": (
        "CUTLASS",
        "gemm",
        "tensor_core",
        {"input_dtype": "fp64", "instruction": "dmma 8x8x4"},
    ),
    "cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_1x1x1_0_tnn_align8_warpspecialized": (
        "CUTLASS",
        "gemm",
        "tensor_core",
        {"input_dtype": "fp16", "instruction": "wgmma 64x128x16", "tile": "128x128", "layout": "tn"},
    ),
    SCALED_MM: ("CUTLASS", "gemm", "tensor_core", {"input_dtype": "fp8_e4m3", "instruction": "wgmma"}),
    "void cutlass_cudnn::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_64x256_16x4_nhwc>(Params)": (
        "cuDNN",
        "convolution",
        "tensor_core",
        {"op": "dgrad", "input_dtype": "tf32"},
    ),
    "cudnn_infer_volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1": (
        "cuDNN",
        "convolution",
        "cuda_core",
        {"input_dtype": "fp32", "split_k": True},
    ),
    "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_cga1x1x1_kernel0_0": (
        "cuDNN",
        "attention_backward",
        "tensor_core",
        {"instruction": "wgmma", "input_dtype": "16-bit", "tile": "64x64", "head_dim": None},
    ),
    "void cudnn::fusion::compute_dot_do_o_specialized<true, 64>(void const*)": (
        "cuDNN",
        "attention_backward",
        "cuda_core",
        {},
    ),
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>(cudnnTensorStruct)": (
        "cuDNN",
        "normalization",
        "cuda_core",
        {"op": "batch_norm", "input_dtype": "fp32"},
    ),
    "void fft2d_r2c_32x32<float, false, 1u, false>(float2*, float const*)": ("cuDNN", "convolution", "cuda_core", {}),
    "void ampere_lstm_tile16<16, 1>(params_t)": ("cuDNN", "recurrent", "tensor_core", {"instruction": "mma"}),
    FLASH: (
        "FlashAttention 2",
        "attention_forward",
        "tensor_core",
        {
            "input_dtype": "bf16",
            "head_dim": 64,
            "tile": "128x128",
            "instruction": "mma 16x8x16",
            "short": "flash attention forward bf16 d64",
        },
    ),
    "void pytorch_flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<256, 64, 64, 4, false, false, "
    "cutlass::half_t, X>, 4, 1, true>(Params)": ("FlashAttention 2", "attention_combine", "cuda_core", {}),
    "void pytorch_flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, "
    "false, cutlass::bfloat16_t, X> >(Params)": ("FlashAttention 2", "attention_backward", "cuda_core", {}),
    FA3: (
        "FlashAttention 3",
        "attention_forward",
        "tensor_core",
        {"instruction": "wgmma", "tile": "128x176", "head_dim": 64, "input_dtype": "bf16", "arch": "sm90"},
    ),
    "kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensorptrbf16gmem_0": (
        "FlashAttention 4",
        "attention_forward",
        "tensor_core",
        {"instruction": "tcgen05", "arch": "sm100", "input_dtype": "bf16"},
    ),
    EFFICIENT.format("bf16", 80): (
        "memory-efficient (xformers)",
        "attention_forward",
        "tensor_core",
        {"input_dtype": "bf16", "head_dim": 64, "tile": "64x64", "arch": "sm80"},
    ),
    EFFICIENT.format("f32", 80): (
        "memory-efficient (xformers)",
        "attention_forward",
        "tensor_core",
        {"input_dtype": "fp32", "instruction": "mma 16x8x8"},
    ),
    EFFICIENT.format("f32", 75): ("memory-efficient (xformers)", "attention_forward", "cuda_core", {}),
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u>(Params)": (
        "FlashInfer",
        "attention_decode",
        "cuda_core",
        {},
    ),
    "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext": (
        "TensorRT-LLM",
        "attention_forward",
        "tensor_core",
        {
            "instruction": "tcgen05",
            "input_dtype": "fp8_e4m3",
            "output_dtype": "bf16",
            "head_dim": 64,
            "tile": "128x128",
        },
    ),
    MASKED_FILL: (
        "ATen",
        "elementwise",
        "cuda_core",
        {"op": "masked_fill", "input_dtype": "fp16", "short": "elementwise: masked_fill"},
    ),
    CAST: ("ATen", "cast", "cuda_core", {"output_dtype": "fp32", "input_dtype": None}),
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::Half, at::native::ArgMaxOps<float>, unsigned "
    "int, long, 4, 4> >(X)": ("ATen", "reduction", "cuda_core", {"op": "argmax", "input_dtype": "fp16"}),
    "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>(X)": (
        "ATen",
        "softmax",
        "cuda_core",
        {"input_dtype": "bf16", "accumulate_dtype": "fp32", "output_dtype": "bf16"},
    ),
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, true>(int, float)": (
        "ATen",
        "normalization",
        "cuda_core",
        {"op": "rms_norm"},
    ),
    "void at::native::triu_tril_kernel<bool, int, true, 8, false>(X)": (
        "ATen",
        "elementwise",
        "cuda_core",
        {"op": "triu"},
    ),
    "per_channel_cast_and_transpose(float*)": ("unknown", "cast", "cuda_core", {}),
    "triton_tem_fused_flex_attention_0": ("Inductor Triton", "attention_forward", "tensor_core", {}),
    "triton_tem_fused_addmm_6_0d1d2d3d": ("Inductor Triton", "gemm", "tensor_core", {"input_dtype": None}),
    "triton_red_fused_add_native_layer_norm_5_0d1d2d3d4d5d6d7d8de9de": (
        "Inductor Triton",
        "normalization",
        "cuda_core",
        {"fused_ops": ("add", "native_layer_norm")},
    ),
    "triton_poi_fused__to_copy_1": ("Inductor Triton", "cast", "cuda_core", {"fused_ops": ("_to_copy",)}),
    "triton__0d1d2de": ("Inductor Triton", "other", "unknown", {"fused_ops": ()}),
    "liger_cross_entropy_kernel": ("Liger", "reduction", "cuda_core", {"op": "cross_entropy"}),
    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u>(X)": (
        "DeepGEMM",
        "gemm",
        "tensor_core",
        {"instruction": "wgmma", "input_dtype": "fp8_e4m3"},
    ),
    "void vllm::merge_attn_states_kernel<__nv_bfloat16, uint4, 128u>(X)": (
        "vLLM",
        "attention_combine",
        "cuda_core",
        {},
    ),
    "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<X>(X)": ("CUB/Thrust", "sort", "cuda_core", {}),
    "void vector_fft_symm_r2c<2048u, EPT<16u>, 1u, 0u, unsigned int, float>(X)": (
        "cuFFT",
        "fft",
        "cuda_core",
        {"op": "r2c", "input_dtype": "fp32"},
    ),
    "void kernel<getrf_wo_pivot_params_<float, 0, 256, 1, 64, 64, 68, 8, 1, 1> >(X)": (
        "cuSOLVER",
        "solver",
        "cuda_core",
        {},
    ),
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": (
        "NCCL",
        "communication",
        "none",
        {"op": "all_reduce", "input_dtype": "bf16"},
    ),
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)": (
        "NCCL",
        "communication",
        "none",
        {"op": "all_reduce", "input_dtype": "fp32"},
    ),
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1_GSU4_ISA942_WG64_4_1": (
        "hipBLASLt/Tensile",
        "gemm",
        "tensor_core",
        {
            "input_dtype": "bf16",
            "output_dtype": "bf16",
            "accumulate_dtype": "fp32",
            "instruction": "mfma 16x16",
            "tile": "256x192",
            "tile_k": 64,
            "layout": "tn",
            "split_k": True,
            "arch": "gfx942",
        },
    ),
    "Cijk_Ailk_Bjlk_SB_MT64x64x16_SE_1LDSB0_ISA1030_TT4_4": (
        "hipBLASLt/Tensile",
        "gemm",
        "cuda_core",
        {"input_dtype": "fp32", "accumulate_dtype": None, "layout": "nt"},
    ),
    "_ZN7ck_tile6kentryILi1ENS_13FmhaFwdKernelINS_5otherE": (
        "Composable Kernel",
        "attention_forward",
        "tensor_core",
        {"instruction": "mfma"},
    ),
    "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_": (
        "AITER",
        "normalization",
        "cuda_core",
        {},
    ),
    "igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32_wt32x32x8_ws1x2_wr2x2": (
        "MIOpen",
        "convolution",
        "tensor_core",
        {"op": "wgrad", "input_dtype": "bf16", "tile": "128x256", "instruction": "mfma 32x32x8"},
    ),
    "Memcpy DtoD (Device -> Device)": ("driver", "copy", "none", {"op": "DtoD", "short": "copy: DtoD"}),
    "Memset (Device)": ("driver", "memset", "none", {"short": "memset"}),
}


@pytest.mark.parametrize("name", KNOWN, ids=lambda name: name[:60])
def test_a_name_says_who_what_and_where(name):
    library, role, unit, facts = KNOWN[name]
    decoded = decode(name)
    assert (decoded.library, decoded.role, decoded.unit) == (library, role, unit)
    assert {fact: getattr(decoded, fact) for fact in facts} == facts


@pytest.mark.parametrize("name", [*KNOWN, "", "Kernel", "my_kernel(float*)"], ids=lambda name: name[:60])
def test_every_fact_names_the_piece_that_proves_it(name):
    decoded = decode(name)
    assert decoded.role in ROLES
    assert decoded.unit in UNITS
    assert all(token.text and token.text in name for token in decoded.tokens)
    said = {
        field.name
        for field in dataclasses.fields(Decoded)
        if field.name not in ("name", "short", "words", "tokens")
        and getattr(decoded, field.name) not in (None, (), "unknown", "other")
    }
    assert said <= set(decoded.evidence)
    assert 0 < len(decoded.short) <= 40
    assert decoded.words.endswith(".")


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(X)", "scatter"),
        ("void vllm::concat_and_cache_mla_kernel<__nv_bfloat16>(X)", "scatter"),
        ("void flashinfer::AppendPagedKVCacheKernel<128u, 8u, __nv_bfloat16, int>(X)", "scatter"),
        ("create_flashinfer_kv_indices_triton", "setup"),
        ("get_num_kv_splits_triton", "setup"),
        ("void (anonymous namespace)::prepare_varlen_num_blocks_kernel<1>(X)", "setup"),
        ("build_attention_mask_kernel", "elementwise"),
        ("attention_bias_add_kernel", "elementwise"),
        ("triton_poi_fused__scaled_dot_product_flash_attention_cat_transpose_view_10", "copy"),
        ("triton_per_fused_flex_attention_backward_0", "reduction"),
        (
            "void at::native::(anonymous namespace)::transform_bias_rescale_qkv_kernel<float, float, true>(X)",
            "elementwise",
        ),
        ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(X)", "elementwise"),
    ],
)
def test_what_mentions_attention_but_is_not(name, role):
    assert decode(name).role == role


def test_a_fused_name_that_mentions_a_matmul_is_not_one():
    assert decode("triton_poi_fused_addmm_gelu_view_15").role == "elementwise"
    assert decode("triton_poi_fused_convolution_relu_2").role == "elementwise"


@pytest.mark.parametrize(
    ("name", "ops"),
    [
        ("triton_poi_fused__unsafe_view_gelu_mul_0", ("_unsafe_view", "gelu", "mul")),
        (
            "triton_per_fused__softmax_exp_masked_fill_mul_prepare_softmax_online_sub_view_0",
            ("_softmax", "exp", "masked_fill", "mul", "prepare_softmax_online", "sub", "view"),
        ),
        ("triton_poi_fused_0", ()),
        ("triton_poi_fused_add__to_copy_3", ("add", "_to_copy")),
        ("triton_poi_fused_max_pool2d_with_indices_relu_7", ("max_pool2d_with_indices", "relu")),
    ],
)
def test_fused_operations_are_split_where_their_names_end(name, ops):
    assert decode(name).fused_ops == ops


def test_a_name_that_says_nothing_is_not_guessed_at():
    decoded = decode("Kernel")
    assert (decoded.library, decoded.role, decoded.unit) == ("unknown", "other", "unknown")
    assert decoded.input_dtype is None
    assert decoded.tile is None
    # The words "float" in a signature give the format, and without a word of tensor cores it is CUDA cores.
    naive = decode("matmul_k(float*, float*, float*, int, int, int)")
    assert (naive.role, naive.unit, naive.input_dtype) == ("gemm", "cuda_core", "fp32")
    # Common words are no library's property.
    assert decode("copy_kernel(float*, float*)").library == "unknown"
    assert decode("void dot_kernel<float>(float*)").library == "unknown"


def test_the_device_settles_what_the_name_leaves_to_it():
    generic = "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
    assert decode(generic).library == "NCCL"
    assert decode(generic, device="AMD Instinct MI300X").library == "RCCL"
    early = "nvjet_tst_192x8_64x8_4x1_v_bz_TNT"
    assert decode(early, device="NVIDIA H200").instruction == "wgmma"
    assert decode(early, device="NVIDIA B200").instruction == "tcgen05"
    assert decode(early, device="NVIDIA GB200").instruction == "tcgen05"
    assert decode(early).instruction is None


def test_a_collective_takes_its_operation_from_the_args():
    generic = "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
    decoded = decode(generic, {"Collective name": "allreduce", "dtype": "BFloat16"})
    assert (decoded.op, decoded.input_dtype) == ("allreduce", "bf16")
    assert decoded.short == "communication: allreduce"
    # What the name says stands before the args.
    said = decode("ncclDevKernel_AllGather_RING_LL(X)", {"Collective name": "other", "dtype": 7})
    assert said.op == "all_gather"


def test_names_as_nsight_compute_spells_them():
    name = "void native::<unnamed>::vectorized_layer_norm_kernel<c10::BFloat16, float, 0>(int, T2, const T1 *)"
    assert (decode(name).library, decode(name).role) == ("ATen", "normalization")


def test_a_mangled_name_is_read_by_its_identifiers():
    name = (
        "_ZN2at6native54_GLOBAL__N__d8ceb000_21_DistributionNormal_cu_17e44f7d43distribution_elementwise_grid_stride_"
        "kernelIfLi4EZNS0_9templates4cuda20normal_and_transformIffLm4EPNS_17CUDAGeneratorImplEZZZNS4_13normal_kernel"
    )
    decoded = decode(name)
    assert (decoded.library, decoded.role, decoded.op) == ("ATen", "random", "normal")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "name",
    [
        "\x1b[31mgemm\x07",
        "a\nb\tc" * 50,
        "<" * 5_000,
        "void at::native::reduce_kernel<" + "(" * 5_000,
        "_Z" + "9" * 4_000,
        "_ZN3000000000000foo",
        "ampere_" + "_" * 10_000,
        "triton_poi_fused_" + "_" * 10_000,
        "\ud800gemm",
        "İ" * 300 + "gemm",
        "x" * 1_000_000,
        # Patterns that could be matched in very many ways.
        "foo_" + "1" * 5_000 + "!",
        "foo_" + "1d" * 5_000 + "z",
        "triton_poi_fused_" + "d" * 10_000 + "z",
        "triton__" + "1" * 10_000 + "z",
        "fmhaSm1Kernel_QA" + "KvAO" * 4_000,
        "bmm_" + "a_" * 8_000,
        "_matmul_ogs_NNT_" + "x" * 10_000,
        "igemm_fwd_gtc_n" + "_bf16_" * 3_000,
        "fmha_cutlassF_" + "_aligned" * 2_000,
        "Cijk_Ailk_Bljk_" + "B" * 10_000 + "_" * 5_000,
        "fmha_v2" + "_bf16_1_1_S_" * 1_500,
        "void cutlass::device_kernel<" + "cute::tuple<cute::C<1>, " * 800,
    ],
    ids=range(23),
)
def test_hostile_names_are_read_in_time_and_kept_short(name):
    decoded = decode(name)
    assert decoded.name == name
    assert decoded.role in ROLES
    assert len(decoded.short) <= 40
    assert decoded.short.isprintable()
    assert all(token.text in name for token in decoded.tokens)


def test_decoding_is_cached_by_name():
    assert decode("ampere_sgemm_128x64_tn") is decode("ampere_sgemm_128x64_tn")


def test_json_has_every_fact_and_null_where_the_name_is_silent():
    record = decode("triton_tem_fused_mm_0").to_json()
    assert list(record) == [field.name for field in dataclasses.fields(Decoded)]
    assert record["input_dtype"] is None
    assert record["fused_ops"] == ["mm"]
    assert record["tokens"][0] == {
        "text": "triton",
        "meaning": "generated by Inductor (torch.compile) in Triton",
        "fact": "library",
    }
    assert isinstance(decode("Memset (Device)").tokens[0], Token)


def test_matrix_roles_are_roles():
    assert MATRIX_ROLES < ROLES
