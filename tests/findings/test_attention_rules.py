"""Rules of attention: each fires, stays quiet, and says why it could not be asked."""

import pytest
from asking import found, not_asked, one
from making import (
    BF16,
    COPY,
    FLASH,
    FP32,
    GEMM,
    MUL,
    SGEMM,
    SOFTMAX,
    sdpa,
    steps,
    unfused,
)

from build import Build
from foretrace.findings.engine import examine

NO_SHAPES = "no input shapes were recorded (profile with record_shapes=True)"
NO_LAUNCHES = "no device activity is tied to its launch"
PEAK = 989.4e12  # an H200's bf16, FLOP/s
SQUARE = (1, 1, 1024, 1024)


def plain(**more):
    return steps(lambda step: sdpa(step, **more)).load()


# FT102


def mask_built(step, length=1024):
    step.leaf("aten::ones", MUL, 3, dims=[[length, length]], types=["bool"])
    step.leaf("aten::tril", "triu_tril_kernel<bool>", 5, dims=[[length, length]], types=["bool"])


def test_a_mask_built_in_every_step():
    finding = one(steps(lambda step: (mask_built(step), unfused(step))).load(), "FT102")
    assert finding.title == "the 1,024 x 1,024 attention mask is built again each time"
    assert (finding.count, finding.at_stake_ns, finding.confidence) == (1, 8_000, "certain")
    assert finding.text.startswith("2 kernels a step make a mask")


@pytest.mark.parametrize(
    ("name", "kind", "diagonal", "built"),
    [
        ("triu", "bool", "1", "torch.ones(1024, 1024, dtype=torch.bool).triu(1)"),
        ("tril", "bool", "0", "torch.ones(1024, 1024, dtype=torch.bool).tril()"),
        ("triu", "float", "1", "(...).triu(1)"),
        ("triu", "bool", "1)\x1b", "torch.ones(1024, 1024, dtype=torch.bool).triu(...)"),
    ],
)
def test_the_mask_to_keep_is_the_one_that_the_step_builds(name, kind, diagonal, built):
    def step_of(step):
        inputs = {"dims": [[1024, 1024], []], "types": [kind, "Scalar"], "concrete": ["", diagonal]}
        step.leaf(f"aten::{name}", "triu_tril_kernel<bool>", 5, **inputs)
        unfused(step)

    assert f'("mask", {built}, persistent=False)' in one(steps(step_of).load(), "FT102").change


def test_a_triangle_of_another_size_is_no_mask():
    assert not found(steps(lambda step: (mask_built(step, 512), unfused(step))).load(), "FT102")


def test_masking_the_scores_builds_no_mask():
    def step_of(step):
        def masked(step):
            dims = [[8, 16, 1024, 1024], [1024, 1024]]
            step.leaf("aten::masked_fill_", MUL, 300, dims=dims, types=[BF16, "bool"])
            step.leaf("aten::ge", MUL, 3, dims=[[8, 16, 1024, 1024]], types=[BF16])

        unfused(step, between=masked)

    assert not found(steps(step_of).load(), "FT102")


def test_a_mask_from_two_index_vectors_is_a_mask():
    def step_of(step):
        step.leaf("aten::le", MUL, 4, dims=[[1, 1, 1, 1024], [1, 1, 1024, 1]], types=["long int"] * 2)
        unfused(step)

    finding = one(steps(step_of).load(), "FT102")
    assert finding.count == 1
    assert '("mask", (... <= ...), persistent=False)' in finding.change


def test_the_mask_rule_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT102") == NO_SHAPES


# FT103


def cast_up(step, size=(8, 16, 1024, 64)):
    inputs = {"dims": [list(size), list(size)], "types": [FP32, BF16]}
    step.op("aten::to", lambda step: step.leaf("aten::copy_", COPY, 25, **inputs))


def test_inputs_cast_up_before_products_in_fp32():
    def step_of(step):
        cast_up(step)
        cast_up(step)
        unfused(step, dtype=FP32, gemm=SGEMM)

    finding = one(steps(step_of).load(), "FT103")
    assert (finding.count, finding.at_stake_ns, finding.because) == (2, 50_000, None)


def test_a_cast_of_another_tensor_is_none_of_attentions():
    def step_of(step):
        cast_up(step, (4096, 4096))
        unfused(step, dtype=FP32, gemm=SGEMM)

    assert not found(steps(step_of).load(), "FT103")


