"""What the H200 recordings show: their names say what they are."""

import pytest
from asking import codes, found, holds_up, recording

from foretrace.findings.engine import examine

RECORDED = [
    "m_llama_eager",
    "m_llama_sdpa",
    "m_llama_sdpa_stack",
    "m_mha_noweights",
    *(f"n_{case}_{backend}" for case in ("d128", "d80", "nocausal", "s8192") for backend in ("cudnn", "flash", "math")),
    "n_s8192_efficient",
    "n_fp32_auto",
    "n_fp32_math",
    "n_small_auto",
    "p1_bmm_64",
    "p1_matmul_add_4096",
    "p1_matmul_add_4096_compiled",
    "p1_matmul_add_64",
    "p1_matmul_add_64_compiled",
    "p2_linear",
    "p2_linear_compiled",
    "p2_mlp",
    "p3_cold_naive",
    "p3_flex_compiled",
    "p3_flex_eager",
    "p3_inplace",
    "p3_mask_rebuilt",
    "p3_naive",
    "p3_naive_compiled",
    "p3_naive_noshapes",
    "p3_naive_stack_mem",
    "p3_sdpa_auto",
    "p3_sdpa_cudnn",
    "p3_sdpa_efficient",
    "p3_sdpa_flash",
    "p3_sdpa_math",
    "t_cudnn_fwdbwd",
    "t_flash_fwdbwd",
    "t_naive_fwdbwd",
    "x_cudagraph_inplace",
    "x_fp32_matmul",
    "x_h2d_pageable",
    "x_item_sync",
    "x_many_tiny",
    "x_tf32_matmul",
]
HOST_ONLY = {"FT112", "FT201"}
"""The GPU waits for the CPU, or cuDNN's plan does: where the numbers say so, these are no fault of the variant."""


@pytest.mark.parametrize("name", RECORDED)
def test_every_finding_holds_up_and_few_are_shown(name):
    trace = recording(name)
    result = examine(trace)
    for finding in result.findings:
        holds_up(trace, finding)
        assert len(finding.title) <= 80
    assert len(result.problems) <= 8


@pytest.mark.parametrize(
    "name",
    [
        "p3_sdpa_flash",
        "p3_sdpa_cudnn",
        "p3_sdpa_efficient",
        "p2_linear",
        "p2_mlp",
        "n_s8192_flash",
        "n_s8192_cudnn",
        "n_s8192_efficient",
        "n_d128_flash",
        "n_nocausal_cudnn",
        "t_flash_fwdbwd",
        "t_cudnn_fwdbwd",
        "m_mha_noweights",
        "p3_flex_compiled",
        "p1_matmul_add_4096",
        "x_tf32_matmul",
    ],
)
def test_what_is_as_it_should_be_has_no_finding_of_its_own(name):
    assert set(codes(recording(name))) <= HOST_ONLY


@pytest.mark.parametrize(
    ("name", "there", "absent"),
    [
        ("p3_naive", {"FT101": 1, "FT104": 1}, {"FT102"}),
        ("p3_inplace", {"FT104": 1}, {"FT101", "FT102"}),
        ("p3_mask_rebuilt", {"FT102": 1}, {"FT101"}),
        ("p3_flex_eager", {"FT107": 1}, {"FT109", "FT104"}),
        ("p1_matmul_add_4096_compiled", {"FT302": 1}, {"FT201"}),
        ("x_item_sync", {"FT203": 1}, {"FT204"}),
        ("x_h2d_pageable", {"FT204": 1}, {"FT203", "FT110"}),
        ("x_many_tiny", {"FT201": 1, "FT202": 1}, set()),
        ("x_fp32_matmul", {"FT301": 1}, set()),
        ("x_tf32_matmul", {}, {"FT301"}),
        ("m_llama_eager", {"FT104": 4, "FT109": 8}, {"FT101"}),
        ("m_llama_sdpa", {}, {"FT104", "FT109"}),
        ("x_cudagraph_inplace", {}, {"FT201", "FT211"}),
    ],
)
def test_the_recordings_show_what_they_were_made_to_show(name, there, absent):
    seen = codes(recording(name))
    assert {code: seen.get(code) for code in there} == there
    assert not absent & set(seen)


def test_the_math_path_has_its_consequences():
    result = {finding.code: finding for finding in examine(recording("p3_sdpa_math")).problems}
    assert list(result) == ["FT105", "FT301", "FT103", "FT102"]
    assert result["FT105"].because is None
    for code in ("FT301", "FT103", "FT102"):
        assert result[code].because == "FT105"
        assert result[code].change == result["FT105"].change
    assert result["FT105"].at_stake_ns == 2_588_810
    assert (result["FT103"].count, result["FT301"].count, result["FT102"].count) == (3, 2, 1)


def test_unfused_attention_is_one_finding_with_four_a_step():
    assert len(found(recording("m_llama_eager"), "FT104")) == 1


def test_the_advice_on_a_copy_is_possible_at_most_where_backward_runs():
    (finding,) = found(recording("t_naive_fwdbwd"), "FT101")
    assert (finding.count, finding.confidence) == (1, "possible")


def test_the_backward_of_written_out_attention_counts():
    (finding,) = found(recording("t_naive_fwdbwd"), "FT104")
    assert finding.at_stake_ns == 1_846_093
    assert "The backward of these calls is 12 kernels and copies more a step" in finding.text


def test_the_idle_time_around_a_wait_is_what_was_measured():
    finding = found(recording("m_llama_eager"), "FT203")[0]
    assert "After each the device idles 54.5 us on average until new work arrives" in finding.text
    assert (finding.at_stake_ns, finding.confidence) == (7774, "likely")
    finding = found(recording("x_item_sync"), "FT203")[0]
    assert finding.at_stake_ns == 144_716
    assert "0.145 ms (the mean of 2)" in finding.text


def test_notes_are_told_from_problems_in_json():
    content = examine(recording("p3_sdpa_flash")).to_json()
    assert {item["severity"] for item in content["findings"]} == {"note"}
    assert {item["code"] for item in content["findings"]} == {"FT114", "FT115"}
    assert {item["at_stake_ns"] for item in content["findings"]} == {0}
