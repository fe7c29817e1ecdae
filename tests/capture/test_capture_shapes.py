"""Shapes that do not fit together are refused with a sentence; masks mean what their kind says."""

import pytest

from foretrace.capture.shapes import MASKS, AttentionShape, default_shape, dtype_name
from foretrace.errors import UsageError

torch = pytest.importorskip("torch")
from foretrace.capture.inputs import make_inputs  # noqa: E402


def shape(**changes):
    sizes = {"batch": 2, "heads": 4, "kv_heads": 4, "length": 16, "kv_length": 16, "head_dim": 8, "dtype": "float32"}
    return AttentionShape(**(sizes | changes))


def inputs_of(**changes):
    return make_inputs(shape(**changes), torch.device("cpu"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kv_heads": 3}, "--kv-heads must divide --heads"),
        ({"heads": 0}, "--heads is 0"),
        ({"head_dim": -1}, "--head-dim is -1"),
        ({"length": 32}, "--no-causal"),
        ({"mask": "diagonal"}, "unknown mask kind 'diagonal'"),
        ({"dtype": "int8"}, "unknown dtype"),
    ],
)
def test_impossible_shapes_are_refused_with_what_to_do(changes, said):
    with pytest.raises(UsageError, match=said):
        shape(**changes)


@pytest.mark.parametrize(("word", "name"), [("bf16", "bfloat16"), ("torch.float16", "float16"), ("FP32", "float32")])
def test_dtypes_have_their_usual_spellings(word, name):
    assert dtype_name(word) == name


def test_an_unknown_dtype_is_refused():
    with pytest.raises(UsageError, match="unknown dtype 'int4'"):
        dtype_name("int4")


def test_the_default_on_a_gpu_is_the_shape_of_the_shipped_recordings():
    assert default_shape("cuda") == {"batch": 8, "heads": 16, "length": 1024, "head_dim": 64, "dtype": "bfloat16"}


def test_causal_alone_is_a_flag_and_its_triangle_is_made_once():
    inputs = inputs_of()
    assert inputs.is_causal
    assert inputs.mask is None
    assert inputs.drop.tolist() == [[key > query for key in range(16)] for query in range(16)]


def test_causal_with_more_keys_is_aligned_at_the_bottom_right():
    inputs = inputs_of(length=2, kv_length=4)
    assert not inputs.is_causal
    assert inputs.mask[0, 0].tolist() == [[True, True, True, False], [True, True, True, True]]


def test_one_query_needs_no_mask():
    inputs = inputs_of(length=1)
    assert not inputs.is_causal
    assert inputs.mask is None
    assert inputs.drop is None


@pytest.mark.parametrize("kind", [kind for kind in MASKS if kind != "none"])
@pytest.mark.parametrize("causal", [True, False])
def test_no_mask_kind_leaves_a_query_without_a_key(kind, causal):
    inputs = inputs_of(mask=kind, causal=causal)
    full = inputs.mask.expand(2, 4, 16, 16)
    seen = full if full.dtype == torch.bool else full > float("-inf")
    assert bool(seen.any(dim=-1).all())
    if causal:
        assert not bool(seen.triu(1).any())
    assert not inputs.is_causal


def test_padding_keeps_half_to_all_of_the_keys():
    assert inputs_of(mask="padding", causal=False).mask.sum(dim=-1).flatten().tolist() == [8, 16]


def test_a_float_mask_is_the_boolean_one_with_minus_infinity():
    boolean, added = inputs_of(mask="bool"), inputs_of(mask="float")
    assert added.bias.dtype == torch.float32
    assert bool(((added.bias == 0) == boolean.mask).all())
    assert added.drop is None


def test_inputs_are_the_same_each_time_and_ask_for_gradients_only_in_training():
    first, second = inputs_of(), inputs_of(training=True)
    assert torch.equal(first.q, second.q)
    assert not first.q.requires_grad
    assert second.k.requires_grad
