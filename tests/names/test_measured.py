"""Units against hardware counters: `kernels_measured.tsv` was recorded on an H200.

`tensor_core` is the tensor-core instruction that the counters saw (half-precision vector arithmetic, which the same
counter counts, taken off), or `no`. Names are as Nsight Compute spells them, without parameters.
"""

from pathlib import Path

import pytest

from foretrace.names.decode import decode
from foretrace.names.decoded import MATRIX_ROLES

ROWS = [line.split("\t") for line in (Path(__file__).parent / "kernels_measured.tsv").read_text().splitlines()[1:]]


@pytest.mark.parametrize(("measured", "name"), ROWS, ids=[name[:60] for _, name in ROWS])
def test_the_unit_is_the_measured_one(measured, name):
    decoded = decode(name)
    assert (decoded.unit == "tensor_core") == (measured != "no")
    if decoded.role in MATRIX_ROLES:
        assert decoded.unit != "unknown"
    if measured != "no" and decoded.instruction is not None:
        assert decoded.instruction.split()[0].replace("wmma", "mma") == measured
