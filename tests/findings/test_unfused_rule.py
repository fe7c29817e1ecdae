"""FT104, unfused attention: which it finds, and the call it offers for what is done to the scores."""

import pytest
from asking import found, not_asked, one
from making import (
    BF16,
    FP32,
    GEMM,
    MUL,
    SOFTMAX,
    sdpa,
    steps,
    unfused,
)

from build import Build

NO_SHAPES = "no input shapes were recorded (profile with record_shapes=True)"
NO_LAUNCHES = "no device activity is tied to its launch"
SQUARE = (1, 1, 1024, 1024)


# FT104


def test_attention_written_out_is_one_finding_with_its_count():
    finding = one(steps(lambda step: (unfused(step), unfused(step))).load(), "FT104")
    assert finding.title == "unfused attention: bmm, softmax, bmm over 268 MB of scores"
    assert (finding.count, finding.at_stake_ns, finding.confidence) == (2, 500_000, "certain")
    assert [item.name for item in finding.evidence[:3]] == ["aten::bmm", "aten::_softmax", "aten::bmm"]
    assert "scaled_dot_product_attention" in finding.change


SCORES = [8, 16, 1024, 1024]


def on_scores(name, *others):
    """What an op does with the scores and these."""
    sizes = [list(size) for size in (SCORES, *others)]
    return lambda step: step.leaf(name, MUL, 40, dims=sizes, types=[BF16] * len(sizes))


def scaled_and(*more):
    return lambda step: [make(step) for make in (on_scores("aten::mul", ()), *more)]


def the_call(between=None, before=None, **more):
    """The call of SDPA that is offered for attention written out like this."""

    def step_of(step):
        if before is not None:
            before(step)
        unfused(step, between=between, **more)

    lines = one(steps(step_of).load(), "FT104").change.splitlines()
    return lines[1].partition("attention(q, k, v")[2]


@pytest.mark.parametrize(
    ("between", "call"),
    [
        (
            scaled_and(on_scores("aten::masked_fill", (1024, 1024))),
            ", is_causal=True)  # attn_mask=~mask where the mask is not the causal one",
        ),
        (
            scaled_and(lambda step: step.leaf("aten::where", MUL, dims=[[1024, 1024], SCORES, []])),
            ", is_causal=True)  # attn_mask=mask where the mask is not the causal one",
        ),
        (scaled_and(on_scores("aten::masked_fill", (8, 1, 1, 1024))), ", attn_mask=~mask)"),
        (
            scaled_and(on_scores("aten::add", (1, 1, 1024, 1024))),
            ", attn_mask=bias)  # is_causal=True instead where bias is the causal mask alone",
        ),
        (scaled_and(on_scores("aten::add", (1, 16, 1024, 1024))), ", attn_mask=bias)"),
        (
            scaled_and(
                on_scores("aten::add", (1, 16, 1024, 1024)), on_scores("aten::masked_fill_", (1, 1, 1024, 1024))
            ),
            ', attn_mask=bias.masked_fill(mask, float("-inf")))',
        ),
        (scaled_and(), ")"),
        (
            on_scores("aten::add_", (8, 16, 1024, 1024)),
            ", attn_mask=bias, scale=1.0)  # nothing scales the scores here",
        ),
        (None, ", scale=1.0)  # nothing scales the scores here"),
    ],
    ids=["causal", "where", "padding", "one mask", "bias", "bias and mask", "no mask", "positions of T5", "bare"],
)
def test_the_call_that_is_offered_computes_what_was_written_out(between, call):
    assert the_call(between) == call


def test_an_added_triangle_is_the_causal_mask():
    def triangle(step):
        step.leaf("aten::triu", MUL, 5, dims=[[1024, 1024], []], types=[FP32])

    between = scaled_and(on_scores("aten::add", (1024, 1024)))
    assert the_call(between, triangle).startswith(", is_causal=True)  # attn_mask=bias where")


@pytest.mark.parametrize(
    ("size", "call"),
    [([8, 1024, 1024], ")"), ([8, 1024, 4096], ", scale=1.0)  # nothing scales the scores here")],
    ids=["q", "another tensor"],
)
def test_a_factor_on_q_is_one_on_the_scores(size, call):
    factor = lambda step: step.leaf("aten::mul", MUL, 5, dims=[size, []], types=[BF16, "double"])  # noqa: E731
    assert the_call(before=factor) == call


def test_each_way_of_masking_is_offered_a_call():
    def step_of(step):
        for _ in range(2):
            unfused(step, between=scaled_and())
        unfused(step, between=scaled_and(on_scores("aten::add", (1, 16, 1024, 1024))))

    assert one(steps(step_of).load(), "FT104").change.splitlines()[1:3] == [
        "    out = F.scaled_dot_product_attention(q, k, v)  # 6 of 9 calls",
        "    out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)  # 3 of 9 calls",
    ]


def test_without_shapes_the_factor_is_not_known():
    change = one(steps(lambda step: unfused(step, shapes=False)).load(), "FT104").change
    assert "attention(q, k, v)\nSDPA scales by 1/sqrt(head size) unless" in change
    assert "models that have an SDPA version" in change


@pytest.mark.parametrize(("alpha", "call"), [("1", ", scale=1.0"), ("0.125", "")])
def test_a_product_with_a_factor_of_its_own(alpha, call):
    def step_of(step):
        sizes, kinds = [[128, 1024, 1024], [128, 1024, 64], [128, 64, 1024]], [BF16] * 3
        step.leaf("aten::baddbmm", GEMM, 80, dims=sizes, types=kinds, concrete=["", "", "", "0", alpha])
        step.leaf("aten::_softmax", SOFTMAX, 250, dims=[[128, 1024, 1024]], types=[BF16])
        step.leaf("aten::bmm", GEMM, 80, dims=[[128, 1024, 1024], [128, 1024, 64]], types=[BF16] * 2)

    assert f"(q, k, v{call})" in one(steps(step_of).load(), "FT104").change


def test_a_product_of_another_shape_may_lie_between():
    def positions(step):
        dims = [[1024, 128, 64], [1024, 64, 1024]]
        step.leaf("aten::bmm", GEMM, 10, dims=dims, types=[BF16] * 2)

    assert one(steps(lambda step: unfused(step, between=positions)).load(), "FT104").count == 1


def test_without_shapes_the_order_makes_it_likely():
    assert one(steps(lambda step: unfused(step, shapes=False)).load(), "FT104").confidence == "likely"


def test_products_and_a_softmax_that_do_not_fit_are_no_attention():
    def step_of(step):
        step.leaf("aten::bmm", GEMM, 80, dims=[[8, 512, 64], [8, 64, 512]], types=[BF16] * 2)
        step.leaf("aten::_softmax", SOFTMAX, 80, dims=[[2048, 32000]], types=[BF16])
        step.leaf("aten::bmm", GEMM, 80, dims=[[8, 512, 512], [8, 512, 64]], types=[BF16] * 2)

    assert not found(steps(step_of).load(), "FT104")


def test_what_the_math_path_runs_is_its_own():
    assert not found(steps(lambda step: sdpa(step, "math", inside=unfused)).load(), "FT104")


def test_unfused_attention_needs_launches():
    trace = Build().op("aten::bmm", 0, 5).kernel("k", 0, 1).load()
    assert not_asked(trace, "FT104") == NO_LAUNCHES
