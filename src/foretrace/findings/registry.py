"""The rules that exist, written down: code and module. Outside rules come through the ``foretrace.rules`` entry point.

A code is never used again for another rule; codes of rules that are gone stay listed in ``RETIRED``.
"""

from __future__ import annotations

import importlib
import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from foretrace.errors import RuleError
from foretrace.findings.rule import Check, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ENTRY_POINT", "RETIRED", "RULES", "rules"]

ENTRY_POINT: Final = "foretrace.rules"

# Code: module below foretrace.findings.rules. The rule's name is the module's, with hyphens.
RULES: Final[dict[str, str]] = {
    "FT101": "hidden_copy",
    "FT102": "mask_rebuilt",
    "FT103": "attention_upcast",
    "FT104": "unfused_attention",
    "FT105": "math_path",
    "FT106": "explicit_mask",
    "FT107": "uncompiled_flex",
    "FT108": "unread_attention_weights",
    "FT109": "repeated_keys_values",
    "FT110": "attention_input_copies",
    "FT111": "unaligned_mask",
    "FT112": "cudnn_plan",
    "FT113": "causal_unequal_lengths",
    "FT114": "low_occupancy",
    "FT115": "another_backend",
    "FT116": "flash_ruled_out",
    "FT117": "backends_differ",
    "FT118": "bool_mask_converted",
    "FT119": "decode_cache_length",
    "FT201": "cpu_bound",
    "FT202": "tiny_kernel_chain",
    "FT203": "host_sync",
    "FT204": "pageable_copy",
    "FT205": "cold_first_step",
    "FT206": "profiler_overhead",
    "FT207": "allocator_calls",
    "FT208": "recompilation",
    "FT209": "graph_breaks",
    "FT210": "compile_overhead",
    "FT211": "graph_input_copies",
    "FT212": "single_tensor_optimizer",
    "FT301": "fp32_gemm",
    "FT302": "bias_copy",
    "FT303": "weight_cast",
    "FT304": "workspace_memset",
    "FT305": "unaligned_gemm",
    "FT401": "idle_device",
    "FT402": "varying_launch",
    "FT403": "stream_overlap",
    "FT404": "exposed_communication",
    "FT405": "communication_contention",
}

RETIRED: Final[frozenset[str]] = frozenset()


@lru_cache(maxsize=1)
def rules() -> tuple[Check, ...]:
    """Every rule, those of other packages last.

    Raises:
        RuleError: an outside rule does not load, or takes a code or name that is taken.
    """
    own = [_check(importlib.import_module(f"foretrace.findings.rules.{module}")) for module in RULES.values()]
    found = {check.rule.code: check for check in own}
    names = {check.rule.name for check in own}
    for origin, check in _outside():
        rule = check.rule
        if rule.code in found or rule.code in RETIRED or rule.name in names:
            raise RuleError(
                f"{origin}: a rule {rule.code} ({rule.name}) exists already; give it a code and name of its own."
            )
        found[rule.code] = check
        names.add(rule.name)
    return tuple(found.values())


def _check(module: Any) -> Check:
    return Check(module.RULE, module.check, module.__doc__ or "")


def _outside() -> Iterator[tuple[str, Check]]:
    if not _anybody_registers():
        return
    from importlib.metadata import entry_points  # noqa: PLC0415 - costs more than all rules together

    for point in entry_points(group=ENTRY_POINT):
        origin = f"entry point {point.name} = {point.value}"
        try:
            loaded = point.load()
        except Exception as error:
            raise RuleError(f"{origin}: does not load ({type(error).__name__}: {error}); mend or remove it.") from error
        for module in loaded if isinstance(loaded, (list, tuple)) else (loaded,):
            if not isinstance(getattr(module, "RULE", None), Rule) or not callable(getattr(module, "check", None)):
                raise RuleError(f"{origin}: a rule is a module with RULE and check(trace); this is none.")
            yield origin, _check(module)


def _anybody_registers() -> bool:
    """Whether any installed package names the entry point: a glance at the files, before the machinery is imported."""
    for folder in sys.path:
        try:
            entries = list(os.scandir(folder or "."))
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info")) and _names_it(entry.path):
                return True
    return False


def _names_it(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "entry_points.txt"), "rb") as file:  # noqa: PTH118, PTH123 - a hot path
            return ENTRY_POINT.encode() in file.read()
    except OSError:
        return False
