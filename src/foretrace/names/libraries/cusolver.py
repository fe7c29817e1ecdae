"""cuSOLVER and MAGMA: factorizations, eigenvalues, singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.names.libraries.table import Function, read_table

if TYPE_CHECKING:
    from foretrace.names.reading import Reading
    from foretrace.names.spelling import Name

__all__ = ["read"]

_FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("magma_sgemm", "gemm", None, "matrix multiplication in float32 on CUDA cores", "cuda_core", "ffma"),
    Function("magma_dgemm", "gemm", None, "matrix multiplication in float64 on CUDA cores", "cuda_core", "dfma"),
    Function("getrf_wo_pivot", "solver", "cholesky or lu", "factorization without pivoting"),
    Function("getrf", "solver", "lu", "LU factorization"),
    Function("getrs", "solver", "lu solve", "solve after LU"),
    Function("getf2", "solver", "lu", "LU of a narrow panel"),
    Function("potrf", "solver", "cholesky", "Cholesky factorization"),
    Function("potf2", "solver", "cholesky", "Cholesky of a small block"),
    Function("potrs", "solver", "cholesky solve", "solve after Cholesky"),
    Function("geqrf", "solver", "qr", "QR factorization"),
    Function("geqr2", "solver", "qr", "QR of a narrow panel"),
    Function("gesvd", "solver", "svd", "singular values"),
    Function("svd", "solver", "svd", "singular values"),
    Function("bdsqr", "solver", "svd", "singular values of a bidiagonal matrix"),
    Function("gebrd", "solver", "svd", "reduction to bidiagonal form"),
    Function("syev", "solver", "eigh", "eigenvalues of a symmetric matrix"),
    Function("heev", "solver", "eigh", "eigenvalues of a Hermitian matrix"),
    Function("sytrd", "solver", "eigh", "reduction to tridiagonal form"),
    Function("stedc", "solver", "eigh", "eigenvalues by divide and conquer"),
    Function("steqr", "solver", "eigh", "eigenvalues of a tridiagonal matrix"),
    Function("laed", "solver", "eigh", "eigenvalues by divide and conquer"),
    Function("laswp", "solver", "row swaps", "swaps rows after pivoting"),
    Function("larf", "solver", "qr", "applies a reflector"),
    Function("larft", "solver", "qr", "collects reflectors"),
    Function("orgqr", "solver", "qr", "builds Q"),
    Function("ungqr", "solver", "qr", "builds Q"),
    Function("ormqr", "solver", "qr", "multiplies by Q"),
    Function("ormtr", "solver", "eigh", "multiplies by the reflectors"),
    Function("trtri", "solver", "inverse", "inverse of a triangular matrix"),
    Function("laset", "solver", "set matrix", "fills a matrix"),
    Function("lacpy", "solver", "copy matrix", "copies a matrix"),
    Function("FnrmA", "solver", "norm", "Frobenius norm"),
    Function("offA_", "solver", "off-diagonal norm", "how far a matrix is from diagonal"),
    Function("eye_kernel", "solver", "identity", "fills identity matrices"),
    Function("lascl", "solver", "scale matrix", "scales a matrix"),
    Function("lansy", "solver", "norm", "norm of a symmetric matrix"),
    Function("scale_max", "solver", "scale matrix", "scales a matrix by its largest entry"),
    Function("symmetrize", "solver", "symmetrize", "copies one triangle over the other"),
    Function("rotate_batch", "solver", "rotations", "applies rotations"),
    Function("colperm", "solver", "column swaps", "permutes columns"),
    Function("merge_ker", "solver", "eigh", "merges sorted eigenvalues"),
    Function("bubble_sort", "solver", "sort values", "sorts singular or eigenvalues"),
    Function("ipiv_lower", "solver", "row swaps", "swaps rows after pivoting"),
    Function("ipiv_", "setup", "pivots", "converts pivot indices"),
    Function("create_pivot", "setup", "pivots", "turns row swaps into a permutation"),
    Function("setup_vhat", "solver", "qr", "collects reflectors"),
    Function("set_info", "setup", "info", "clears the status of a solver"),
    Function("copy_info", "setup", "info", "copies the status of a solver"),
    Function("sortsign_by_key", "solver", "sort values", "sorts singular or eigenvalues"),
    Function("localscan", "solver", "scan", "running sum inside a sort"),
    Function("scan_merge", "solver", "scan", "running sum inside a sort"),
    Function("pegasus", "solver", "sort values", "sorts singular or eigenvalues"),
    Function("jacobi", "solver", "jacobi", "a sweep of Jacobi rotations"),
)


def read(name: Name, mark: str) -> Reading | None:
    """Take the name of a solver's kernel apart."""
    whole = f"{name.head} {name.body[:200]}"
    magma = "magma" in name.head
    library = "MAGMA" if magma else "cuSOLVER"
    meaning = "MAGMA, linear algebra" if magma else "cuSOLVER, linear algebra"
    return read_table(
        name, library, mark, meaning, _FUNCTIONS, where=whole, matrix_unit="cuda_core", why="on CUDA cores"
    )
