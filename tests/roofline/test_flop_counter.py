"""FLOPs against torch.utils.flop_counter, calling aten ops directly on meta tensors.

Through ``F.scaled_dot_product_attention`` it counts the decomposed path, or nothing. It ignores ``is_causal``,
windows, and how long packed sequences are; where we differ on purpose a test says by how much.
"""

import random
from collections import Counter

import pytest
import torch
from kineto_inputs import recorded
from torch.utils.flop_counter import FlopCounterMode

from foretrace.analysis.roofline.catalog import op_work
from foretrace.analysis.roofline.pairs import pairs

aten = torch.ops.aten
SHAPES = 20
"""Random shapes for each op."""


def meta(*dims, dtype=torch.bfloat16):
    return torch.empty(dims, dtype=dtype, device="meta")


def counted(op, *args, **kwargs):
    """(FLOPs by the counter, by us) of one call."""
    with FlopCounterMode(display=False) as counter:
        op(*args, **kwargs)
    name = op._schema.name
    ours = op_work(name, recorded(op, *args, **kwargs))
    return counter.get_total_flops(), None if ours is None else ours.total_flops


def attention_shape(rng, *, equal_values=False, square=False):
    size = 8 * rng.randint(1, 16)
    queries = rng.randint(1, 300)
    return {
        "batch": rng.randint(1, 4),
        "heads": rng.choice([1, 2, 4, 6]),
        "queries": queries,
        "keys": queries if square else rng.randint(1, 300),
        "size": size,
        "value_size": size if equal_values else 8 * rng.randint(1, 16),
    }


def heads_first(shape, key_heads=None):
    batch, heads, size = shape["batch"], shape["heads"], shape["size"]
    kept = key_heads or heads
    return (
        meta(batch, heads, shape["queries"], size),
        meta(batch, kept, shape["keys"], size),
        meta(batch, kept, shape["keys"], shape["value_size"]),
    )


def length_first(shape):
    return tuple(tensor.transpose(1, 2).contiguous() for tensor in heads_first(shape))


def inner_shape(rng):
    """As many heads as queries and keys: the counter takes these ops' lengths for heads, and heads for lengths."""
    shape = attention_shape(rng, equal_values=True)
    number = rng.randint(1, 40)
    return {**shape, "heads": number, "queries": number, "keys": number}


def kept(shape):
    """Output and logsumexp of a forward."""
    batch, heads, queries = shape["batch"], shape["heads"], shape["queries"]
    return meta(batch, heads, queries, shape["value_size"]), meta(batch, heads, queries, dtype=torch.float32)


SEED = (meta(2, dtype=torch.int64), meta(1, dtype=torch.int64))


def flash(rng):
    shape = attention_shape(rng, equal_values=True)
    return aten._scaled_dot_product_flash_attention.default, (*heads_first(shape), 0.0, False, False), {}


def flash_grouped(rng):
    shape = {**attention_shape(rng, equal_values=True), "heads": 6}
    tensors = heads_first(shape, key_heads=rng.choice([1, 2, 3]))
    return aten._scaled_dot_product_flash_attention.default, (*tensors, 0.0, False, False), {}


def efficient(rng):
    shape = attention_shape(rng)
    args = (*heads_first(shape), None, rng.random() < 0.5, 0.0, False)
    return aten._scaled_dot_product_efficient_attention.default, args, {}


def cudnn(rng):
    shape = attention_shape(rng)
    return aten._scaled_dot_product_cudnn_attention.default, (*heads_first(shape), None, True, 0.0, False, False), {}


def flash_forward(rng):
    shape = inner_shape(rng)
    tensors = length_first(shape)
    args = (*tensors, None, None, shape["queries"], shape["keys"], 0.0, False, False)
    return aten._flash_attention_forward.default, args, {}


def efficient_forward(rng):
    shape = inner_shape(rng)
    args = (*length_first(shape), None, None, None, None, None, 0.0, 0, False)
    return aten._efficient_attention_forward.default, args, {}


