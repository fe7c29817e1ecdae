"""FBGEMM: embedding tables with their optimizers, sparse inputs, fp8 conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.names.libraries.table import Function, read_table

if TYPE_CHECKING:
    from foretrace.names.reading import Reading
    from foretrace.names.spelling import Name

__all__ = ["read"]

_FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("codegen_forward", "gather", "embedding_bag", "reads and adds embedding rows"),
    Function("find_long_segments", "setup", "segments", "finds rows with many gradients"),
    Function("grad_indice_weights", "reduction", "embedding backward", "gradient of the lookup's weights"),
    Function("adagrad", "optimizer", "embedding backward + adagrad", "adds gradients and updates embedding rows"),
    Function("rowwise_adam", "optimizer", "embedding backward + adam", "adds gradients and updates embedding rows"),
    Function("codegen_backward", "optimizer", "embedding backward + update", "adds gradients and updates rows"),
    Function(
        "embedding_backward_codegen", "optimizer", "embedding backward + update", "adds gradients and updates rows"
    ),
    Function("bounds_check_indices", "setup", "bounds check", "checks indices"),
    Function("linearize_index", "setup", "indices", "turns indices into positions"),
    Function("_offsets_range", "setup", "offsets", "writes ranges"),
    Function("permute_", "copy", "permute", "orders sparse inputs anew"),
    Function("recat_copy", "copy", "copy", "copies parts into place"),
    Function("get_FP8_qparam", "reduction", "fp8 scale", "finds scales"),
    Function("FP8", "cast", "fp8", "converts to or from fp8"),
    Function("hfp8", "cast", "fp8", "converts to or from fp8"),
)


def read(name: Name, mark: str) -> Reading | None:
    """Take an FBGEMM name apart."""
    return read_table(name, "FBGEMM", mark, "FBGEMM, embedding tables and quantization", _FUNCTIONS)
