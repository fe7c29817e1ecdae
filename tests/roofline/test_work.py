"""FLOPs and bytes of ops, from inputs as a trace records them."""

import pytest

from foretrace.analysis.roofline.attention import attention_work
from foretrace.analysis.roofline.catalog import known, op_work
from foretrace.analysis.roofline.inputs import Inputs

BF16, FP32, BOOL, LONG = "c10::BFloat16", "float", "bool", "long int"


def work(name, *given, list_dtype=""):
    """The work of an op given tensors as (dims, type) or (dims, type, strides), and scalars as text."""
    dims, types, strides, concrete = [], [], [], []
    for each in given:
        if isinstance(each, str):
            dims.append([])
            types.append("Scalar")
            strides.append([])
            concrete.append(each)
        else:
            dims.append(each[0])
            types.append(each[1])
            strides.append(each[2] if len(each) > 2 else [])
            concrete.append("")
    return op_work(name, Inputs.of(dims, types, strides, concrete, list_dtype))


@pytest.mark.parametrize(
    ("name", "given", "flops", "size"),
    [
        ("aten::mm", [([64, 32], BF16), ([32, 16], BF16)], 2 * 64 * 32 * 16, 2 * (64 * 32 + 32 * 16 + 64 * 16)),
        ("aten::linear", [([2, 3, 32], BF16), ([16, 32], BF16), ([16], BF16)], 2 * 6 * 32 * 16,
         2 * (6 * 32 + 16 * 32 + 16 + 6 * 16)),
        ("aten::matmul", [([4, 1, 5, 6], FP32), ([3, 6, 7], FP32)], 2 * 12 * 5 * 6 * 7,
         4 * (4 * 5 * 6 + 3 * 6 * 7 + 12 * 5 * 7)),
        ("aten::addmm", [([16], BF16), ([8, 4], BF16), ([4, 16], BF16), "0", "1"], 2 * 8 * 4 * 16,
         2 * (8 * 4 + 4 * 16 + 8 * 16)),
        ("aten::_scaled_mm", [([16, 32], "c10::Float8_e4m3fn"), ([32, 64], "c10::Float8_e4m3fn"), ([], FP32),
                              ([], FP32), ([], ""), ([], ""), "15", "False"], 2 * 16 * 32 * 64,
         16 * 32 + 32 * 64 + 2 * 16 * 64),
        ("aten::add", [([8, 1, 4], BF16), ([5, 4], FP32), "1"], 160, 2 * 32 + 4 * 20 + 4 * 160),
        ("aten::add_", [([8, 4], BF16), ([4], BF16), "1"], 32, 2 * 32 + 2 * 4 + 2 * 32),
        ("aten::eq", [([8, 4], LONG), "0"], 0, 8 * 32 + 32),
        ("aten::where", [([8, 4], BOOL), ([8, 4], FP32), ([], FP32)], 0, 32 + 4 * 32 + 4 + 4 * 32),
        ("aten::masked_fill", [([8, 4], BF16), ([8, 4], BOOL), "0"], 0, 2 * 32 + 32 + 2 * 32),
        ("aten::copy_", [([8, 4], BF16), ([8, 4], FP32), "False"], 0, 2 * 32 + 4 * 32),
        ("aten::fill_", [([8, 4], FP32), "0"], 0, 4 * 32),
        ("aten::_softmax", [([8, 4], BF16), "-1", "False"], 5 * 32, 2 * 2 * 32),
        ("aten::_softmax", [([8, 4], BF16), "-1", "True"], 5 * 32, 2 * 32 + 4 * 32),
        ("aten::native_layer_norm", [([8, 4], BF16), "[4]", ([4], BF16), ([4], BF16), "1e-5"], 7 * 32,
         2 * (32 + 4 + 4 + 32)),
        ("aten::sum", [([8, 4], FP32), "[-1]", "False", ([], "")], 32, 4 * 32 + 4 * 8),
        ("aten::sum", [([8, 4], FP32)], 32, 4 * 32 + 4),
        ("aten::argmax", [([8, 4], FP32), "1", "False"], 32, 4 * 32 + 8 * 8),
        ("aten::embedding", [([100, 16], BF16), ([2, 3], LONG)], 0, 8 * 6 + 2 * 2 * 6 * 16),
        ("aten::gather", [([10, 4], FP32), "0", ([2, 4], LONG), "False"], 0, 8 * 8 + 2 * 4 * 8),
        ("aten::index_select", [([10, 4], FP32), "0", ([3], LONG)], 0, 8 * 3 + 2 * 4 * 12),
        ("aten::native_dropout", [([8, 4], BF16), "0.1", "True"], 64, 2 * 32 + 2 * 32 + 32),
        ("aten::cat", [([[8, 4], [2, 4]], "TensorList"), "0"], 0, 2 * 4 * 40),
        ("aten::_fused_adamw_", [([[8, 4], [6]], "TensorList")] * 4 + [([], "TensorList")], 14 * 38, 4 * 38 * (4 + 3)),
        ("aten::_foreach_add_", [([[8, 4]], "TensorList"), ([[8, 4]], "TensorList"), "1"], 32, 4 * 32 * 3),
        ("triton_poi_fused_add_0", [([8, 4], FP32), ([1000], FP32), ([8, 4], FP32), "32"], 0, 4 * 96),
    ],
)  # fmt: skip
def test_flops_and_fewest_bytes(name, given, flops, size):
    found = work(name, *given, list_dtype="fp32")
    assert (found.total_flops, found.bytes) == (flops, size)


