"""Which module reads which names: written down, so that reading a name imports only the module that reads it."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["ROUTES", "Route"]


class Route(NamedTuple):
    """A module, and the marks at which it is asked. It may decline; then the next one is asked."""

    module: str
    """A module below ``foretrace.names.libraries``."""
    where: str
    """Where the marks are looked for: ``start`` of the name, ``prefix`` of the function's path (``head``), anywhere
    in the path, ``near`` it (the first template arguments too), ``idents`` (the path; of a mangled name every
    identifier), ``text`` (anywhere), or ``any`` (no mark needed)."""
    marks: tuple[str, ...]


# The order is part of the meaning: what a name is made of (CUTLASS) comes after what was made of it (attention).
ROUTES: Final[tuple[Route, ...]] = (
    Route("driver", "start", ("Memcpy", "Memset", "memcpy", "Copy", "Fill", "__amd_rocclr")),
    Route("aten", "prefix", ("at::native", "native::", "at::cuda", "(anonymous namespace)::softmax_warp")),
    Route("inductor", "start", ("triton_",)),
    Route("cublas", "start", ("ampere_", "volta_", "turing_", "maxwell_")),
    Route("cutlass", "start", ("void cutlass::Kernel<cutlass_", "void cutlass::Kernel2<cutlass_")),
    Route("tensile", "start", ("Cijk_",)),
    Route("nvjet", "start", ("nvjet",)),
    Route(
        "fbgemm",
        "head",
        (
            *("fbgemm_gpu", "split_embedding", "bounds_check_indices", "linearize_index", "permute_pooled_embs"),
            "recat_copy_async",
        ),
    ),
    Route(
        "nccl",
        "head",
        (
            *("nccl", "rccl", "msccl", "multimem_", "one_shot_", "two_shot_", "cross_device_reduce", "nvshmem"),
            *("deep_ep", "::ep::", "symm_mem", "stream_write_value", "allreduce_fusion", "all_reduce_kernel"),
        ),
    ),
    Route("memory_efficient", "text", ("fmha_cutlass", "PyTorchMemEffAttention")),
    Route(
        "flash_attention",
        "text",
        (
            *("flash_fwd", "flash_bwd", "FlashAttn", "FlashAttention", "compute_attn_ws", "compute_dq_dk_dv_ws"),
            *("prepare_varlen", "get_mla_metadata"),
        ),
    ),
    Route(
        "tensorrt_llm",
        "head",
        (
            *("tensorrt_llm", "trtllm", "fmhaSm", "fmha_v2", "moe::dev", "kernel_mha", "mmha", "bmm_", "gemm_Mx"),
            *("masked_multihead_attention", "gemm_Bfloat16", "gemm_E4m3", "gemm_E2m1"),
        ),
    ),
    Route(
        "flashinfer",
        "text",
        ("flashinfer", "BatchPrefillWith", "BatchDecodeWith", "SinglePrefillWith", "SingleDecodeWith"),
    ),
    Route("deepgemm", "text", ("deep_gemm", "fp8_gemm_kernel")),
    Route("aiter", "head", ("aiter",)),
    Route("composable_kernel", "head", ("ck::", "ck_tile", "xdl_cshuffle")),
    Route(
        "miopen",
        "head",
        (
            *("igemm_fwd_", "igemm_bwd_", "igemm_wrw_", "miopen", "MIOpen", "batched_transpose_", "SubTensorOp"),
            *("Im2d2Col", "Im3d2Col", "Col2Im", "gridwise_convolution", "mloPooling", "naive_conv_", "Op1dTensor"),
            *("Op2dTensor", "Op3dTensor", "Op4dTensor", "OpTensor", "gcnAsmConv"),
        ),
    ),
    Route("cub", "head", ("cub::", "thrust::", "rocprim", "hipcub")),
    Route(
        "cudnn",
        "text",
        (
            *(
                "cudnn",
                "implicit_convolve",
                "convolve_sgemm",
                "2d_c1_k1_n",
                "2d_shmem_tiling",
                "wgrad_alg",
                "dgrad_engine",
                "dgrad_alg",
                "fft2d_",
                "fft1d_",
            ),
            *("flip_filter", "pointwise_mult_and_sum_complex", "nchwToNhwc", "nhwcToNchw", "FoldedNhwc"),
            *("foldedNhwc", "nhwcAddPadding", "LSTM_elementWise", "GRU_elementWise", "RNN_blockPersist"),
            *(
                "elemWiseRNN",
                "GENERIC_elementWise",
                "RNN_elementWise",
                "lstm_tile",
                "gru_tile",
                "op_tensor_kernel",
                "persistRNN",
                "_xmma_fprop",
            ),
            *("_xmma_dgrad", "_xmma_wgrad", "bn_fw_", "bn_bw_"),
        ),
    ),
    Route(
        "cufft",
        "head",
        (
            "_fft",
            "bluestein",
            "spRadix",
            "dpRadix",
            "spVector",
            "dpVector",
            "cufft",
            "postprocess_kernel",
            "preprocess_kernel",
        ),
    ),
    Route(
        "cusolver",
        "near",
        (
            *("cusolver", "magma", "getrf", "getrs", "getf2", "potrf", "potf2", "potrs", "geqrf", "geqr2"),
            *("gesvd", "svd_", "_svd", "bdsqr", "gebrd", "syev", "heev", "sytrd", "stedc", "steqr", "laed"),
            *("laswp", "larf", "orgqr", "ungqr", "ormqr", "ormtr", "trtri", "batch_FnrmA", "offA_stage"),
            *("batch_eye_kernel", "lascl_kernel", "colperm_kernel", "batch_symmetrize", "rotate_batch", "ipiv_"),
            *(
                "create_pivot",
                "setup_vhat",
                "lansy_",
                "scale_max<",
                "merge_ker<",
                "bubble_sort_onewarp",
                "set_info_ker",
                "copy_info_kernel",
                "pegasus",
                "laset",
                "lacpy",
                "jacobi",
            ),
        ),
    ),
    Route("cufft", "near", ("packR2C_kernel", "packC2R_kernel")),
    Route("cutlass", "text", ("cutlass",)),
    Route(
        "cublas",
        "head",
        (
            *("_xmma_", "kepler_", "maxwell_", "pascal_", "volta_", "turing_", "ampere_", "ada_", "hopper_"),
            *("blackwell_", "cublas", "gemv", "gemmSN", "gemmk1", "gemm_kernel", "sgemm_", "splitKreduce"),
            *("reduce_1Block", "dot_kernel", "scal_kernel", "axpy_kernel", "asum_kernel", "nrm2_kernel"),
            *("iamax_kernel", "ger_kernel", "trsm_", "_trsm", "trsv_", "trmv_", "trmm_", "syr", "transpose_readWrite"),
            *("epilogue::impl", "copy_kernel", "batch_trsm"),
        ),
    ),
    Route(
        "vllm",
        "idents",
        (
            *("sgl_", "sglang", "store_kvcache"),
            *("vllm", "paged_attention", "reshape_and_cache", "concat_and_cache", "rotary_embedding_kernel"),
            *("Marlin", "marlin", "act_and_mul_kernel", "merge_attn_states", "moe_align_block_size"),
            *("topkGating", "wvSplitK", "gptq", "awq", "LLGemm1"),
        ),
    ),
    Route(
        "bitsandbytes",
        "head",
        (
            *("kDequantizeBlockwise", "kQuantizeBlockwise", "kgemm_4bit", "kOptimizer", "kPreconditionOptimizer"),
            *("kInt8VectorQuant", "kdequant_mm"),
        ),
    ),
    Route(
        "owners",
        "idents",
        (
            *("transformer_engine", "layer_norm::ln_", "cuApplyLayerNorm", "vision::ops", "selective_scan"),
            *("causal_conv1d", "cusparse", "convert_CooToCsr", "xformers", "natten"),
        ),
    ),
    Route(
        "aten",
        "head",
        (
            *("elementwise_kernel", "multi_tensor_apply_kernel", "cunn_", "softmax_warp", "at::", "CatArrayBatched"),
            *(
                "compute_cuda_kernel",
                "indexing_backward",
                "randperm_",
                "reduction_prod_kernel",
                "indexSelect",
                "indexFunc",
                "kernelPointwiseApply",
                "kernelReduce",
            ),
        ),
    ),
    Route("triton", "any", ()),
    Route("unlisted", "any", ()),
)
