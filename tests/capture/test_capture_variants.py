"""Every variant computes the same attention, or says in PyTorch's words why it cannot."""

from functools import partial

import pytest

from foretrace.capture import reference
from foretrace.capture.attention import chosen_variants, record_attention
from foretrace.capture.own_variant import own_forward
from foretrace.capture.recording import read_recording
from foretrace.capture.shapes import AttentionShape
from foretrace.capture.variants import VARIANTS, variant_forward
from foretrace.errors import CaptureError, UsageError
from foretrace.trace.kineto import Category
from foretrace.trace.load import load_trace

torch = pytest.importorskip("torch")
from foretrace.capture.inputs import make_inputs  # noqa: E402
from foretrace.capture.masked_row import masked_row  # noqa: E402
from foretrace.capture.reference import max_abs_error, reference_output  # noqa: E402

CPU = torch.device("cpu")
EAGER = ("naive", "inplace", "math", "auto")


def shape(**changes):
    sizes = {"batch": 2, "heads": 4, "kv_heads": 4, "length": 24, "kv_length": 24, "head_dim": 8, "dtype": "float32"}
    return AttentionShape(**(sizes | changes))


@pytest.mark.parametrize("variant", EAGER)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"causal": False},
        {"kv_heads": 2},
        {"length": 1},
        {"length": 5},
        {"mask": "bool"},
        {"mask": "float", "causal": False},
        {"mask": "padding"},
        {"mask": "window"},
        {"mask": "alibi", "kv_heads": 2},
        {"dtype": "float64"},
    ],
    ids=str,
)
def test_eager_variants_agree_with_float64(variant, changes):
    inputs = make_inputs(shape(**changes), CPU)
    error = max_abs_error(variant_forward(VARIANTS[variant], inputs)(), reference_output(inputs))
    assert error < 1e-5


def test_the_reference_is_attention():
    inputs = make_inputs(shape(dtype="float64"), CPU)
    expected = torch.nn.functional.scaled_dot_product_attention(inputs.q, inputs.k, inputs.v, is_causal=True)
    reference = reference_output(inputs)
    assert (reference.heads, reference.of_heads) == (8, 8)
    assert torch.allclose(reference.output, expected.flatten(0, 1), atol=1e-12)


def test_a_big_shape_is_compared_on_some_of_its_heads(monkeypatch):
    monkeypatch.setitem(reference._MAX_SCORES, "cpu", 3 * 24 * 24)
    monkeypatch.setitem(reference._CHUNK_SCORES, "cpu", 5 * 24)
    inputs = make_inputs(shape(), CPU)
    found = reference_output(inputs)
    assert (found.heads, found.of_heads) == (3, 8)
    assert max_abs_error(variant_forward(VARIANTS["naive"], inputs)(), found) < 1e-5


@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize(("variant", "row"), [("naive", "nan"), ("inplace", "nan"), ("math", "zero"), ("cudnn", None)])
def test_a_fully_masked_row(variant, row, kind):
    assert masked_row(partial(variant_forward, VARIANTS[variant]), shape(), CPU, kind) == row


@pytest.mark.parametrize(
    ("fill", "row"), [(float("-inf"), "nan"), (-1e9, "mean"), (0.0, "unmasked"), (None, "other")], ids=str
)
def test_what_else_a_fully_masked_row_may_give(fill, row):
    def filled(q, k, v, mask):
        scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
        weights = torch.softmax(scores if fill is None else scores.masked_fill(~mask, fill), -1)
        if fill == 0.0:
            weights = torch.softmax(scores, -1)
        return weights @ v + (1 if fill is None else 0)

    assert masked_row(partial(own_forward, filled), shape(), CPU, "bool") == row


