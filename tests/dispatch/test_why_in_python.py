"""``foretrace.why``, ``foretrace.roofline``: the commands' twins."""

from pathlib import Path

import pytest

import foretrace
from foretrace.analysis.dispatch.call import call_from_case

OWN = Path(__file__).parents[1] / "recordings" / "h200"
CASE = {"dtype": "bf16", "b": 2, "h": 8, "lq": 256, "d": 64, "mask": "bool"}


def test_of_a_call():
    found = foretrace.why(CASE, gpu="A100", torch="2.11")
    assert found.backend == "efficient"
    assert found.backends["flash"].reason == "attn_mask"
    assert foretrace.why(call_from_case(CASE), gpu="A100", torch="2.11") == found
    with pytest.raises(foretrace.UsageError, match="which device"):
        foretrace.why(CASE)


def test_of_a_trace():
    (call,) = foretrace.why(foretrace.read(OWN / "p3_sdpa_math.json.gz"), torch="2.11")
    assert (call.ran, call.count, call.dispatch.backend) == ("math", 3, "cudnn")


def test_the_roofline_of_a_trace():
    found = foretrace.roofline(foretrace.read(OWN / "p3_sdpa_math.json.gz"))
    assert found.ops[0].bound.over_floor > 30
