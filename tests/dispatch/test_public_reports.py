"""What people asked about backends, each by its row in the table of public reports."""

import pytest
from calls import asked, recorded

from foretrace.analysis.dispatch.releases import RELEASES

SQUARE = (4, 12, 4096, 64)


@pytest.mark.case("A01")
def test_a_mask_rules_flash_out_and_the_trace_says_so():
    (row,) = recorded("A100", [SQUARE] * 3, "fp16", ran="efficient", mask=([1, 1, 4096, 4096], "fp16"))
    assert row.ran == "efficient"
    flash = row.dispatch.backends["flash"]
    assert (flash.eligible, flash.reason, flash.certain) == (False, "attn_mask", True)
    assert "mask" in flash.text


@pytest.mark.case("A02")
def test_a_square_mask_without_is_causal_is_pointed_out_but_not_called_causal():
    (row,) = recorded("A100", [SQUARE] * 3, "fp16", ran="fmha_cutlassF_f16_aligned_64x128_rf_sm80",
                      mask=([1, 1, 4096, 4096], "fp16"))  # fmt: skip
    assert row.ran == "efficient"
    (note,) = [note for note in row.notes if "is_causal=True" in note]
    assert "if it is the causal one" in note
    (wide,) = recorded("A100", [SQUARE, (4, 12, 77, 64), (4, 12, 77, 64)], "fp16", ran="efficient",
                       mask=([1, 1, 4096, 77], "fp16"))  # fmt: skip
    assert not [note for note in wide.notes if "is_causal=True" in note]


@pytest.mark.case("A04")
def test_forcing_flash_with_a_bias_has_no_kernel_and_dropout_is_not_why():
    found = asked("A100", "2.6", mask="float", dropout=0.2)
    assert found.backends["flash"].reason == "attn_mask"
    assert asked("A100", "2.6", dropout=0.2).backends["flash"].eligible


@pytest.mark.case("A06")
@pytest.mark.parametrize("gpu", ["A100", "H100", "B200"])
def test_no_ranking_is_stated_only_an_order_and_who_can(gpu):
    found = asked(gpu, "2.11")
    assert all(verdict.eligible for verdict in found.backends.values())
    words = " ".join([found.text, *(verdict.text for verdict in found.backends.values())]).lower()
    assert not any(claim in words for claim in ("fast", "slow", "best", "better"))


@pytest.mark.case("A08")
def test_the_order_changed_between_releases_and_the_backend_does_not_tell_the_release():
    assert [asked("H200", release.name, cudnn=91900).backend for release in RELEASES[:4]] == ["flash"] * 4
    assert asked("H200", "2.11", cudnn=91900).backend == "cudnn"
    for ran in ("cudnn", "flash"):
        (row,) = recorded("H200", [(2, 8, 256, 64)] * 3, "bf16", ran=ran)
        assert row.ran == ran
        assert not row.dispatch.certain
        assert not row.dispatch.torch_given
        assert "flash runs" in row.dispatch.text


@pytest.mark.case("A10")
def test_what_depends_on_the_cudnn_release_is_possible_not_certain():
    unknown = asked("H200", "2.9", dropout=0.1).backends["cudnn"]
    assert not unknown.certain
    assert "cuDNN 9.13" in unknown.text
    known = asked("H200", "2.9", cudnn=91300, dropout=0.1).backends["cudnn"]
    assert (known.eligible, known.reason, known.certain) == (False, "dropout", True)


@pytest.mark.case("A11")
def test_grouped_heads_in_fp32_run_the_math_path():
    shapes = [(2, 24, 512, 64), (2, 12, 512, 64), (2, 12, 512, 64)]
    (row,) = recorded("A100", shapes, "fp32", ran="math", gqa=True, torch="2.11")
    assert row.dispatch.backend == "math"
    reasons = {name: verdict.reason for name, verdict in row.dispatch.backends.items()}
    assert reasons == {"cudnn": "dtype", "flash": "dtype", "efficient": "num_heads", "math": None}
    assert any("cast to bf16, or repeat K and V" in note for note in row.notes)
    (unsaid,) = recorded("A100", shapes, "fp32", ran="math", gqa=True)
    efficient = unsaid.dispatch.backends["efficient"]
    assert not efficient.certain
    assert "in torch 2.6 to 2.13" in efficient.text


@pytest.mark.case("A12")
def test_the_size_of_the_score_matrix_is_told():
    shapes = [(1, 32, 27000, 128), (1, 8, 27000, 128), (1, 8, 27000, 128)]
    (row,) = recorded("A100", shapes, "fp16", ran="math", gqa=True, mask=([1, 1, 27000, 27000], "fp16"),
                       torch="2.9")  # fmt: skip
    assert row.dispatch.backend == "math"
    assert any("46.7 GB" in note for note in row.notes)  # 32 * 27000**2 scores of two bytes


