"""The ops whose work is known, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.analysis.roofline.attention import ATTENTION_OPS
from foretrace.analysis.roofline.compiled import compiled_rule
from foretrace.analysis.roofline.convolution import CONVOLUTION_OPS
from foretrace.analysis.roofline.elements import ELEMENT_OPS
from foretrace.analysis.roofline.matrix import MATRIX_OPS
from foretrace.analysis.roofline.rows import ROW_OPS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from foretrace.analysis.roofline.inputs import Inputs
    from foretrace.analysis.roofline.work import Work

__all__ = ["KNOWN_OPS", "known", "op_work"]

KNOWN_OPS: Final[Mapping[str, Callable[[Inputs], Work | None]]] = {
    **ELEMENT_OPS,
    **ROW_OPS,
    **MATRIX_OPS,
    **CONVOLUTION_OPS,
    **ATTENTION_OPS,
}


def known(name: str) -> bool:
    """Whether an op of this name has its work counted, given its inputs."""
    return name in KNOWN_OPS or compiled_rule(name) is not None


def op_work(name: str, inputs: Inputs) -> Work | None:
    """The work of an op; None where the op is not known, or its inputs do not say enough."""
    rule = KNOWN_OPS.get(name) or compiled_rule(name)
    return rule(inputs) if rule else None