def flash_backward(rng):
    shape = attention_shape(rng, equal_values=True)
    out, lse = kept(shape)
    args = (out, *heads_first(shape), out, lse, None, None, shape["queries"], shape["keys"], 0.0, False, *SEED)
    return aten._scaled_dot_product_flash_attention_backward.default, args, {}


def efficient_backward(rng):
    shape = attention_shape(rng)
    out, lse = kept(shape)
    mask = [True, True, True, False]
    args = (out, *heads_first(shape), None, out, lse, *SEED, 0.0, mask, False)
    return aten._scaled_dot_product_efficient_attention_backward.default, args, {}


def cudnn_backward(rng):
    shape = attention_shape(rng)
    out, lse = kept(shape)
    lengths = (None, None, shape["queries"], shape["keys"])
    args = (out, *heads_first(shape), out, lse, *SEED, None, *lengths, 0.0, False)
    return aten._scaled_dot_product_cudnn_attention_backward.default, args, {}


def inner_flash_backward(rng):
    shape = inner_shape(rng)
    out, lse = kept(shape)
    out = out.transpose(1, 2).contiguous()
    args = (out, *length_first(shape), out, lse, None, None, shape["queries"], shape["keys"], 0.0, False, *SEED)
    return aten._flash_attention_backward.default, args, {}


def inner_efficient_backward(rng):
    shape = inner_shape(rng)
    out, lse = kept(shape)
    out = out.transpose(1, 2).contiguous()
    lengths = (None, None, shape["queries"], shape["keys"])
    args = (out, *length_first(shape), None, out, *lengths, lse, 0.0, *SEED, 0, False)
    return aten._efficient_attention_backward.default, args, {}


def sizes(rng, number):
    return [rng.randint(1, 200) for _ in range(number)]


def mm(rng):
    rows, inner, columns = sizes(rng, 3)
    return aten.mm.default, (meta(rows, inner), meta(inner, columns)), {}


def addmm(rng):
    rows, inner, columns = sizes(rng, 3)
    return aten.addmm.default, (meta(columns), meta(rows, inner), meta(inner, columns)), {}


def bmm(rng):
    batch, rows, inner, columns = sizes(rng, 4)
    return aten.bmm.default, (meta(batch, rows, inner), meta(batch, inner, columns)), {}


def baddbmm(rng):
    batch, rows, inner, columns = sizes(rng, 4)
    tensors = (meta(batch, rows, columns), meta(batch, rows, inner), meta(batch, inner, columns))
    return aten.baddbmm.default, tensors, {"beta": rng.choice([0, 1])}


def scaled_mm(rng):
    rows, inner, columns = (16 * rng.randint(1, 20) for _ in range(3))
    left, right = meta(rows, inner, dtype=torch.float8_e4m3fn), meta(columns, inner, dtype=torch.float8_e4m3fn).t()
    scale = meta(1, dtype=torch.float32).squeeze()
    return aten._scaled_mm.default, (left, right, scale, scale), {"out_dtype": torch.bfloat16}