@pytest.mark.case("A14")
def test_which_backends_take_unequal_heads_depends_on_the_release():
    def takers(torch):
        found = asked("H200", torch, hk=2, gqa=True).backends
        return {name for name, verdict in found.items() if verdict.eligible}

    assert takers("2.7") == {"flash", "math", "cudnn"}
    assert takers("2.11") == {"flash", "cudnn", "math"}
    assert takers("2.15") == {"flash", "efficient", "cudnn", "math"}
    assert not asked("H200", "2.11", hk=2, gqa=True).backends["efficient"].eligible
    assert all(verdict.eligible for verdict in asked("H200", "2.11").backends.values())  # K and V repeated


@pytest.mark.case("A15")
def test_training_large_heads_on_consumer_chips_depends_on_the_release():
    shapes = [(2, 8, 256, 128)] * 3
    (row,) = recorded("RTX 3090", shapes, "fp16", ran="efficient")
    flash = row.dispatch.backends["flash"]
    assert (flash.eligible, flash.certain) == (True, False)
    assert "torch 2.0" in flash.text
    assert asked("RTX 3090", d=64, grad=True).backends["flash"].certain
    assert asked("A100", d=128, grad=True).backends["flash"].certain
    assert asked("RTX 3090", "2.11", d=200, grad=True).backends["flash"].reason == "grad"
    assert asked("RTX 3090", "2.11", d=200).backends["flash"].eligible


@pytest.mark.case("A16")
def test_a_value_of_another_head_dim_is_not_for_flash():
    found = asked("A100", "2.6", d=48, dv=32).backends
    assert found["flash"].reason == "head_dim"
    assert found["efficient"].eligible


@pytest.mark.case("A17")
def test_head_dim_limits_differ_by_vendor():
    large = asked("MI300X", d=256, grad=True).backends
    assert (large["flash"].eligible, large["flash"].certain) == (True, False)
    assert "Composable Kernel" in large["flash"].text
    assert asked("MI300X", "2.8", d=512).backends["flash"].eligible
    assert asked("A100", "2.8", d=512).backends["flash"].reason == "head_dim"
    assert large["cudnn"].reason == "arch"


@pytest.mark.case("A18")
def test_fp32_is_why_flash_is_refused_on_a_new_enough_card():
    (row,) = recorded("RTX 4090", [(2, 8, 256, 64)] * 3, "fp32", ran="efficient")
    flash = row.dispatch.backends["flash"]
    assert (flash.reason, flash.certain) == ("dtype", True)
    (row,) = recorded("RTX 4090", [(2, 8, 256, 64)] * 3, "fp32", ran="math")
    assert any("autocast" in note for note in row.notes)


@pytest.mark.case("A24")
def test_a_mask_that_is_padded_at_each_call_is_pointed_out():
    shapes = [(2, 8, 1024, 64), (2, 8, 1021, 64), (2, 8, 1021, 64)]
    (row,) = recorded("A100", shapes, "fp16", ran="efficient", mask=([1, 1, 1024, 1021], "fp16"))
    assert any("1021 is no multiple of 8" in note for note in row.notes)


@pytest.mark.case("A26")
def test_a_head_dim_of_20_is_not_for_efficient():
    found = asked("A100", "2.6", d=20).backends
    assert found["efficient"].reason == "head_dim"
    assert found["flash"].eligible  # it pads


@pytest.mark.case("A28")
def test_unequal_lengths_with_is_causal_name_both_conventions():
    shapes = [(2, 8, 1, 64), (2, 8, 512, 64), (2, 8, 512, 64)]
    (row,) = recorded("A100", shapes, "fp16", ran="efficient", causal=True)
    assert row.dispatch.backends["flash"].reason == "causal_lengths"
    assert any("top-left" in note and "bottom-right" in note for note in row.notes)


@pytest.mark.case("A30")
def test_a_bool_mask_is_converted_at_each_call():
    (row,) = recorded("A100", [(2, 8, 256, 64)] * 3, "fp16", ran="efficient", mask=([1, 1, 256, 256], "bool"))
    assert any("bool mask" in note for note in row.notes)


@pytest.mark.case("A34")
def test_equal_calls_on_different_backends_are_told_apart():
    rows = recorded("A100", [(2, 8, 256, 64)] * 3, "fp16", ran=("flash", "math", "flash"))
    assert [(row.ran, row.count) for row in rows] == [("flash", 2), ("math", 1)]
    assert "also ran on math" in rows[0].text
    assert "if nothing is pinned" in rows[1].text
