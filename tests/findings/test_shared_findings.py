"""Over every trace at hand: no rule fails, evidence is in the file, and the terminal shows a handful."""

import pytest
from asking import found, holds_up

from build import SHARED
from foretrace.errors import TraceFormatError
from foretrace.findings.engine import examine
from foretrace.trace.load import load_trace

FILES = sorted(path for folder in ("h200", "real") for path in (SHARED / "traces" / folder).glob("*.json*"))
pytestmark = pytest.mark.skipif(not FILES, reason="the recordings of others are not on this machine")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_rule_fails_and_every_finding_holds_up(path):
    try:
        trace = load_trace(path)
    except TraceFormatError:
        pytest.skip("no PyTorch trace")
    result = examine(trace)
    for finding in result.findings:
        holds_up(trace, finding)
        assert len(finding.title) <= 90
    stakes = [finding.at_stake_ns for finding in result.problems]
    assert stakes == sorted(stakes, reverse=True)
    asked = {item.code for item in result.not_applicable}
    assert not asked & {finding.code for finding in result.findings}


def of(name, code):
    """What one rule finds in one of them."""
    path = next((path for path in FILES if path.name.startswith(f"{name}.json")), None)
    if path is None:
        pytest.skip(f"{name} is not on this machine")
    return found(load_trace(path), code)


def test_an_encoder_with_position_biases_is_not_told_to_be_causal():
    (finding,) = of("R012", "FT104")
    assert "is_causal" not in finding.change
    assert "attn_mask=bias, scale=1.0)" in finding.change


def test_grouped_products_of_several_sizes_are_no_contention():
    assert not of("R025", "FT405")


@pytest.mark.parametrize(
    ("name", "change", "stake_ms"),
    [
        ("R040", "make tensors on the device", 590),
        ("R042", "let the loader work ahead", 38),
        ("R043", "let the loader work ahead", 20),
        ("R021", "run a few steps before the recording", 140),
        ("R010", "record later", 57),
        ("R059", "record later", 617),
        ("R054", "take out the waits between the launches first", 862),
        ("R013", "replay the launches as a HIP graph", 5),
    ],
)
def test_what_the_device_waits_for_is_what_the_host_does_meanwhile(name, change, stake_ms):
    (finding,) = of(name, "FT201")
    assert finding.change.startswith(change)
    assert round(finding.at_stake_ns / 1e6) == stake_ms


@pytest.mark.parametrize("name", ["R004", "R025", "R055"])
def test_programs_without_data_parallel_gradients_get_no_advice_on_buckets(name):
    (finding,) = of(name, "FT404")
    assert "DistributedDataParallel" not in finding.change


def test_a_product_of_the_users_own_is_not_told_to_use_autocast():
    assert not of("R048", "FT301")


@pytest.mark.parametrize("name", ["R018", "R032"])
def test_convolutions_beside_others_in_tf32_are_not_told_to_allow_it(name):
    (finding,) = (finding for finding in of(name, "FT301") if "convolutions" in finding.title)
    assert finding.at_stake_ns == 0
    assert "set_float32_matmul_precision" not in finding.change


def test_memory_that_is_never_kept_is_one_cost_of_no_more_than_the_idle_time():
    (allocations,), (bound,) = of("R014", "FT207"), of("R014", "FT201")
    assert allocations.at_stake_ns == bound.at_stake_ns == 3_007_636_191
    assert "710 of 710 calls of aten::empty make one" in allocations.text
    assert "PYTORCH_NO_HIP_MEMORY_CACHING" in allocations.change
    assert bound.because == "FT207"


def test_a_card_without_bf16_is_not_told_to_use_it():
    (finding,) = of("R042", "FT303")
    assert "bfloat16" not in finding.change


def test_memsets_of_two_sizes_are_of_two_sizes():
    (finding,) = of("R025", "FT304")
    assert "8 memsets of 4 B or 8 B a step" in finding.text


@pytest.mark.parametrize("name", ["R012", "R054", "R055"])
def test_a_copy_to_the_host_is_not_advised_as_one_from_it(name):
    (finding,) = [finding for finding in of(name, "FT203") if finding.title.startswith("a copy to the host")]
    assert "buffer.copy_(x, non_blocking=True)" in finding.change


@pytest.mark.parametrize("name", ["R036", "R037"])
def test_waits_that_cost_less_than_a_thousandth_of_a_step_are_left_out(name):
    assert not of(name, "FT203")


def test_a_stream_that_waits_for_another_is_not_put_on_a_small_copy():
    (finding,) = of("R009", "FT203")
    assert finding.at_stake_ns < 200_000
    assert not of("R009", "FT201")
    (idle,) = of("R009", "FT401")
    assert "what runs next was launched already and did not start" in idle.text


def test_an_optimizer_step_in_an_old_file_is_told_from_a_chain():
    (optimizer,), (chain,) = of("R067", "FT212"), of("R067", "FT202")
    assert optimizer.title.startswith("SGD updates one tensor at a time: 483 kernels")
    assert "540" not in chain.title


def test_a_model_on_its_way_to_the_device_comes_from_no_loader():
    (finding,) = of("R032", "FT204")
    assert "DataLoader" not in finding.change
    assert finding.confidence == "possible"
    (finding,) = of("R067", "FT204")
    assert "DataLoader" in finding.change