def convolution(rng):
    rank = rng.choice([1, 2, 3])
    groups = rng.choice([1, 1, 2])
    channels, features = groups * rng.randint(1, 6), groups * rng.randint(1, 6)
    kernel = [rng.randint(1, 4) for _ in range(rank)]
    dilation = [rng.randint(1, 2) for _ in range(rank)]
    given = meta(rng.randint(1, 4), channels, *(rng.randint(8, 20) for _ in range(rank)), dtype=torch.float32)
    stride, padding = [rng.randint(1, 3) for _ in range(rank)], [rng.randint(0, 2) for _ in range(rank)]
    transposed = rng.random() < 0.4
    lead = (channels, features // groups) if transposed else (features, channels // groups)
    weight = meta(*lead, *kernel, dtype=torch.float32)
    args = (given, weight, None, stride, padding, dilation, transposed, [0] * rank, groups)
    return aten.convolution.default, args, {}


def convolution_backward(rng):
    op, args, _ = convolution(rng)
    while args[-1] != 1:
        op, args, _ = convolution(rng)
    grad = op(*args)
    wanted = [rng.random() < 0.7, rng.random() < 0.7, False]
    given, weight, _, stride, padding, dilation, transposed, extra, groups = args
    more = (stride, padding, dilation, transposed, extra, groups, wanted)
    return aten.convolution_backward.default, (grad, given, weight, None, *more), {}


FAMILIES = [
    flash, flash_grouped, efficient, cudnn, flash_forward, efficient_forward, flash_backward, efficient_backward,
    cudnn_backward, inner_flash_backward, inner_efficient_backward, mm, addmm, bmm, baddbmm, scaled_mm, convolution,
    convolution_backward,
]  # fmt: skip


def test_there_are_enough_shapes():
    assert len(FAMILIES) * SHAPES >= 300


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_flops_equal_the_counter(family):
    rng = random.Random(family.__name__)  # noqa: S311 - shapes, no secrets
    outcomes = Counter()
    for _ in range(SHAPES):
        op, args, kwargs = family(rng)
        theirs, ours = counted(op, *args, **kwargs)
        assert ours == theirs, (op, args, kwargs)
        outcomes[theirs > 0] += 1
    assert outcomes[True] > SHAPES // 2


@pytest.mark.parametrize("seed", range(20))
def test_is_causal_is_counted_exactly_where_the_counter_counts_all_pairs(seed):
    rng = random.Random(seed)  # noqa: S311 - shapes, no secrets
    shape = attention_shape(rng)
    tensors = heads_first(shape)
    op = aten._scaled_dot_product_efficient_attention.default
    theirs, ours = counted(op, *tensors, None, False, 0.0, True)
    queries, keys = shape["queries"], shape["keys"]
    assert theirs == counted(op, *tensors, None, False, 0.0, False)[0]
    assert ours * queries * keys == theirs * pairs(queries, keys, right=0)


def test_half_of_a_causal_square():
    query = meta(8, 16, 1024, 64)
    theirs, ours = counted(aten._scaled_dot_product_flash_attention.default, query, query, query, 0.0, True, False)
    assert theirs == 4 * 8 * 16 * 1024 * 1024 * 64
    assert ours == theirs // 1024 * 1025 // 2 == 17_196_646_400


def test_the_inner_ops_have_lengths_before_heads_which_the_counter_swaps():
    shape = {"batch": 2, "heads": 4, "queries": 128, "keys": 128, "size": 64, "value_size": 64}
    args = (*length_first(shape), None, None, 128, 128, 0.0, False, False)
    theirs, ours = counted(aten._flash_attention_forward.default, *args)
    assert ours == 4 * 2 * 4 * 128 * 128 * 64
    assert theirs == 4 * 2 * 128 * 4 * 4 * 64


def test_packed_sequences_are_at_least_equally_long_where_the_counter_takes_the_longest():
    tokens, heads, size = 300, 4, 64
    packed = meta(tokens, heads, size)
    bounds = meta(4, dtype=torch.int32)  # three sequences
    args = (packed, packed, packed, bounds, bounds, 200, 200, 0.0, False, False)
    op = aten._flash_attention_forward.default
    theirs, ours = counted(op, *args)
    assert theirs == 3 * 4 * heads * 200 * 200 * size
    assert ours == 3 * 4 * heads * 100 * 100 * size
    assert op_work(op._schema.name, recorded(op, *args)).count == "at_least"


def test_a_grouped_weight_gradient_is_counted_once_where_the_counter_counts_every_group_with_every_other():
    grad, given, weight = meta(2, 6, 5, 5), meta(2, 4, 5, 5), meta(6, 2, 3, 3)
    args = (grad, given, weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 2, [False, True, False])
    theirs, ours = counted(aten.convolution_backward.default, *args)
    assert ours == 2 * grad.numel() * 2 * 3 * 3
    assert theirs == 2 * ours
