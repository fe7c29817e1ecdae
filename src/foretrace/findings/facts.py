"""What the rules ask of a trace again and again, computed once: attention calls, kernels, waits, gaps, causes.

Rules see columns; this is the place where the columns are indexed, so that forty rules cost little more than one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.attention_weights import WeightsWanted, weights_wanted
from foretrace.findings.casts import Casts, casts
from foretrace.findings.communication import Communication, communication
from foretrace.findings.compiled_regions import CompiledRegions, compiled_regions
from foretrace.findings.counted_trace import CountedTrace
from foretrace.findings.flex_calls import FlexCalls, flex_calls
from foretrace.findings.idle_causes import IdleCause, idle_cause
from foretrace.findings.idle_gaps import Gaps, gaps_of
from foretrace.findings.launch_order import launch_order
from foretrace.findings.sdpa_calls import SdpaCalls, SdpaKind, sdpa_calls
from foretrace.findings.spans import Spans
from foretrace.findings.unfused_attention import UnfusedAttention, unfused_attention
from foretrace.findings.waits import Waits, waits
from foretrace.names.decode import decode
from foretrace.trace.distinct import distinct
from foretrace.trace.model import NONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.analysis.dispatch.decide import Verdict
    from foretrace.analysis.timeline import Timeline
    from foretrace.findings.name_index import Bools
    from foretrace.names.decoded import Decoded
    from foretrace.trace.model import Device, Trace
    from foretrace.trace.raw import I64

__all__ = ["CAUSES", "MATH_PATH", "UNCOMPILED_FLEX", "Facts", "facts_of"]

MATH_PATH: Final = "FT105"
UNCOMPILED_FLEX: Final = "FT107"
CAUSES: Final = (None, MATH_PATH, UNCOMPILED_FLEX)
"""Findings that others follow from: what they run inside themselves is theirs."""

_CAPABILITY_WORDS: Final = 2
_MIXER: Final = np.int64(1_000_003)
_OPTIMIZER: Final = "Optimizer.step#"
_MEMO: Final = "_facts"


def facts_of(trace: Trace, steps: Timeline | None = None) -> Facts:
    """The facts of a trace, kept on it beside its other cached columns."""
    memo = vars(trace)
    if _MEMO not in memo:
        memo[_MEMO] = Facts(trace, steps)
    found: Facts = memo[_MEMO]
    return found


class Facts(CountedTrace):
    """A counted trace with what its parts mean; each is worked out when a rule first asks."""

    # Attention.

    @cached_property
    def sdpa(self) -> SdpaCalls:
        """Calls of ``scaled_dot_product_attention``."""
        return sdpa_calls(self)

    @cached_property
    def flex(self) -> FlexCalls:
        """Calls of FlexAttention that ran op by op."""
        return flex_calls(self)

    @cached_property
    def unfused(self) -> UnfusedAttention:
        """Attention written out as products and a softmax, outside the two."""
        return unfused_attention(self)

    @cached_property
    def math_calls(self) -> I64:
        """Positions in ``sdpa`` of the calls on the math path."""
        return self.sdpa.where(lambda kind: kind.backend == "math")

    def backward_within(self, spans: Spans) -> I64:
        """The counted activities of the backward of ops that lie in these spans."""
        rows, forward = self.trace.rows, self.backward_of
        spots = np.flatnonzero(forward >= 0)
        at = self.trace.ops.row[forward[spots]]
        return self.counted[spots[spans.holding(rows.thread[at], rows.ts[at]) >= 0]]

    @cached_property
    def weights_wanted(self) -> WeightsWanted | None:
        """Calls of `nn.MultiheadAttention` that hand out their weights; None where there are none."""
        return weights_wanted(self)

    @cached_property
    def verdicts(self) -> dict[SdpaKind, dict[str, Verdict]]:
        """What dispatch says of the kinds of call it was asked about."""
        return {}

    # Kernels.

    @cached_property
    def decoded(self) -> list[Decoded]:
        """What each distinct activity name says: by position in ``activity_names.strings``."""
        device = self.device.name if self.device is not None else None
        return [decode(name, device=device) for name in self.activity_names.strings]

    def activities_where(self, wanted: Callable[[Decoded], bool], activities: I64 | None = None) -> I64:
        """Of these activities (default: the counted ones) those whose name is wanted; each name is asked once."""
        chosen = self.counted if activities is None else activities
        flag = np.array([wanted(decoded) for decoded in self.decoded] or [False], bool)
        return chosen[flag[self.activity_names.code[chosen]]] if chosen.size else chosen

    def what(self, activity: int) -> Decoded:
        """What an activity's name says."""
        return self.decoded[int(self.activity_names.code[activity])]

    @cached_property
    def casts(self) -> Casts:
        """Copies that change the number format."""
        return casts(self)

    @cached_property
    def device(self) -> Device | None:
        """The device that most activity ran on, if the file describes it."""
        numbers = self.trace.activities.device[self.counted]
        if not numbers.size:
            return None
        if (numbers == numbers[0]).all():
            return self.trace.device(int(numbers[0]))
        values, counts = np.unique(numbers, return_counts=True)
        return self.trace.device(int(values[np.argmax(counts)]))

    @cached_property
    def capability(self) -> tuple[int, int] | None:
        """The device's compute capability, as (9, 0); None where it has none or the file does not say."""
        words = (self.device.compute_capability or "").split(".") if self.device else []
        return (int(words[0]), int(words[1])) if len(words) == _CAPABILITY_WORDS else None

    @cached_property
    def device_name(self) -> str:
        """The device's name, or ``the device``."""
        return (self.device.name if self.device else "") or "the device"

    @cached_property
    def launches(self) -> float:
        """Launches a step: one for a whole graph replay."""
        launched = np.zeros(len(self.trace.rows), bool)
        launched[self.trace.activities.launch[self.counted]] = True
        return self.per_step(int(np.count_nonzero(launched)))

    def long_ones(self, activities: I64, ns: float) -> I64:
        """Of these activities, those of whose name one at least takes this long."""
        code = self.activity_names.code[activities]
        longest = np.zeros(len(self.activity_names.strings), np.int64)
        np.maximum.at(longest, code, self.trace.activities.dur[activities])
        return activities[longest[code] >= ns]

    def alike(self, activities: I64) -> I64:
        """A key for each counted activity: equal for equal name, grid, thread, op, op above and input shapes.

        Without an op it is the annotation around the launch that has to be equal.
        The columns are mixed into one number; two that differ get the same one by chance alone.
        """
        return self._alike[np.searchsorted(self.counted, activities)]

    @cached_property
    def _alike(self) -> I64:
        acts, ops, counted = self.trace.activities, self.trace.ops, self.counted
        owner = acts.owner[counted]
        held = owner >= 0
        above = np.full(len(owner), NONE, np.int64)
        above[held] = ops.parent[owner[held]]
        key = self.activity_names.code[counted].astype(np.int64)
        for op, column in ((owner, self.op_names.code), (above, self.op_names.code), (owner, ops.dims)):
            known = np.full(len(op), NONE, np.int64)
            known[op >= 0] = column[op[op >= 0]]
            key = key * _MIXER ^ known
        for column in (acts.grid[counted, 0], acts.grid[counted, 1], self.trace.rows.thread[acts.launch[counted]]):
            key = key * _MIXER ^ column
        bare = np.flatnonzero(~held)
        key[bare] = key[bare] * _MIXER ^ self.annotation_names(acts.launch[counted[bare]])
        return key

    @cached_property
    def in_launch_order(self) -> I64:
        """Counted activities by thread, then by launch."""
        return launch_order(self)

    @cached_property
    def waits(self) -> Waits:
        """Runtime calls in which the host waits for the device."""
        return waits(self)

    @cached_property
    def gaps(self) -> Gaps:
        """When the busiest device idles."""
        return gaps_of(self)

    @cached_property
    def idle_cause(self) -> IdleCause:
        """What most of a step's idle time goes to."""
        return idle_cause(self)

    @cached_property
    def regions(self) -> CompiledRegions:
        """Regions of `torch.compile`."""
        return compiled_regions(self)

    @cached_property
    def communication(self) -> Communication:
        """Communication between devices."""
        return communication(self)

    def ranges_named(self, prefix: str) -> I64:
        """Rows of the counted annotations whose name begins so; in old files such ranges are ops."""
        return self.counted_rows(self.rows_named(lambda name: name.startswith(prefix)))

    @cached_property
    def optimizer_steps(self) -> I64:
        """Rows of the counted optimizer steps."""
        return self.ranges_named(_OPTIMIZER)

    @cached_property
    def in_optimizer(self) -> Bools:
        """Which counted activities were launched in an optimizer's step."""
        rows, spans = self.trace.rows, self.optimizer_steps
        if not spans.size:
            return np.zeros(len(self.counted), bool)
        launch = self.trace.activities.launch[self.counted]
        steps = Spans(rows.thread[spans], rows.ts[spans], rows.end[spans])
        held: Bools = steps.holding(rows.thread[launch], rows.ts[launch]) >= 0
        return held

    # What follows from what.

    @cached_property
    def cause(self) -> I64:
        """For each counted activity, which finding it follows from, as a position in ``CAUSES``."""
        result = np.zeros(len(self.counted), np.int64)
        math = self.sdpa.of_backend("math")
        if math.size:
            result[self.under(math) >= 0] = CAUSES.index(MATH_PATH)
            result[np.searchsorted(self.counted, self.sdpa.backward(self.math_calls))] = CAUSES.index(MATH_PATH)
        if len(self.flex):
            result[self.flex.of_activity >= 0] = CAUSES.index(UNCOMPILED_FLEX)
            result[np.searchsorted(self.counted, self.flex.backward)] = CAUSES.index(UNCOMPILED_FLEX)
        return result

    def by_cause(self, activities: I64) -> list[tuple[str | None, I64]]:
        """Counted activities by the finding they follow from (its code, or None), None first."""
        if not activities.size:
            return []
        cause = self.cause[np.searchsorted(self.counted, activities)]
        return [(CAUSES[number], activities[cause == number]) for number in distinct(cause)]
