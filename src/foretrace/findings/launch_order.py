"""Counted activities in the order they were launched, thread by thread: what stands next to what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.findings.name_index import Bools
    from foretrace.trace.raw import I64

__all__ = ["Chains", "chains", "launch_order"]


@dataclass(frozen=True, eq=False)
class Chains:
    """Runs of wanted activities with nothing else launched between them."""

    members: I64
    """Positions in activities, chain after chain."""
    chain: I64
    """For each member, the number of its chain."""
    number: int
    """How many chains there are."""


def launch_order(facts: Facts) -> I64:
    """Counted activities by thread, then by launch."""
    rows, counted = facts.trace.rows, facts.counted
    launch = facts.trace.activities.launch[counted]
    order = np.argsort(rows.ts[launch], kind="stable")
    order = order[np.argsort(rows.thread[launch[order]], kind="stable")]
    return counted[order]


def chains(facts: Facts, wanted: Bools, least: int) -> Chains:
    """Chains of at least ``least`` members, each in one step; ``wanted`` goes with ``facts.in_launch_order``."""
    order = facts.in_launch_order
    acts, rows = facts.trace.activities, facts.trace.rows
    if not order.size:
        return Chains(order, order, 0)
    thread, step = rows.thread[acts.launch[order]], acts.step[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (thread[1:] != thread[:-1]) | (step[1:] != step[:-1]) | ~wanted[:-1]
    begins &= wanted
    number = np.cumsum(begins) - 1
    members = np.flatnonzero(wanted)
    if not members.size:
        return Chains(members, members, 0)
    sizes = np.bincount(number[members])
    kept = members[sizes[number[members]] >= least]
    distinct, chain = np.unique(number[kept], return_inverse=True)
    return Chains(order[kept], chain.reshape(-1), len(distinct))
