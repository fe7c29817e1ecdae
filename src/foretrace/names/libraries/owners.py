"""Libraries of which a few kernels are met: whose they are is a namespace or a word, the rest their names say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.names.libraries.table import Function, read_table

if TYPE_CHECKING:
    from foretrace.names.reading import Reading
    from foretrace.names.spelling import Name

__all__ = ["read"]

# Mark -> (library, what it is).
_OWNERS: Final[dict[str, tuple[str, str]]] = {
    "transformer_engine": ("Transformer Engine", "Transformer Engine, NVIDIA's fp8 training"),
    "layer_norm::ln_": ("Apex", "Apex, NVIDIA's fast layer norm"),
    "cuApplyLayerNorm": ("Apex", "Apex layer norm"),
    "vision::ops": ("torchvision", "torchvision"),
    "selective_scan": ("Mamba", "Mamba, state space models"),
    "causal_conv1d": ("Mamba", "Mamba's short convolution"),
    "cusparse": ("cuSPARSE", "cuSPARSE, sparse matrices"),
    "convert_CooToCsr": ("cuSPARSE", "cuSPARSE, sparse matrices"),
    "xformers": ("xFormers", "xFormers"),
    "natten": ("NATTEN", "neighborhood attention"),
}

_FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("ln_fwd", "normalization", "layer_norm", "layer norm, forward"),
    Function("ln_bwd", "normalization", "layer_norm backward", "layer norm, backward"),
    Function("nms_kernel", "gather", "nms", "drops overlapping boxes"),
    Function("roi_align_backward", "scatter", "roi_align backward", "interpolates regions, backward"),
    Function("roi_align", "gather", "roi_align", "interpolates regions"),
    Function("deform", "gather", "deformable im2col", "reads displaced image patches"),
    Function("selective_scan", "reduction", "selective scan", "running state of a state space model"),
    Function("causal_conv1d", "convolution", None, "short convolution along the sequence", "cuda_core"),
    Function("csr_partition", "setup", "partition", "divides the rows of a sparse matrix among blocks"),
    Function("CooToCsr", "setup", "row offsets", "turns row indices into offsets"),
    Function("mm_kernel", "gemm", "spmm", "sparse matrix multiplication", "cuda_core"),
    Function("csrmm", "gemm", "spmm", "sparse matrix multiplication", "cuda_core"),
    Function("csrmv", "gemm", "spmv", "sparse matrix-vector product", "cuda_core"),
    Function("scaled_masked_softmax", "softmax", "masked", "scaled and masked softmax"),
    Function("scaled_upper_triang_masked_softmax", "softmax", "causal", "scaled causal softmax"),
    Function("cast_transpose", "cast", "cast and transpose", "converts and transposes"),
)


def read(name: Name, mark: str) -> Reading | None:
    """Take a name of one of these libraries apart."""
    library, meaning = _OWNERS[mark]
    return read_table(
        name, library, mark, meaning, _FUNCTIONS, matrix_unit="cuda_core", why="such kernels run on CUDA cores"
    )