def test_casts_of_the_math_path_follow_from_it():
    finding = one(steps(lambda step: sdpa(step, "math", inside=cast_up)).load(), "FT103")
    assert finding.because == "FT105"


def test_the_upcast_rule_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT103") == NO_SHAPES


# FT105


def math_call(step, **more):
    sdpa(step, "math", inside=lambda step: unfused(step, dtype=FP32, gemm=SGEMM), **more)


def test_a_pinned_math_path_says_that_nothing_stands_in_the_way():
    finding = one(steps(lambda step: math_call(step, causal=True)).load(), "FT105")
    assert finding.count == 1
    # 8 x 16 heads of 1,024 x 1,025 / 2 pairs, two products over 64: a fused kernel does them at half of the peak.
    fused_ns = 8 * 16 * (1024 * 1025 / 2) * 2 * (64 + 64) / (PEAK / 2) * 1e9
    assert finding.at_stake_ns == pytest.approx(410_000 - fused_ns, abs=1)
    assert "Nothing in its arguments stands in the way of cudnn or flash or efficient" in finding.text
    assert "sdpa_kernel" in finding.change


def test_a_pinned_math_path_in_fp32_names_the_one_backend_that_takes_it():
    finding = one(steps(lambda step: math_call(step, dtype=FP32)).load(), "FT105")
    assert "in the way of efficient, so" in finding.text
    assert "with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):" in finding.change


def test_backends_are_named_in_the_order_in_which_the_device_tries_them():
    on_hopper = one(steps(math_call).load(), "FT105")
    assert (
        "sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION])"
        in on_hopper.change
    )
    on_amd = one(steps(math_call, gpu="AMD Instinct MI300X").load(), "FT105")
    assert "CUDNN" not in on_amd.change
    assert "sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION])" in on_amd.change


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({}, "(q, k, v)"),
        ({"causal": True}, "(q, k, v, is_causal=True)"),
        ({"mask": (1, 1, 1024, 1024)}, "(q, k, v, attn_mask=mask)"),
        ({"k": (8, 4, 1024, 64), "gqa": True, "dropout": 0.1}, "(q, k, v, dropout_p=0.1, enable_gqa=True)"),
    ],
)
def test_the_call_is_written_as_it_was_recorded(given, written):
    finding = one(steps(lambda step: math_call(step, **given)).load(), "FT105")
    assert finding.change.endswith(f"F.scaled_dot_product_attention{written}")


def test_where_no_fused_backend_takes_the_call_none_is_pinned():
    finding = one(steps(lambda step: math_call(step, dtype="double")).load(), "FT105")
    assert "sdpa_kernel" not in finding.change


def test_products_on_tensor_cores_are_left_over_where_they_take_longer_than_a_fused_kernel():
    tensor_cores = steps(lambda step: sdpa(step, "math", causal=True, inside=unfused)).load()
    assert one(tensor_cores, "FT105").at_stake_ns == 250_000


def test_nothing_is_at_stake_where_a_fused_kernel_at_a_plain_rate_is_no_faster():
    small = steps(lambda step: sdpa(step, "math", q=(64, 16, 4096, 128), inside=unfused)).load()
    assert one(small, "FT105").at_stake_ns == 0


def test_no_math_path_no_finding():
    assert not found(plain(), "FT105")


def test_the_math_path_needs_launches():
    assert not_asked(Build().op("aten::mm", 0, 5).kernel("k", 0, 1).load(), "FT105") == NO_LAUNCHES


@pytest.mark.case("A11")
def test_grouped_heads_in_fp32_on_the_math_path_say_cast_or_expand():
    trace = steps(
        lambda step: math_call(step, q=(2, 24, 512, 64), k=(2, 12, 512, 64), dtype=FP32, gqa=True),
        gpu="NVIDIA A100-SXM4-80GB",
        computeMajor=8,
    ).load()
    finding = one(trace, "FT105")
    assert "cast to bf16" in finding.change
    assert "repeat_interleave" in finding.change