def test_a_variant_that_cannot_run_is_a_row_with_the_reason(tmp_path):
    candidates = chosen_variants(["inplace", "cudnn", "flash-attn"])
    recording = record_attention(shape(), candidates, tmp_path, device="cpu", steps=3)
    good, cudnn, package = recording.variants
    assert (good.status, good.reason, good.trace) == ("ok", None, "inplace.json.gz")
    assert good.max_abs_error < 1e-5
    assert good.wall_time_ns.min <= good.wall_time_ns.median <= good.wall_time_ns.max
    assert good.peak_memory_bytes >= 2 * 4 * 24 * 24 * 4
    assert (cudnn.status, cudnn.trace) == ("unsupported", None)
    assert cudnn.reason.startswith("No viable backend for scaled_dot_product_attention was found")
    assert package.reason == "flash_attn is not installed here; pip install flash-attn."
    assert read_recording(tmp_path) == recording
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attention.json", "inplace.json.gz"]


def raises(q, k, v):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64.00 GiB.\nmore lines")


def wrong_shape(q, k, v):
    return (q @ k.transpose(-2, -1) @ v)[:, :1]


def not_finite(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v) * float("inf")


def test_whatever_a_variant_raises_or_returns_becomes_its_reason(tmp_path):
    candidates = chosen_variants([], [raises, wrong_shape, not_finite])
    recording = record_attention(shape(), candidates, tmp_path, device="cpu", steps=3)
    memory, returned, infinite = recording.variants
    assert memory.reason == "OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 GiB."
    assert returned.reason == "it returned Tensor [2, 1, 24, 8], not a tensor [2, 4, 24, 8]."
    assert infinite.status == "ok"
    assert infinite.max_abs_error is None
    assert "NaN or infinity" in infinite.reason


def test_training_records_the_backward_under_its_own_annotation(tmp_path):
    recording = record_attention(shape(training=True), chosen_variants(["naive"]), tmp_path, device="cpu", steps=3)
    assert recording.variants[0].status == "ok", recording.variants[0].reason
    trace = load_trace(tmp_path / "naive.json.gz")
    names = [trace.name(int(row)) for row in trace.rows_of(Category.ANNOTATION)]
    assert (names.count("attn_fwd"), names.count("attn_bwd")) == (3, 3)
    assert any("SoftmaxBackward" in trace.op_name(op) for op in range(len(trace.ops)))


def test_too_few_steps_are_refused(tmp_path):
    with pytest.raises(UsageError, match="at least 3"):
        record_attention(shape(), chosen_variants(["naive"]), tmp_path, device="cpu", steps=2)


def test_unknown_variants_are_refused_with_the_nearest():
    with pytest.raises(UsageError, match="did you mean flash"):
        chosen_variants(["flahs"])


def test_packages_that_are_not_installed_are_left_out_unless_asked_for():
    assert "flash-attn" not in [candidate.name for candidate in chosen_variants(None)]


def flagged(q, k, v, *, causal):
    return ("causal", causal, q, k, v)


def masked(q, k, v, mask=None):
    return ("mask", mask, q, k, v)


def plain_call(q, k, v):
    return ("plain", None, q, k, v)


def anything(q, k, v, **words):
    return ("words", words, q, k, v)


def test_own_variants_get_what_their_signature_accepts():
    causal = make_inputs(shape(), CPU)
    assert own_forward(flagged, causal)()[:2] == ("causal", True)
    assert torch.equal(own_forward(masked, causal)()[1], ~causal.drop)
    assert own_forward(plain_call, causal)()[0] == "plain"
    assert own_forward(anything, causal)()[1] == {"attn_mask": None, "is_causal": True, "scale": 8**-0.5}
    grouped = make_inputs(shape(kv_heads=2), CPU)
    assert own_forward(anything, grouped)()[1]["enable_gqa"] is True
    builtin = own_forward(torch.nn.functional.scaled_dot_product_attention, grouped)()
    assert max_abs_error(builtin, reference_output(grouped)) < 1e-5


def test_an_own_variant_without_a_mask_cannot_run_where_one_is_needed():
    with pytest.raises(CaptureError, match="takes no mask"):
        own_forward(flagged, make_inputs(shape(mask="padding"), CPU))
