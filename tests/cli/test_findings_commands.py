"""`read --findings`, `--select`, `--ignore`, `--fail-on`; `rules`; `explain`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from foretrace.findings.registry import RULES

RECORDINGS = Path(__file__).parents[1] / "recordings" / "h200"


def foretrace(*words):
    done = subprocess.run(
        [sys.executable, "-m", "foretrace", *map(str, words)], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def recording(name):
    return RECORDINGS / f"{name}.json.gz"


def test_the_first_screen_names_the_top_findings_and_fits():
    code, out, _ = foretrace("read", recording("p3_naive"))
    assert code == 0
    assert "FT104" in out
    assert "FT101" in out
    assert "0.127 ms a step" in out
    assert len(out.splitlines()) <= 30
    assert max(map(len, out.splitlines())) <= 100


def test_an_op_inside_itself_is_named_once_in_a_path():
    _, out, _ = foretrace("read", recording("p3_flex_eager"), "--findings", "--select", "FT102")
    assert "FlexAttentionAutogradOp > aten::ge (x 11)" in " ".join(out.split())


@pytest.mark.parametrize(
    "name", ["m_llama_eager", "p3_sdpa_math", "x_item_sync", "p3_flex_eager", "m_llama_sdpa_stack"]
)
def test_the_first_screen_fits_thirty_lines(name):
    _, out, _ = foretrace("read", recording(name))
    assert len(out.splitlines()) <= 30


def test_all_findings_in_full_with_consequences_under_their_cause():
    _, out, _ = foretrace("read", recording("p3_sdpa_math"), "--findings")
    order = [line.split()[0] for line in out.splitlines() if line.startswith(" FT")]
    assert order == ["FT105", "FT301", "FT103", "FT102"]
    assert out.count("Try: ") == 1
    assert "follows from FT105" in out
    assert "under attn_fwd > aten::scaled_dot_product_attention" in out


def test_json_has_all_findings_and_what_could_not_be_asked():
    _, out, _ = foretrace("read", recording("p3_naive_noshapes"), "--json")
    content = json.loads(out)
    assert [finding["code"] for finding in content["findings"] if finding["severity"] == "finding"] == [
        "FT104",
        "FT101",
    ]
    unasked = {item["code"]: item["because"] for item in content["not_applicable"]}
    assert unasked["FT102"].startswith("no input shapes were recorded")


def test_rules_are_selected_and_ignored():
    _, out, _ = foretrace("read", recording("p3_naive"), "--json", "--select", "FT1", "--ignore", "unfused-attention")
    assert [finding["code"] for finding in json.loads(out)["findings"]] == ["FT101"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--fail-on", "FT101"], 1),
        (["--fail-on", "hidden-copy"], 1),
        (["--fail-on", "FT203,FT101"], 1),
        (["--fail-on", "any", "--ignore", "FT1, FT2"], 0),
        (["--fail-on", "any"], 1),
        (["--fail-on", "FT203"], 0),
        (["--fail-on", "any", "--ignore", "FT1"], 0),
    ],
)
def test_fail_on_decides_the_exit_code(words, code):
    found, _, err = foretrace("read", recording("p3_naive"), *words)
    assert found == code
    assert ("which --fail-on names" in err) == bool(code)


def test_any_does_not_mean_notes():
    assert foretrace("read", recording("p3_sdpa_flash"), "--fail-on", "any")[0] == 0
    assert foretrace("read", recording("p3_sdpa_flash"), "--fail-on", "FT114")[0] == 1


def test_an_unknown_rule_is_said_in_one_sentence():
    code, _, err = foretrace("read", recording("p3_naive"), "--fail-on", "FT999")
    assert code == 2
    assert err == "foretrace: no rule is called 'FT999'; `foretrace rules` lists them all.\n"


def test_rules_lists_every_rule():
    _, out, _ = foretrace("rules")
    assert all(code in out for code in RULES)
    _, out, _ = foretrace("rules", "--json")
    assert [rule["code"] for rule in json.loads(out)["rules"]][: len(RULES)] == list(RULES)


def test_explain_gives_the_documentation_and_the_finding_in_a_trace():
    code, out, _ = foretrace("explain", "FT101")
    assert code == 0
    for heading in ("What it looks for", "Why it matters", "How to confirm it", "What usually helps"):
        assert heading in out
    _, out, _ = foretrace("explain", "hidden-copy", recording("p3_naive"))
    assert "0.127 ms at stake" in out
    _, out, _ = foretrace("explain", "FT102", recording("p3_naive_noshapes"))
    assert "Not applicable, because no input shapes were recorded" in out


def test_explain_wants_one_rule():
    code, _, err = foretrace("explain", "FT1")
    assert code == 2
    assert "stands for several rules" in err