@pytest.mark.case("A12")
def test_the_math_path_gives_the_size_of_the_scores_it_allocates():
    trace = steps(
        lambda step: math_call(step, q=(1, 32, 27000, 128), k=(1, 8, 27000, 128), mask=(1, 1, 27000, 27000), gqa=True)
    ).load()
    finding = one(trace, "FT105")
    assert "46.7 GB" in finding.text
    assert "flash" in finding.text


def backward_of(step, node, sequence, kernels):
    """The backward of the forward op with this number."""
    tied = {"sequence": sequence, "forward_thread": 1}
    step.op(
        f"autograd::engine::evaluate_function: {node}",
        lambda step: step.op(node, lambda step: [step.leaf("aten::op", name, dur) for name, dur in kernels], **tied),
        **tied,
    )


def test_the_backward_of_the_math_path_is_at_stake_with_it():
    def inner(step):
        step.leaf("aten::bmm", SGEMM, 80, sequence=7)
        step.leaf("aten::_softmax", SOFTMAX, 100, sequence=8)

    def step_of(step):
        sdpa(step, "math", inside=inner)
        backward_of(step, "SoftmaxBackward0", 8, [(MUL, 90)])
        backward_of(step, "BmmBackward0", 7, [(SGEMM, 70), (SGEMM, 75)])
        backward_of(step, "MulBackward0", 3, [(MUL, 60)])

    trace = steps(step_of).load()
    finding = one(trace, "FT105")
    assert finding.title == "SDPA on the math path: 2 kernels and copies a call"
    # Seven products of a fused kernel, two of the forward and five of the backward, at half of the peak.
    fused_ns = 8 * 16 * 1024 * 1024 * 2 * 7 * 64 / (PEAK / 2) * 1e9
    assert finding.at_stake_ns == pytest.approx(80_000 + 100_000 + 90_000 + 70_000 + 75_000 - fused_ns, abs=1)
    assert "The backward of these calls is 3 kernels and copies more a step, 0.235 ms." in finding.text
    products = one(trace, "FT301")
    assert (products.because, products.count) == ("FT105", 3)


def test_the_backward_of_unfused_attention_is_at_stake_with_it():
    def step_of(step):
        step.leaf("aten::bmm", GEMM, 80, dims=[[8, 64, 32], [8, 32, 64]], types=[BF16] * 2, sequence=1)
        step.leaf("aten::_softmax", SOFTMAX, 100, dims=[[8, 64, 64]], types=[BF16], sequence=2)
        step.leaf("aten::bmm", GEMM, 80, dims=[[8, 64, 64], [8, 64, 32]], types=[BF16] * 2, sequence=3)
        backward_of(step, "BmmBackward0", 3, [(GEMM, 70), (GEMM, 75)])
        backward_of(step, "SoftmaxBackward0", 2, [(SOFTMAX, 90)])

    assert one(steps(step_of).load(), "FT104").at_stake_ns == 100_000 + 90_000


def test_a_hidden_copy_within_unfused_attention_is_counted_once():
    def masked(step):
        def fill(step):
            step.op("aten::clone", lambda step: step.leaf("aten::copy_", COPY, 50))
            step.leaf("aten::masked_fill_", MUL, 40)

        step.op("aten::masked_fill", fill)

    trace = steps(lambda step: unfused(step, between=masked)).load()
    assert one(trace, "FT101").at_stake_ns == 50_000
    assert one(trace, "FT104").at_stake_ns == 250_000 + 40_000
    assert "Hidden copies, 50.0 us a step of that, are at stake in FT101 and not here." in one(trace, "FT104").text


# FT106


@pytest.mark.case("A02")
def test_a_square_mask_may_be_the_causal_one():
    trace = steps(lambda step: sdpa(step, "efficient", q=(4, 12, 4096, 64), mask=(1, 1, 4096, 4096))).load()
    finding = one(trace, "FT106")
    assert finding.title == "SDPA gets a 4,096 x 4,096 mask where is_causal may do"
    assert (finding.count, finding.at_stake_ns, finding.confidence) == (1, 50_000, "possible")
    assert "a trace cannot show what is in it" in finding.text
    assert "is_causal=True" in finding.change


@pytest.mark.case("A03")
def test_a_mask_that_is_built_beside_the_call_makes_it_likely_and_is_shown():
    def step_of(step):
        mask_built(step, 4096)
        sdpa(step, "efficient", q=(4, 12, 4096, 64), mask=(1, 1, 4096, 4096))

    finding = one(steps(step_of).load(), "FT106")
    assert finding.confidence == "likely"
    assert "aten::tril" in [item.name for item in finding.evidence]


