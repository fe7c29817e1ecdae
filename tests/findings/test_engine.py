"""Rules are asked, their answers ordered; what cannot be asked says why."""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest
from asking import recording

import foretrace
from build import Build
from foretrace.errors import RuleError, UsageError
from foretrace.findings import docs, registry
from foretrace.findings.engine import chosen_rules, examine
from foretrace.findings.rule import Check, Confidence, Needs, Rule, Severity


def rule_of(code, *, name="a-pattern", needs=Needs.NOTHING, stake=0, note=False, fails=None):
    rule = Rule(code=code, name=name, needs=needs, since="0.1", note=note)

    def check(_trace):
        if fails:
            raise fails
        yield rule.finding(
            "something", count=1, at_stake_ns=stake, confidence=Confidence.CERTAIN, evidence=(), text="It is so."
        )

    return Check(rule, check, "A pattern.")


def with_rules(monkeypatch, *checks):
    monkeypatch.setattr("foretrace.findings.engine.rules", lambda: checks)


def test_the_most_at_stake_comes_first_and_notes_come_last(monkeypatch):
    with_rules(
        monkeypatch,
        rule_of("XX1", stake=5),
        rule_of("XX2", name="b", note=True, stake=900),
        rule_of("XX3", name="c", stake=70),
        rule_of("XX4", name="d", stake=5),
    )
    result = examine(Build().op("aten::add", 0, 1).load())
    assert [finding.code for finding in result.findings] == ["XX3", "XX1", "XX4", "XX2"]
    assert [finding.at_stake_ns for finding in result.findings] == [70, 5, 5, 0]
    assert result.findings[-1].severity is Severity.NOTE
    assert len(result.problems) == 3
    assert len(result.notes) == 1


@pytest.mark.parametrize(
    ("needs", "because"),
    [
        (Needs.DEVICE, "the file holds no device activity"),
        (Needs.LAUNCHES, "no device activity is tied to its launch"),
        (Needs.SHAPES, "no input shapes were recorded (profile with record_shapes=True)"),
        (Needs.STEPS, "the file has no steps (call prof.step(), or name one with --step)"),
        (Needs.SEVERAL_STEPS, "it takes two steps to compare, and the file has fewer"),
        (Needs.CALLS, "the file holds no runtime calls"),
    ],
)
def test_a_rule_whose_data_is_missing_is_not_applicable_because(monkeypatch, needs, because):
    with_rules(monkeypatch, rule_of("XX1", needs=needs, fails=AssertionError("must not be asked")))
    result = examine(Build().op("aten::add", 0, 1).load())
    assert not result.findings
    assert [item.to_json() for item in result.not_applicable] == [
        {"code": "XX1", "name": "a-pattern", "because": because}
    ]


def test_a_rule_that_needs_ops_is_not_asked_of_a_file_without(monkeypatch):
    with_rules(monkeypatch, rule_of("XX1", needs=Needs.OPS))
    assert examine(Build().kernel("k", 0, 1).load()).not_applicable[0].because == "the file holds no ops"


def test_a_rule_that_fails_is_named_with_the_file_and_the_way_around(monkeypatch):
    with_rules(monkeypatch, rule_of("XX1", fails=KeyError("oops")))
    with pytest.raises(
        RuleError, match=r"built.json: rule XX1 \(a-pattern\) failed \(KeyError: 'oops'\).*--ignore XX1"
    ):
        examine(Build().op("aten::add", 0, 1).load())


def test_rules_are_chosen_by_code_beginning_or_name():
    assert [check.rule.code for check in chosen_rules(["FT101"])] == ["FT101"]
    assert [check.rule.code for check in chosen_rules(["ft101"])] == ["FT101"]
    assert [check.rule.code for check in chosen_rules(["hidden-copy"])] == ["FT101"]
    every, attention = {c.rule.code for c in chosen_rules()}, {c.rule.code for c in chosen_rules(["FT1"])}
    assert attention == {code for code in every if code.startswith("FT1")}
    assert {c.rule.code for c in chosen_rules(ignore=["FT1"])} == every - attention
    assert not chosen_rules(["FT101"], ["hidden-copy"])


@pytest.mark.parametrize("word", ["FT999", "", "no-such-rule"])
def test_an_unknown_rule_is_a_usage_error(word):
    with pytest.raises(UsageError, match="no rule is called"):
        chosen_rules([word])


def test_the_registry_is_true_to_the_rules():
    for code, module in registry.RULES.items():
        rule = importlib.import_module(f"foretrace.findings.rules.{module}").RULE
        assert rule.code == code
        assert rule.name == module.replace("_", "-")
    assert not set(registry.RULES) & registry.RETIRED


