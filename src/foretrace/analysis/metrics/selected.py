"""Which events a quantity's conditions choose, as masks and rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from foretrace.analysis.copies import direction
from foretrace.analysis.metrics.basis import names_matching
from foretrace.names.decoded import ATTENTION_ROLES
from foretrace.trace.kineto import Category

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from foretrace.analysis.metrics.basis import Basis
    from foretrace.analysis.metrics.quantity import Select
    from foretrace.names.decoded import Decoded
    from foretrace.trace.raw import I64

    Mask = npt.NDArray[np.bool_]

__all__ = ["chosen_activities", "chosen_rows"]

# What device activity that is no kernel does; its name is not decoded.
_OTHER_ROLES = {Category.MEMCPY: "copy", Category.MEMSET: "memset"}


def chosen_activities(basis: Basis, select: Select, *kinds: Category) -> Mask:
    """For each activity, whether it is one of these kinds (any, without), in the scope, and as ``select`` says."""
    trace = basis.trace
    acts, ground = trace.activities, basis.ground
    chosen = basis.activities.copy()
    if kinds:
        chosen &= np.isin(acts.category, np.array(kinds, np.uint8))
    pattern = select.pattern
    if pattern is not None:
        chosen &= ground.by_name(lambda name: pattern in trace.strings[name])
    if select.regex is not None:
        search = re.compile(select.regex).search
        chosen &= ground.by_name(lambda name: search(trace.strings[name]) is not None)
    if select.role is not None:
        chosen &= _of_role(basis, select.role)
    for wanted in _decoded_conditions(select):
        chosen &= ground.by_kernel_name(wanted)
    way = select.direction
    if way is not None:
        chosen &= acts.category == Category.MEMCPY
        chosen &= ground.by_name(lambda name: direction(trace.strings[name]).lower() == way.lower())
    if select.launch is not None:
        launched = np.flatnonzero(chosen)
        keep = names_matching(trace, trace.rows.name[acts.launch[launched]], select.launch)
        chosen[launched[~keep]] = False
    return chosen


def _of_role(basis: Basis, role: str) -> Mask:
    roles = ATTENTION_ROLES if role == "attention" else {role}
    result = basis.ground.by_kernel_name(lambda decoded: decoded.role in roles)
    for category, name in _OTHER_ROLES.items():
        if name in roles:
            result |= basis.trace.activities.category == category
    return result


def _decoded_conditions(select: Select) -> list[Callable[[Decoded], bool]]:
    conditions: list[Callable[[Decoded], bool]] = []
    unit, library, dtype = select.unit, select.library, select.dtype
    if unit is not None:
        conditions.append(lambda decoded: decoded.unit == unit)
    if library is not None:
        conditions.append(lambda decoded: decoded.library.lower() == library.lower())
    if dtype is not None:
        conditions.append(lambda decoded: decoded.input_dtype == dtype)
    return conditions


def chosen_rows(basis: Basis, select: Select, rows: I64) -> I64:
    """Of some rows (ops, runtime calls), those whose name is as ``select`` says."""
    trace = basis.trace
    if select.pattern is not None:
        rows = rows[names_matching(trace, trace.rows.name[rows], select.pattern)]
    if select.regex is not None:
        search = re.compile(select.regex).search
        unique, inverse = np.unique(trace.rows.name[rows], return_inverse=True)
        keep = np.array([search(trace.strings[name]) is not None for name in unique], bool)
        rows = rows[keep[inverse]] if len(unique) else rows
    return rows