@pytest.mark.parametrize(
    "more",
    [
        {"mask": (8, 1, 1, 1024)},
        {"mask": (8, 16, 1024, 1024)},
        {"mask": (1, 1, 1024, 2048), "k": (8, 16, 2048, 64)},
        {"causal": True},
        {},
    ],
    ids=["padding", "a bias for each head", "not square", "causal", "no mask"],
)
def test_other_masks_are_not_causal(more):
    assert not found(plain(backend="efficient", **more), "FT106")


def test_the_mask_rule_of_calls_needs_shapes():
    trace = steps(lambda step: step.leaf("aten::scaled_dot_product_attention", FLASH)).load()
    assert not_asked(trace, "FT106") == NO_SHAPES


# FT107


@pytest.mark.case("A31")
def test_flex_attention_that_runs_op_by_op_even_inside_a_compiled_region():
    def step_of(step):
        def fallback(step):
            sizes = [[8, 16, 1024, 64]] * 3
            step.op("FlexAttentionAutogradOp", flex, dims=sizes, types=[BF16] * 3)

        def flex(step):
            repeat = {"dims": [[8, 16, 1, 1024, 64]] * 2, "types": [BF16] * 2}
            step.op("aten::repeat_interleave", lambda step: step.leaf("aten::copy_", COPY, 9, **repeat))
            unfused(step, dtype=FP32, gemm=SGEMM)

        step.op("Torch-Compiled Region: 2/0", fallback)

    trace = steps(step_of).load()
    finding = one(trace, "FT107")
    assert finding.count == 1
    assert "torch.compile(flex_attention)" in finding.change
    assert not found(trace, "FT109")
    assert not found(trace, "FT104")
    assert one(trace, "FT301").because == "FT107"


@pytest.mark.case("A31")
def test_flex_attention_under_an_annotation_is_told_as_well():
    build = steps(unfused)
    build.annotation("flex_attention", 0.5, 500)
    assert one(build.load(), "FT107").evidence[0].name == "flex_attention"


@pytest.mark.case("A32")
def test_compiled_flex_attention_is_no_finding_however_small():
    def step_of(step):
        step.op(
            "flex_attention",
            lambda step: step.leaf("triton_tem_fused_flex_attention_0", "triton_tem_fused_flex_attention_0", 9),
        )

    assert not found(steps(step_of).load(), "FT107")


def test_uncompiled_flex_needs_launches():
    assert not_asked(Build().op("flex_attention", 0, 5).kernel("k", 0, 1).load(), "FT107") == NO_LAUNCHES


# FT108


@pytest.mark.case("A22")
def test_attention_weights_are_computed_for_nobody():
    concrete = ["", "", "", "512", "8", "", "", "", "", "", "True", "True", ""]
    inputs = {"dims": [[16, 128, 512]] * 3, "types": [FP32] * 3, "concrete": concrete}
    trace = steps(lambda step: step.op("aten::_native_multi_head_attention", unfused, **inputs)).load()
    finding = one(trace, "FT108")
    assert finding.count == 1
    assert "need_weights=False" in finding.change
    assert "is_causal is ignored" in finding.text
    assert one(trace, "FT104").because == "FT108"


def test_weights_that_are_averaged_over_the_heads_are_handed_out():
    def step_of(step):
        unfused(step)
        step.leaf("aten::mean", MUL, 9, dims=[[8, 16, 1024, 1024]], types=[BF16])

    assert one(steps(step_of).load(), "FT108").count == 1


def test_no_weights_wanted_no_finding():
    concrete = ["", "", "", "512", "8", "", "", "", "", "", "False", "True", ""]
    inputs = {"dims": [[16, 128, 512]] * 3, "types": [FP32] * 3, "concrete": concrete}
    assert not found(steps(lambda step: step.op("aten::_native_multi_head_attention", sdpa, **inputs)).load(), "FT108")


def test_the_weights_rule_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT108") == NO_SHAPES


# FT109


