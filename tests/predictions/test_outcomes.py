"""Hit, miss, unresolved; a miss says what it found, where that comes from and which finding explains it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import foretrace
from build import Build
from foretrace.errors import PredictionError
from foretrace.names.decode import decode
from foretrace.predictions import Prediction, check
from foretrace.predictions.grammar import parse
from foretrace.report.check_text import outcomes_text

OWN = Path(__file__).parents[1] / "recordings" / "h200"
GEMM = "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn"


def recording(name):
    return foretrace.read(OWN / f"{name}.json.gz")


def steps(*kernels, dur=10):
    """A trace whose steps run so many kernels."""
    made = Build().gpu()
    for number, count in enumerate(kernels):
        made.step(number, 1000 * number, 500).op("aten::bmm", 1000 * number + 5, 400)
        for at in range(count):
            made.kernel(GEMM, 1000 * number + 100 + 20 * at, dur, launched=1000 * number + 10 + at)
    return made.load()


def outcome(trace, text):
    return check(trace, text)[0].outcome


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kernels == 5", "hit"),
        ("memcpys == 0", "miss"),
        ("device_time < 200us", "miss"),
        ("device_time in 1..1.1ms", "hit"),
        ("tensor_core_share >= 0.9", "hit"),
        ("backend == flash", "miss"),
        ("kernels(role=softmax) == 1", "hit"),
        ('kernels("pytorch_flash") == 1', "miss"),
        ("finding(FT101) absent", "miss"),
        ("finding(FT101) == 1", "hit"),
        ("op aten::masked_fill_ kernels == 1", "hit"),
        ("op aten::masked_fill kernels == 1", "hit"),
        ("op aten::masked_fill memcpys == 1", "hit"),
        ("annotation attn_fwd kernels == 5", "hit"),
        ("bound == device", "hit"),
        ("peak_memory < 1GB", "unresolved"),
        ("op aten::no_such_op kernels == 1", "miss"),
        ("op aten::no_such_op kernels == 0", "unresolved"),
        ("ops(aten::no_such_op) == 0", "hit"),
    ],
)
def test_the_naive_attention(text, expected):
    assert outcome(recording("p3_naive"), text) == expected


@pytest.mark.parametrize(
    ("counts", "text", "expected"),
    [
        ((5, 5), "kernels == 5", "hit"),
        ((5, 5), "kernels <= 5", "hit"),
        ((5, 5), "kernels < 5", "miss"),
        ((5, 5), "kernels >= 5", "hit"),
        ((5, 5), "kernels > 5", "miss"),
        ((5, 5), "kernels in 5..6", "hit"),
        ((5, 5), "kernels in 4..5", "hit"),
        ((5, 5), "kernels != 5", "miss"),
        ((5, 5), "kernels != 4", "hit"),
        ((5, 6), "kernels == 5", "miss"),
        ((5, 6), "kernels == 6", "miss"),
        ((5, 6), "kernels in 5..6", "hit"),
        ((5, 6), "kernels != 5", "miss"),
        ((4, 6), "kernels == 5", "miss"),
    ],
)
def test_a_count_must_hold_in_every_step(counts, text, expected):
    assert outcome(steps(*counts), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("device_time == 30us", "hit"),
        ("device_time == 30000ns", "hit"),
        ("device_time == 0.03ms", "hit"),
        ("device_time == 0.00003s", "hit"),
        ("device_time < 30us", "miss"),
        ("device_time <= 30us", "hit"),
        ("device_time < 30.001us", "hit"),
        ("device_time > 29.999us", "hit"),
        ("device_time > 30us", "miss"),
        ("tensor_core_share == 100%", "hit"),
        ("tensor_core_share == 1", "hit"),
        ("busy_share == 3%", "hit"),
        ("busy_share < 0.03", "miss"),
        ("busy_share <= 0.03", "hit"),
    ],
)
def test_bounds_are_exact(text, expected):
    assert outcome(steps(3, 3), text) == expected


def test_a_time_is_the_median_over_the_steps():
    trace = steps(2, 3, 9)
    assert outcome(trace, "device_time == 30us") == "hit"
    assert check(trace, "device_time < 1us")[0].found == "30.0 us a step (20.0 to 90.0 us)"


def test_a_miss_shows_the_events_and_their_origin():
    (found,) = check(recording("p3_naive"), "memcpys == 0")
    (proof,) = found.evidence
    assert proof.name == "Memcpy DtoD (Device -> Device)"
    assert proof.path == ("attn_fwd", "aten::masked_fill", "aten::clone", "aten::copy_")
    assert proof.bytes == 268_435_456
    assert proof.per_step.value == 1
    assert found.finding.code == "FT101"
    assert found.found == "1 a step"


def test_a_miss_reads_like_this():
    outcomes = check(recording("p3_naive"), "kernels == 5", "memcpys == 0 because masked_fill_ is in place")
    assert outcomes_text(outcomes).splitlines()[:6] == [
        "hit         kernels == 5   found 5 a step",
        "miss        memcpys == 0   found 1 a step",
        "            you said: because masked_fill_ is in place",
        "            Memcpy DtoD (Device -> Device), 268 MB, 0.127 ms",
        "            launched by  attn_fwd > aten::masked_fill > aten::clone > aten::copy_",
        "            a hidden copy: masked_fill copies its input (268 MB) first.   FT101",
    ]


def test_a_miss_says_what_there_is_instead():
    (found,) = check(recording("p3_naive"), 'kernels("pytorch_flash") == 1')
    assert found.evidence == ()
    assert "2 gemm" in found.text
    (found,) = check(recording("p3_naive"), "op aten::masked kernels == 1")
    assert "Did you mean aten::masked_fill?" in found.text
    (found,) = check(recording("p3_naive"), "ops(aten::bm) == 2")
    assert "Did you mean aten::bmm?" in found.text
    (found,) = check(recording("p3_naive"), "op attn_fwd kernels == 1")
    assert "It is an annotation here." in found.text


def test_the_wrong_backend_is_shown_with_its_kernel():
    (found,) = check(recording("p3_sdpa_math"), "backend == flash")
    assert found.outcome == "miss"
    assert found.found == "math"
    assert any("aten::_scaled_dot_product_attention_math" in proof.path for proof in found.evidence)


def test_backends_of_several_calls_must_all_be_as_predicted():
    made = Build().step(0, 0, 100)
    made.op("aten::_scaled_dot_product_flash_attention", 10, 5)
    made.op("aten::_scaled_dot_product_efficient_attention", 20, 5)
    trace = made.load()
    assert check(trace, "backend == flash")[0].found == "flash, efficient"
    assert outcome(trace, "backend == flash") == "miss"
    assert outcome(trace, "backend != math") == "hit"
    assert outcome(trace, "backend != flash") == "miss"
    assert outcome(trace, "backend in (flash, efficient)") == "hit"
    assert outcome(trace, "backend in (flash, cudnn)") == "miss"


@pytest.mark.case("M03")
def test_what_a_trace_does_not_hold_is_never_a_pass():
    trace = Build().step(0, 0, 100).op("aten::mm", 10, 20).load()
    for text in ("kernels == 0", "memcpys == 0", "device_time < 1s", "finding(FT101) absent", "launches == 0"):
        (found,) = check(trace, text)
        assert found.outcome == "unresolved", text
        assert found.text
    assert outcome(trace, "ops == 1") == "hit"
    assert outcome(trace, "cpu_time == 100us") == "hit"


def test_an_unknown_unit_that_could_decide_leaves_it_unresolved(monkeypatch):
    def unsure(name):
        return replace(decode(name), unit="unknown") if name.startswith("my_") else decode(name)

    monkeypatch.setattr("foretrace.analysis.metrics.basis.decode", unsure)
    trace = Build().gpu().step(0, 0, 100).kernel(GEMM, 10, 30, launched=1).kernel("my_gemm", 40, 10, launched=2).load()
    assert outcome(trace, "tensor_core_share >= 0.9") == "unresolved"
    assert outcome(trace, "tensor_core_share >= 0.7") == "hit"
    assert outcome(trace, "tensor_core_share < 0.7") == "miss"


def test_launches_syncs_and_ops_come_with_the_op_that_made_them():
    made = Build().gpu().step(0, 0, 100).op("aten::item", 10, 50)
    trace = made.call("cudaStreamSynchronize", 20, 30).kernel(GEMM, 30, 5, launched=55).load()
    (found,) = check(trace, "syncs == 0")
    assert [(proof.name, proof.path, proof.time_ns.median) for proof in found.evidence] == [
        ("cudaStreamSynchronize", ("aten::item",), 30_000)
    ]
    (found,) = check(trace, "ops == 0")
    assert [(proof.name, proof.path) for proof in found.evidence] == [("aten::item", ())]


def test_a_kernel_launched_from_python_shows_its_frame():
    made = Build().gpu().step(0, 0, 100).frame("run.py(3): go", 5, 50)
    trace = made.kernel(GEMM, 20, 5, launched=10, launch="cuLaunchKernel").load()
    (found,) = check(trace, "kernels == 0")
    assert found.evidence[0].path == ("run.py(3): go",)


def test_predictions_made_in_python_are_held_too():
    made = Prediction(parse("kernels == 1").metric, low=5, high=5, because="as drawn on the board")
    (found,) = check(recording("p3_naive"), made)
    assert found.outcome == "hit"
    assert str(made) == "kernels == 5"


def test_a_prediction_that_does_not_parse_stops_the_check():
    with pytest.raises(PredictionError):
        check(recording("p3_naive"), "kernels == 5", "kernels")


def test_hostile_names_are_escaped_for_people_and_kept_in_json():
    evil = "k\x1b[2J\n[bold]</script>"
    trace = Build().gpu().step(0, 0, 100).op("op\x07", 5, 50).kernel(evil, 60, 5, launched=10).load()
    outcomes = check(trace, "kernels == 0")
    text = outcomes_text(outcomes)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\\x1b[2J" in text
    assert json.loads(json.dumps(outcomes[0].to_json()))["evidence"][0]["name"] == evil


def test_evidence_is_not_cut_in_json():
    made = Build().gpu().step(0, 0, 1000)
    for at in range(30):
        made.op(f"op{at}", 10 * at, 9).kernel(f"k{at}", 1000 + at, 1, launched=10 * at + 1)
    (found,) = check(made.load(), "kernels == 0")
    assert len(found.to_json()["evidence"]) == 30
    assert "and 25 more places" in outcomes_text([found])


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_fit(width):
    outcomes = check(
        recording("m_llama_eager"), "kernels == 5", "memcpys == 0", "launches == 3", "ops == 1", "syncs == 0"
    )
    changes = "\n".join(outcome.finding.change for outcome in outcomes if outcome.finding is not None)
    wide = [line.strip() for line in outcomes_text(outcomes, width=width).splitlines() if len(line) > width]
    # Code to copy is never cut.
    assert all(line in changes for line in wide)


def lost(name):
    """A step with a kernel, and a launch whose activity is not in the file."""
    made = Build().gpu().step(0, 0, 100).op("aten::mm", 5, 50).kernel(GEMM, 60, 5, launched=10)
    return made.call(name, 20).load()


@pytest.mark.parametrize(
    ("call", "text", "expected"),
    [
        ("cudaLaunchKernel", "kernels == 1", "unresolved"),
        ("cudaLaunchKernel", "kernels == 2", "unresolved"),
        ("cudaLaunchKernel", "kernels == 3", "miss"),
        ("cudaLaunchKernel", "kernels == 0", "miss"),
        ("cudaLaunchKernel", "kernels >= 1", "hit"),
        ("cudaLaunchKernel", "kernels <= 1", "unresolved"),
        ("cudaLaunchKernel", "kernels(role=softmax) == 0", "unresolved"),
        ("cudaLaunchKernel", "memcpys == 0", "hit"),
        ("cudaMemcpyAsync", "memcpys == 0", "unresolved"),
        ("cudaMemcpyAsync", "copied_bytes < 1MB", "unresolved"),
        ("cudaMemcpyAsync", "kernels == 1", "hit"),
        ("cudaMemsetAsync", "memsets == 0", "unresolved"),
        ("cudaLaunchKernel", "device_time < 1ms", "unresolved"),
        ("cudaLaunchKernel", "device_time > 1us", "hit"),
        ("cudaLaunchKernel", "device_time > 1ms", "unresolved"),
        ("cudaLaunchKernel", "launches == 2", "hit"),
        ("cudaLaunchKernel", "op aten::mm kernels == 1", "unresolved"),
    ],
)
def test_what_was_launched_and_not_recorded_is_no_pass(call, text, expected):
    (found,) = check(lost(call), text)
    assert found.outcome == expected
    if expected == "unresolved":
        assert call in found.reason


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("device_time == 1.065ms", "1,064,671 ns a step (1,064,639 to 1,064,859 ns)"),
        ("device_time > 1.065ms", "1,064,671 ns a step (1,064,639 to 1,064,859 ns)"),
        ("device_time > 1.1ms", "1.065 ms a step"),
        ("copied_bytes == 268MB", "268,435,456 B a step"),
        ("copied_bytes < 200MB", "268 MB a step"),
        ("busy_share == 98%", "98.26352083161242 %"),
        ("busy_share < 0.9", "98 %"),
    ],
)
def test_a_miss_by_less_than_rounding_shows_all_digits(text, found):
    (outcome,) = check(recording("p3_naive"), text)
    assert outcome.outcome == "miss"
    assert outcome.found == found
    assert f"found {found}" in outcomes_text([outcome])


def test_the_bound_is_written_as_exactly_as_what_was_found():
    (outcome,) = check(recording("p3_naive"), "copied_bytes == 268MB")
    assert outcome.text.startswith("expected == 268,000,000 B, found 268,435,456 B a step.")


def test_any_finding_names_all_of_them_and_shows_the_events_of_the_one_it_explains():
    (outcome,) = check(recording("p3_naive"), "finding(any) absent")
    assert outcome.found == "2 in the recording"
    assert outcome.reason == "Found FT104, FT101; notes do not count. The events below are of FT104."
    assert outcome.finding.code == "FT104"
    assert [(item.kind, item.name, item.per_step.value) for item in outcome.evidence] == [
        ("op", "aten::bmm", 2),
        ("op", "aten::_softmax", 1),
    ]


def test_one_finding_is_shown_with_its_own_events():
    (outcome,) = check(recording("p3_naive"), "finding(FT101) absent")
    assert (outcome.reason, outcome.finding.code) == ("", "FT101")
    assert [item.kind for item in outcome.evidence] == ["memcpy"]