@pytest.mark.parametrize("check", registry.rules(), ids=lambda check: check.rule.code)
def test_a_rule_is_documented_under_the_four_headings(check):
    headings = [line.removeprefix("## ") for line in check.docs.splitlines() if line.startswith("## ")]
    assert headings == list(docs.HEADINGS)
    assert docs.summary(check).endswith(".")
    assert len(docs.summary(check)) <= 110


def test_the_function_is_there_whether_or_not_its_modules_were_imported():
    trace = recording("p3_naive")
    before = foretrace.findings(trace, select=["FT101"])
    importlib.import_module("foretrace.findings.rules.hidden_copy")
    importlib.import_module("foretrace.findings.engine")
    assert foretrace.findings(trace, select=["FT101"]) == before
    assert [finding.code for finding in before] == ["FT101"]
    assert foretrace.findings(trace, ignore=["FT"]) == []


def test_a_finding_is_plain_json_with_the_keys_of_the_contract():
    content = foretrace.findings(recording("p3_naive"), select=["FT101"])[0].to_json()
    assert list(content) == [
        "code",
        "name",
        "severity",
        "title",
        "count",
        "at_stake_ns",
        "confidence",
        "evidence",
        "text",
        "change",
        "because",
    ]
    assert json.loads(json.dumps(content)) == content
    assert list(content["evidence"][0]) == ["event", "name", "path", "time_ns"]


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """An installed package that registers rules: its module's text is what the test gives."""

    def install(text, value="outside_rules"):
        (tmp_path / "outside_rules.py").write_text(text)
        info = tmp_path / "outside_rules-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-rules\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[foretrace.rules]\nmine = {value}\n")
        monkeypatch.syspath_prepend(tmp_path)

    registry.rules.cache_clear()
    yield install
    registry.rules.cache_clear()
    sys.modules.pop("outside_rules", None)


OUTSIDE = '''"""Every trace is odd.

## What it looks for
"""
from foretrace.findings.rule import Confidence, Needs, Rule

RULE = Rule(code="{code}", name="{name}", needs=Needs.NOTHING, since="1.0")


def check(trace):
    yield RULE.finding("odd", count=1, at_stake_ns=0, confidence=Confidence.CERTAIN, evidence=(), text="So it is.")
'''


def test_a_rule_of_another_package_comes_through_the_entry_point(outside):
    outside(OUTSIDE.format(code="MY001", name="odd-trace"))
    result = examine(Build().op("aten::add", 0, 1).load(), select=["MY001"])
    assert [finding.title for finding in result.findings] == ["odd"]
    assert "MY001.md" not in docs.pages()


def test_the_rule_that_the_documentation_shows_works(outside):
    example = re.search(r"```python\n(.*?)```", docs.pages()["README.md"], re.DOTALL)[1]
    registry.rules.cache_clear()
    outside(example)
    trace = Build().op("aten::zero_", 0, 20).memset(30, 1, launched=2).memset(32, 1, launched=8).load()
    result = examine(trace, select=["many-memsets"])
    assert [(finding.title, finding.count) for finding in result.findings] == [("more memsets than kernels", 2)]


def test_a_rule_of_another_package_takes_no_code_or_name_that_is_taken(outside):
    outside(OUTSIDE.format(code="FT101", name="odd-trace"))
    with pytest.raises(RuleError, match=r"mine = outside_rules: a rule FT101 .* exists already"):
        registry.rules()


def test_a_package_whose_rule_does_not_load_is_named(outside):
    outside("raise RuntimeError('broken')")
    with pytest.raises(RuleError, match=r"mine = outside_rules: does not load \(RuntimeError: broken\)"):
        registry.rules()


def test_what_is_no_rule_is_refused(outside):
    outside("x = 1", "outside_rules:x")
    with pytest.raises(RuleError, match="a rule is a module with RULE and check"):
        registry.rules()


def test_the_pages_are_brought_up_to_date(tmp_path):
    (tmp_path / "FT000.md").write_text("of a rule that is gone")
    changed = docs.write_pages(tmp_path)
    assert "FT000.md" in changed
    assert "FT101.md" in changed
    assert not (tmp_path / "FT000.md").exists()
    assert docs.stale_pages(tmp_path) == []
    (tmp_path / "FT101.md").write_text("edited by hand")
    assert docs.stale_pages(tmp_path) == ["FT101.md"]


def test_the_pages_in_the_documentation_are_fresh():
    assert docs.stale_pages(Path(__file__).parents[2] / "docs" / "rules") == []


def test_counts_of_a_finding_are_whole_where_they_are():
    check = rule_of("XX1")
    for given, said in ((2.0, 2), (1.5, 1.5), (1 / 3, 0.33)):
        finding = check.rule.finding("x", count=given, at_stake_ns=1.6, confidence=Confidence.LIKELY, evidence=())
        assert finding.count == said
        assert isinstance(finding.count, int) == (given == 2)
        assert finding.at_stake_ns == 2