@pytest.mark.case("A14")
def test_keys_and_values_repeated_for_grouped_heads():
    def step_of(step):
        for _ in range(2):
            copied = {"dims": [[2, 4, 4, 1024, 64]] * 2, "types": [BF16] * 2}
            step.op("aten::reshape", lambda step, copied=copied: step.leaf("aten::copy_", COPY, 8, **copied))
        sdpa(step, q=(2, 16, 1024, 64), causal=True)

    finding = one(steps(step_of).load(), "FT109")
    assert finding.title == "K and V are repeated 4 times for grouped heads (4.19 MB each)"
    assert (finding.count, finding.at_stake_ns) == (2, 16_000)
    assert "enable_gqa=True" in finding.change
    assert "depends on the release" in finding.text


def test_older_releases_gather_the_heads_by_an_index():
    def step_of(step):
        dims = [[2, 4, 1024, 64], [], [16]]
        step.leaf("aten::index_select", COPY, 8, dims=dims, types=[BF16, "Scalar", "long int"])
        sdpa(step, q=(2, 16, 1024, 64))

    assert one(steps(step_of).load(), "FT109").count == 1


@pytest.mark.case("A14")
@pytest.mark.parametrize("groups", [[2, 16, 1, 1024, 64], [2, 4, 4, 512, 64]], ids=["by one", "of something else"])
def test_other_copies_repeat_no_heads(groups):
    def step_of(step):
        step.leaf("aten::copy_", COPY, 8, dims=[groups, groups], types=[BF16] * 2)
        sdpa(step, q=(2, 16, 1024, 64), k=(2, 4, 1024, 64), gqa=True)

    assert not found(steps(step_of).load(), "FT109")


def test_the_rule_on_grouped_heads_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT109") == NO_SHAPES


# FT110


def copied(step):
    size = [[8, 16, 1024, 64]] * 2
    step.op("aten::contiguous", lambda step: step.leaf("aten::copy_", COPY, 12, dims=size, types=[BF16] * 2))


def test_inputs_made_contiguous_right_before_the_call():
    finding = one(steps(lambda step: (copied(step), copied(step), sdpa(step))).load(), "FT110")
    assert (finding.count, finding.at_stake_ns) == (2, 24_000)
    assert "right before the call" in finding.text


def test_padding_inside_the_call():
    def padded(step):
        step.op(
            "aten::pad",
            lambda step: step.leaf("aten::constant_pad_nd", COPY, 12, dims=[[8, 16, 1024, 60]], types=[BF16]),
        )

    finding = one(steps(lambda step: sdpa(step, q=(8, 16, 1024, 60), inside=padded)).load(), "FT110")
    assert "inside it" in finding.text


@pytest.mark.case("A27")
def test_copies_of_a_compiled_region_are_named_as_such():
    def region(step):
        step.leaf(
            "triton_poi_fused_clone_0", "triton_poi_fused_clone_0", 12, dims=[[8, 16, 1024, 64]] * 2, types=[BF16] * 2
        )
        sdpa(step)

    finding = one(steps(lambda step: step.op("Torch-Compiled Region: 0/0", region)).load(), "FT110")
    assert "Inductor made the input contiguous, the model did not ask for it" in finding.text


def test_work_between_copy_and_call_is_a_copy_of_its_own():
    def step_of(step):
        copied(step)
        step.leaf("aten::mm", GEMM, 30, dims=[[8, 8], [8, 8]], types=[BF16] * 2)
        sdpa(step)

    assert not found(steps(step_of).load(), "FT110")


def test_a_copy_from_the_host_is_another_matter():
    def step_of(step):
        size = [[8, 16, 1024, 64]] * 2
        upload = lambda step: step.memcpy("Memcpy HtoD (Pageable -> Device)", 900, bytes=16_777_216)  # noqa: E731
        step.op("aten::copy_", upload, dims=size, types=[BF16] * 2)
        sdpa(step)

    assert not found(steps(step_of, period=2000).load(), "FT110")


def test_the_rule_on_input_copies_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT110") == NO_SHAPES


# FT111