def test_what_is_expanded_is_read_once():
    spread = work("aten::mul", ([64, 128], FP32, [0, 1]), ([64, 128], FP32, [128, 1]))
    assert spread.bytes == 4 * (128 + 64 * 128 + 64 * 128)


def test_windows_that_overlap_are_read_once():
    unfolded = work("aten::relu", ([100, 10], FP32, [1, 1]))
    assert unfolded.bytes == 4 * (109 + 1000)


def test_keys_after_the_last_query_are_not_read():
    short = attention_work("bf16", 1, 1, 128, 64, keys=1024, causal=True)
    assert short.bytes == 2 * 64 * (128 + 128 + 128 + 128)
    assert short.total_flops == 4 * 64 * 128 * 129 // 2
    whole = attention_work("bf16", 1, 1, 128, 64, keys=1024, causal=True, bottom=True)
    assert whole.bytes == 2 * 64 * (128 + 1024 + 1024 + 128)
    assert whole.total_flops == 4 * 64 * (128 * 896 + 128 * 129 // 2)


def test_grouped_heads_share_their_keys():
    grouped = attention_work("bf16", 2, 8, 256, 64, key_heads=2)
    assert grouped.total_flops == attention_work("bf16", 2, 8, 256, 64).total_flops
    assert grouped.bytes == 2 * 2 * 256 * 64 * (8 + 2 + 2 + 8)


def test_a_window_of_the_flash_attn_package():
    given = ([2, 512, 4, 64], BF16)
    found = work(
        "flash_attn::_flash_attn_forward",
        given,
        given,
        given,
        "0.",
        "0.125",
        "True",
        "127",
        "0",
        "0.",
        ([], ""),
        "False",
    )
    assert found.total_flops == 4 * 64 * 2 * 4 * (128 * 129 // 2 + (512 - 128) * 128)


def test_masks_of_efficient_attention_are_told_by_their_type():
    given = ([2, 128, 4, 64], BF16)
    other = ([2, 256, 4, 64], BF16)

    def flops(kind):
        scalars = ["0.", kind, "False", ([], ""), ([], ""), ([], "")]
        empty = [([], "")] * 5
        return work("aten::_efficient_attention_forward", given, other, other, *empty, *scalars).total_flops

    unit = 4 * 64 * 2 * 4
    assert flops("0") == unit * 128 * 256
    assert flops("1") == unit * 128 * 129 // 2
    assert flops("2") == unit * (128 * 128 + 128 * 129 // 2)


def test_compiled_flex_attention_is_at_most_full_attention():
    given = ([8, 16, 1024, 64], BF16)
    blocks = [([8, 16, 1024], FP32)] * 2 + [([1, 1, 8], "int"), ([1, 1, 8, 8], "int")] * 2
    found = work("triton_tem_fused_flex_attention_0", given, given, given, *blocks, given, "8", "8", "16")
    assert found.total_flops == 4 * 8 * 16 * 1024 * 1024 * 64
    assert found.count == "at_most"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("aten::mm", [([64, 32], BF16)]),
        ("aten::mm", [([], ""), ([], "")]),
        ("aten::cat", [([], "TensorList"), "0"]),
        ("aten::index", [([888, 2880], BF16), ([], "")]),
        ("aten::convolution", [([4, 3, 8, 8], BF16), ([4, 3, 2, 2], BF16), ([], "")]),
        ("my::op", [([64, 32], BF16)]),
        ("flash_attn_3::fwd", [([2, 512, 4, 64], BF16)] * 4),
    ],
)
def test_where_inputs_do_not_say_enough_nothing_is_claimed(name, given):
    assert work(name, *given) is None


def test_flops_are_known_without_dtypes_but_bytes_are_not():
    found = op_work("aten::mm", Inputs.of([[64, 32], [32, 16]]))
    assert found.total_flops == 2 * 64 * 32 * 16
    assert found.bytes is None


def test_names():
    assert known("aten::mm")
    assert known("triton_tem_fused_flex_attention_backward_3")
    assert not known("aten::view")
    assert not known("triton_tem_fused_mm_1")


@pytest.mark.parametrize(
    "dims", [[[-3, 2], [2, 4]], [["x"], [2]], ["text", 3], [[[1], [2]], [[3]]], [[True, 2], [2, 2]], []]
)
def test_hostile_shapes_raise_nothing(dims):
    for name in (
        "aten::mm",
        "aten::add",
        "aten::_softmax",
        "aten::cat",
        "aten::scaled_dot_product_attention",
        "aten::embedding",
    ):
        op_work(name, Inputs.of(dims, [BF16] * len(dims), [], ["[", "]", "nan"]))
