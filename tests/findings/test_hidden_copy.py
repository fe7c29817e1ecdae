"""FT101: an out-of-place op that copies its input."""

from asking import found, not_asked, one, recording

from build import Build

CODE = "FT101"


def masked_fill(build, at, *, in_place=True, name="aten::masked_fill"):
    build.op(name, at, 30).op("aten::clone", at + 2, 10).op("aten::copy_", at + 3, 8)
    build.memcpy("Memcpy DtoD (Device -> Device)", at + 500, 20, launched=at + 5, bytes=268435456)
    if in_place:
        build.op(name + "_", at + 15, 10).kernel("masked_fill_kernel", at + 520, 40, launched=at + 17)
    return build


def test_fires_on_the_copy_and_says_what_it_costs():
    build = Build().step(0, 0, 100).step(1, 100, 100)
    masked_fill(masked_fill(build, 10), 110)
    finding = one(build.load(), CODE)
    assert finding.title == "a hidden copy: masked_fill copies its input (268 MB) first"
    assert finding.count == 1
    assert finding.at_stake_ns == 20_000
    assert finding.confidence == "certain"
    assert finding.evidence[0].path == ("aten::masked_fill", "aten::clone", "aten::copy_")
    assert "x.masked_fill_(" in finding.change


def test_any_op_with_an_in_place_form_counts():
    finding = one(masked_fill(Build(), 10, name="aten::index_fill").load(), CODE)
    assert "index_fill copies" in finding.title


def test_stays_quiet_where_a_clone_was_asked_for():
    assert not found(masked_fill(Build(), 10, in_place=False).load(), CODE)


def test_with_a_backward_pass_it_is_only_possible_and_the_copy_in_backward_does_not_count():
    build = masked_fill(Build(), 10)
    build.op("autograd::engine::evaluate_function: MaskedFillBackward0", 100, 60, tid=2)
    build.op("MaskedFillBackward0", 101, 50, tid=2).op("aten::masked_fill", 102, 30, tid=2)
    build.op("aten::clone", 103, 10, tid=2).op("aten::copy_", 104, 8, tid=2)
    build.memcpy("Memcpy DtoD (Device -> Device)", 700, 20, launched=105, tid=2)
    build.op("aten::masked_fill_", 115, 10, tid=2)
    finding = one(build.load(), CODE)
    assert finding.count == 1
    assert finding.confidence == "possible"
    assert "autograd raises" in finding.text


def test_not_applicable_without_launches():
    trace = Build().op("aten::masked_fill", 0, 5).kernel("k", 0, 1).load()
    assert not_asked(trace, CODE) == "no device activity is tied to its launch"


def test_the_recordings():
    assert one(recording("p3_naive"), CODE).count == 1
    assert one(recording("p3_naive_noshapes"), CODE).at_stake_ns == 127_712
    assert one(recording("t_naive_fwdbwd"), CODE).confidence == "possible"
    for name in ("p3_inplace", "p3_mask_rebuilt", "p3_sdpa_math", "m_llama_eager", "p3_flex_eager"):
        assert not found(recording(name), CODE)