@pytest.mark.case("A24")
def test_a_mask_with_odd_rows_is_padded_in_each_layer():
    def padded(step):
        step.op(
            "aten::pad",
            lambda step: step.leaf("aten::constant_pad_nd", COPY, 12, dims=[[1, 1, 1024, 1021]], types=[BF16]),
        )
        step.op("aten::slice")

    def step_of(step):
        for _ in range(4):
            sdpa(step, "efficient", k=(8, 16, 1021, 64), mask=(1, 1, 1024, 1021), inside=padded)

    finding = one(steps(step_of).load(), "FT111")
    assert finding.title == "a mask with rows of 1,021 is padded again at each call"
    assert (finding.count, finding.at_stake_ns, finding.confidence) == (4, 48_000, "certain")
    assert "outside the loop" in finding.change
    assert not found(steps(step_of).load(), "FT110")


def test_an_aligned_mask_is_fine():
    assert not found(plain(backend="efficient", mask=SQUARE), "FT111")


def test_the_mask_alignment_rule_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT111") == NO_SHAPES


# FT112


def cudnn_call(own):
    def step_of(step):
        step.op("aten::_cudnn_attention_forward", lambda step: setattr(step, "host", step.host + own))
        step.kernel(FLASH, 10)

    return step_of


def test_a_plan_that_is_built():
    finding = one(steps(cudnn_call(5000), period=10_000).load(), "FT112")
    assert finding.title == "cuDNN builds attention plans: 5.000 ms in the longest call"
    assert finding.at_stake_ns == 5_000_500


def test_a_plan_lookup_that_dominates_the_cpu():
    assert "plan lookup is 56 % of the step's CPU time" in one(steps(cudnn_call(500)).load(), "FT112").title


def test_a_lookup_among_other_work_is_fine():
    assert not found(steps(cudnn_call(50)).load(), "FT112")


def test_the_plan_rule_needs_ops():
    assert not_asked(Build().kernel("k", 0, 1).load(), "FT112") == "the file holds no ops"


# FT113


@pytest.mark.case("A28")
def test_causal_with_unequal_lengths_names_both_conventions():
    finding = one(plain(q=(1, 8, 1, 64), k=(1, 8, 512, 64), causal=True), "FT113")
    assert finding.title == "is_causal with 1 queries and 512 keys: which corner?"
    assert finding.at_stake_ns == 0
    assert "top left" in finding.text
    assert "bottom right" in finding.text


@pytest.mark.parametrize("more", [{"causal": True}, {"q": (1, 8, 1, 64), "k": (1, 8, 512, 64)}])
def test_causal_with_equal_lengths_or_no_mask_is_plain(more):
    assert not found(plain(**more), "FT113")


def test_the_rule_on_lengths_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT113") == NO_SHAPES


# FT114


def heavy(registers, threads=128, kernel=FLASH, grid=(2048, 1, 1)):
    launch = {
        "registers per thread": registers,
        "shared memory": 49152,
        "block": [threads, 1, 1],
        "grid": list(grid),
    }
    return steps(lambda step: step.op("aten::op", lambda step: step.kernel(kernel, 500, **launch))).load()


def test_low_occupancy_of_attention_is_a_note_and_no_problem():
    finding = one(heavy(255), "FT114")
    assert "12.5 % occupancy" in finding.title
    assert finding.severity == "note"
    assert finding.at_stake_ns == 0
    assert "limited by registers" in finding.text


def test_the_note_on_occupancy_names_how_many_kernels_it_is_about():
    launch = {"registers per thread": 255, "shared memory": 200_000, "block": [128, 1, 1], "grid": [2048, 1, 1]}

    def both(step):
        step.op("aten::op", lambda step: (step.kernel(FLASH, 500, **launch), step.kernel(GEMM, 200, **launch)))

    finding = one(steps(both).load(), "FT114")
    assert "(and 1 other) is by design" in finding.title
    assert "holds 1 block per multiprocessor" in finding.text
    assert "So it is with bf16 GEMM 256x128" in finding.text


@pytest.mark.parametrize(("kernel", "splits"), [(FLASH, True), (GEMM, False)])
def test_a_grid_that_is_too_small_is_not_called_design(kernel, splits):
    finding = one(heavy(255, kernel=kernel, grid=(1, 2, 12)), "FT114")
    assert "has too few blocks to fill the device" in finding.title
    assert "runs 24 blocks where 132 multiprocessors have room for 2 blocks each" in finding.text
    assert "by design" not in finding.title + finding.text
    assert "larger batch" in finding.change
    assert ("splits the keys" in finding.change) == splits


def test_enough_warps_are_no_matter():
    assert not found(heavy(32, 512), "FT114")
    assert not found(heavy(255, kernel=MUL), "FT114")


