"""cuBLAS and cuBLASLt: BLAS-style names, xmma names, and the small kernels around them (GEMV, split-K sums)."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import cpp_dtype, dtype_words
from foretrace.names.libraries.blas_names import ARCHITECTURES, read_words
from foretrace.names.libraries.xmma_names import read_xmma
from foretrace.names.reading import Reading

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

# Start of the function's own name: (role, op, meaning). The order matters: longer before shorter.
_FUNCTIONS: Final[tuple[tuple[str, str, str | None, str], ...]] = (
    ("splitKreduce_kernel", "reduction", "split-K sum", "adds up the partial products of a split-K matmul"),
    ("reduce_1Block_kernel", "reduction", "dot product", "adds up the partial sums of a dot product"),
    ("gemvNSP_kernel", "gemm", "gemv", "matrix-vector product"),
    ("gemv2T_kernel", "gemm", "gemv", "matrix-vector product, matrix transposed"),
    ("gemv2N_kernel", "gemm", "gemv", "matrix-vector product, matrix as it is stored"),
    ("gemvx", "gemm", "gemv", "matrix-vector product"),
    ("gemv", "gemm", "gemv", "matrix-vector product"),
    ("gemmSN_", "gemm", None, "small matrix multiplication, multiply-adds on CUDA cores"),
    ("gemmk1_kernel", "gemm", None, "outer product: matrix multiplication with K = 1"),
    ("gemm_kernel", "gemm", None, "matrix multiplication, multiply-adds on CUDA cores"),
    ("batch_gemm_kernel", "gemm", None, "batched matrix multiplication, multiply-adds on CUDA cores"),
    ("sgemm_largek", "gemm", None, "float32 matrix multiplication for large K, on CUDA cores"),
    ("dot_kernel", "gemm", "dot", "dot product"),
    ("ger_kernel", "gemm", "ger", "outer product added to a matrix"),
    ("syr", "gemm", "syr", "symmetric rank update"),
    ("trsm", "solver", "trsm", "triangular solve"),
    ("batch_trsm", "solver", "trsm", "batched triangular solve"),
    ("kernel_trsm", "solver", "trsm", "triangular solve"),
    ("trsv", "solver", "trsv", "triangular solve"),
    ("trmv", "gemm", "gemv", "triangular matrix-vector product"),
    ("trmm", "gemm", "trmm", "multiplication by a triangular matrix"),
    ("scal_kernel", "elementwise", "scale", "multiplies by a scalar"),
    ("axpy", "elementwise", "axpy", "adds a multiple of one vector to another"),
    ("asum", "reduction", "asum", "sum of absolute values"),
    ("nrm2", "reduction", "nrm2", "Euclidean norm"),
    ("iamax", "reduction", "iamax", "position of the largest value"),
    ("copy_kernel", "copy", None, "copies a vector"),
    ("transpose_", "copy", "transpose", "transposes a matrix"),
    ("globalKernel", "elementwise", "epilogue", "applies bias or activation after a matmul"),
)

# Names that anybody may give to a kernel: they are cuBLAS's only where its parameters say so.
_COMMON: Final = frozenset(
    {
        *("dot_kernel", "scal_kernel", "axpy", "asum", "nrm2", "iamax", "copy_kernel", "ger_kernel", "syr", "trsm"),
        *("trsv", "trmv", "trmm", "gemv", "gemm_kernel", "batch_gemm_kernel"),
    }
)


def _dtypes_of(function: str, arguments: list[str]) -> tuple[str | None, str | None, str | None]:
    """(input, accumulate, output) among the template arguments of a cuBLAS function."""
    dtypes = [cpp_dtype(a) for a in arguments]
    if function.startswith(("gemv2", "kernel")) and len(dtypes) >= 6:  # noqa: PLR2004
        # <index, index, matrix, vector, result, computation, ...>
        return dtypes[2], dtypes[5], dtypes[4]
    if function.startswith("gemvNSP") and len(dtypes) >= 4:  # noqa: PLR2004
        return dtypes[0], dtypes[3], dtypes[2]
    floating = [d for d in dtypes if d and not d.startswith(("int", "uint", "bool"))]
    if function.startswith("splitKreduce"):
        return None, None, None
    return (floating[0] if floating else None), None, None


def _say_formats(reading: Reading, name: Name) -> None:
    arguments = name.arguments(24)
    dtype, accumulate, output = _dtypes_of(name.base, arguments)
    spelled = {cpp_dtype(a): a.removesuffix(" const") for a in reversed(arguments)}
    tensors = [_tensor().search(a) for a in arguments]
    operands = [t[1].removesuffix(" const") for t in tensors if t is not None]
    if operands and (kind := cpp_dtype(operands[0])) is not None and kind != dtype:
        # The format of the matrices; the plain arguments are then what it computes in.
        accumulate = accumulate or dtype
        dtype = kind
        spelled[kind] = operands[0]
    if dtype:
        reading.say(spelled[dtype], f"values in {dtype_words(dtype)}", input_dtype=dtype)
    if accumulate:
        meaning = f"accumulated in {dtype_words(accumulate)}"
        reading.say(spelled[accumulate], meaning, accumulate_dtype=accumulate)
    if output:
        reading.say(spelled[output], f"result in {dtype_words(output)}", output_dtype=output)


@functools.cache
def _tensor() -> re.Pattern[str]:
    return re.compile(r"TensorStridedBatched<([^<>]+)>")


def _read_function(name: Name) -> Reading | None:
    path = name.head
    for start, role, op, meaning in _FUNCTIONS:
        component = name.base
        if component == "kernel" and start == "gemvx" and "gemvx" in path:
            component = "gemvx"
        if not component.startswith(start) or (start in _COMMON and "cublas" not in name.text):
            continue
        library = "cuBLASLt" if "cublasLt" in path or start == "globalKernel" else "cuBLAS"
        reading = Reading(name)
        if library == "cuBLASLt" and "cublasLt" in path:
            reading.say("cublasLt", "cuBLASLt, the matrix library below torch.nn.Linear", library=library)
        unit = "cuda_core" if role in ("gemm", "solver") else None
        piece = component if component in name.text else start
        reading.say(piece, meaning, library=library, role=role, op=op, unit=unit)
        _say_formats(reading, name)
        return reading
    return None


def read(name: Name, _mark: str) -> Reading | None:
    """Take a cuBLAS name apart; None if it is none."""
    if "_xmma_" in name.head:
        return read_xmma(name)
    words = name.head.split("_")
    if words[0] in ARCHITECTURES and len(words) > 1:
        reading = Reading(name)
        read_words(reading, words)
        if reading.get("role") is None:
            return None
        proof = reading.proof("role")
        library = "cuDNN" if reading.get("role") == "convolution" else "cuBLAS"
        reading.add(proof, f"such names are {library}'s", library=library)
        return reading
    return _read_function(name)
