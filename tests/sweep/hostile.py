"""Variants that misbehave, for the tests of sweeps: given as FILE.py:CALLABLE."""

import os
import resource
import signal
import time
from pathlib import Path

import torch


def good(q, k, v, is_causal=False):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def raises(q, k, v, is_causal=False):
    raise ValueError("this one always raises")


def hangs(q, k, v, is_causal=False):
    time.sleep(3600)


def exhausts(q, k, v, is_causal=False):
    """Take memory until there is none, under a limit of its own so that the machine keeps some."""
    now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 2**28, resource.RLIM_INFINITY))
    held = []
    while True:
        held.append(torch.ones(2**22))


def crashes(q, k, v, is_causal=False):
    os.kill(os.getpid(), signal.SIGSEGV)


def wrong(q, k, v, is_causal=False):
    return torch.zeros_like(q)