def test_occupancy_needs_launches():
    assert not_asked(Build().kernel("k", 0, 1).load(), "FT114") == NO_LAUNCHES


# FT115


@pytest.mark.case("A05")
def test_the_rate_is_given_against_the_peak_and_no_ranking_is_promised():
    trace = steps(
        lambda step: sdpa(step, q=(1, 24, 4608, 128), dur=793), gpu="NVIDIA H100 80GB HBM3", period=1000
    ).load()
    finding = one(trace, "FT115")
    assert finding.severity == "note"
    assert "329 TFLOP/s, 33 % of the NVIDIA H100 80GB HBM3's 989" in finding.text
    assert "FlashAttention 2" in finding.text
    assert "measure" in finding.title


def test_the_rate_under_a_causal_mask_says_what_it_counts():
    text = one(steps(lambda step: sdpa(step, causal=True)).load(), "FT115").text
    assert "counting the 50 % of the work that the causal mask leaves" in text
    assert "causal" not in one(steps(sdpa).load(), "FT115").text


@pytest.mark.case("A06")
@pytest.mark.case("A08")
@pytest.mark.case("A10")
@pytest.mark.parametrize(
    ("gpu", "major"), [("NVIDIA A100-SXM4-80GB", 8), ("NVIDIA H100 80GB HBM3", 9), ("NVIDIA B200", 10)]
)
def test_no_device_gets_a_fixed_ranking(gpu, major):
    finding = one(steps(sdpa, gpu=gpu, computeMajor=major).load(), "FT115")
    assert finding.confidence == "possible"
    assert "differs by device, shape and release" in finding.text
    assert "Which release ran is not in a trace" in finding.text


def test_grouped_heads_tell_who_takes_them_in_every_release_from_who_does_in_some():
    note = one(steps(lambda step: sdpa(step, "cudnn", k=(8, 4, 1024, 64), causal=True, gqa=True)).load(), "FT115")
    assert note.title == "flash, perhaps efficient, can take this call as well as cudnn: measure"
    assert "every release known here flash can take it too" in note.text
    assert "efficient has no grouped heads" in note.text
    assert "FLASH_ATTENTION" in note.change


def test_calls_of_a_few_microseconds_in_a_step_that_the_cpu_bounds_are_not_worth_a_measurement():
    assert not found(plain(q=(1, 4, 64, 64), dur=5), "FT115")


def test_short_calls_count_where_they_are_much_of_a_step_that_the_device_bounds():
    trace = steps(lambda step: [sdpa(step, q=(1, 4, 64, 64), dur=9.5) for _ in range(20)], period=200).load()
    text = one(trace, "FT115").text
    assert "in 9.5 us a call: 0.44 TFLOP/s" in text


def test_a_call_that_only_one_backend_takes_has_no_other():
    assert not found(plain(backend="efficient", dtype=FP32, mask=SQUARE, mask_dtype=FP32), "FT115")


def test_the_note_on_backends_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT115") == NO_SHAPES


# FT116


@pytest.mark.case("A01")
def test_a_mask_rules_out_flash_and_the_backend_that_ran_is_named():
    finding = one(plain(backend="efficient", mask=(8, 16, 1024, 1024)), "FT116")
    assert finding.title == "efficient ran, as the mask rules out flash"
    assert "flash:" in finding.text


@pytest.mark.case("A04")
def test_a_bias_with_dropout_says_what_is_in_flashs_way():
    finding = one(plain(backend="efficient", mask=(8, 16, 1024, 1024), dropout=0.2), "FT116")
    assert "mask" in finding.title


@pytest.mark.case("A16")
def test_head_sizes_that_differ_between_q_and_v():
    trace = plain(backend="efficient", q=(4, 8, 512, 48), k=(4, 8, 512, 48), v=(4, 8, 512, 32))
    assert one(trace, "FT116").title == "efficient ran, as the head size rules out flash"


@pytest.mark.case("A18")
def test_fp32_inputs_on_a_new_card():
    trace = steps(
        lambda step: sdpa(step, "efficient", dtype=FP32), gpu="NVIDIA L4", computeMajor=8, computeMinor=9
    ).load()
    finding = one(trace, "FT116")
    assert finding.title == "efficient ran, as the dtype rules out flash"
    assert "autocast does not always cover it" in finding.change


@pytest.mark.case("A15")
@pytest.mark.case("A17")
@pytest.mark.parametrize(
    ("gpu", "capability", "head_dim"),
    [("NVIDIA GeForce RTX 3090", (8, 6), 128), ("AMD Instinct MI300X", (9, 4), 256)],
)
def test_what_depends_on_the_release_is_possible_only(gpu, capability, head_dim):
    def trained(step):
        sdpa(step, "efficient", q=(4, 16, 512, head_dim))
        step.op("autograd::engine::evaluate_function: ScaledDotProductEfficientAttentionBackward0")

    trace = steps(trained, gpu=gpu, computeMajor=capability[0], computeMinor=capability[1]).load()
    assert not found(trace, "FT116")
    note = one(trace, "FT115")
    assert "flash" in note.title
    # Releases before those known trained no such head size on this card.
    assert ("perhaps flash" in note.title) == ("3090" in gpu)
    assert note.confidence == "possible"
    assert "Which release ran is not in a trace" in note.text


@pytest.mark.case("A26")
def test_a_head_size_that_is_no_multiple_of_8_is_worked_out_from_shapes():
    trace = steps(lambda step: math_call(step, q=(2, 8, 256, 20))).load()
    assert "efficient: head dim 20 is not a multiple of 8" in one(trace, "FT105").text


def test_flash_itself_is_not_ruled_out():
    assert not found(plain(), "FT116")
    assert not found(plain(backend="efficient", mask=SQUARE), "FT116")  # FT106 has that one


def test_what_rules_out_flash_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT116") == NO_SHAPES


# FT117


@pytest.mark.case("A34")
@pytest.mark.case("A29")
def test_equal_calls_on_two_backends():
    finding = one(steps(lambda step: (sdpa(step), sdpa(step, "cudnn", dur=60))).load(), "FT117")
    assert finding.title == "equal attention calls ran on cudnn and flash"
    assert (finding.count, finding.at_stake_ns) == (2, 40_000)
    assert "some give NaN and others 0" in finding.text


def test_calls_of_other_shapes_may_run_elsewhere():
    assert not found(steps(lambda step: (sdpa(step), sdpa(step, "cudnn", q=(1, 16, 8192, 64)))).load(), "FT117")


def test_comparing_calls_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT117") == NO_SHAPES


# FT118


@pytest.mark.case("A30")
def test_a_bool_mask_is_converted_in_each_layer():
    def converted(step):
        step.op("aten::scalar_tensor")
        step.leaf("aten::where", MUL, 15, dims=[[1, 1, 1024, 1024], [], []], types=["bool", BF16, BF16])

    def step_of(step):
        for _ in range(4):
            sdpa(step, "efficient", mask=SQUARE, mask_dtype="bool", inside=converted)

    finding = one(steps(step_of).load(), "FT118")
    assert (finding.count, finding.at_stake_ns) == (4, 60_000)
    assert "before the layers" in finding.change


def test_a_float_mask_needs_no_conversion():
    assert not found(plain(backend="efficient", mask=SQUARE), "FT118")


def test_the_rule_on_bool_masks_needs_shapes():
    assert not_asked(steps(lambda step: unfused(step, shapes=False)).load(), "FT118") == NO_SHAPES


# FT119


@pytest.mark.case("A37")
def test_decoding_over_a_buffer_of_one_length_is_noted():
    finding = one(plain(q=(1, 32, 1, 128), k=(1, 32, 8192, 128)), "FT119")
    assert finding.title == "decoding attends over 8,192 keys in every step"
    assert finding.severity == "note"


@pytest.mark.case("A37")
def test_a_cache_that_grows_is_none():
    trace = steps(lambda step: sdpa(step, q=(1, 32, 1, 128), k=(1, 32, 500 + step.number, 128))).load()
    assert not found(trace, "FT119")


def test_the_note_on_decoding_needs_steps():
    trace = Build().op("aten::mm", 0, 5, dims=[[1, 1]]).kernel("k", 0, 1).load()
    assert not_asked(trace, "FT119") == "the file has no steps (call prof.step(), or name one with --step)"


def test_a_healthy_call_has_notes_at_most():
    assert examine(plain(causal=True, dur=800)).problems == []
