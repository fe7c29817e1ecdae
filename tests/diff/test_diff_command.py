"""`foretrace diff` as it is run: exit codes, JSON, folders, hostile names."""

import json
import shutil
from pathlib import Path

import pytest

from build import Build
from foretrace.cli import main
from foretrace.differences.folders import diff_folders
from foretrace.errors import MissingDataError

OWN = Path(__file__).parents[1] / "recordings" / "h200"
NAIVE, INPLACE = str(OWN / "p3_naive.json.gz"), str(OWN / "p3_inplace.json.gz")


def run(capsys, *args):
    with pytest.raises(SystemExit) as stop:
        main(["diff", *map(str, args)])
    shown = capsys.readouterr()
    return stop.value.code, shown.out, shown.err


def test_a_difference_alone_is_no_failure(capsys):
    code, out, err = run(capsys, NAIVE, INPLACE)
    assert (code, err) == (0, "")
    assert "all of it is the copy." in out.replace("\n ", " ")


def test_what_came_is_shown_beside_what_went_though_it_costs_less(capsys):
    _, out, _ = run(capsys, OWN / "p3_sdpa_math.json.gz", OWN / "p3_sdpa_flash.json.gz")
    new = [line for line in out.splitlines() if line.startswith(" new")]
    assert "flash attention forward" in new[0]
    assert new[0].endswith("+92.4 us")
    (rest,) = [line for line in out.splitlines() if "more such changes" in line]
    assert rest.strip() == "and 9 more such changes (--all), -0.220 ms together"


@pytest.mark.parametrize(
    ("after", "fail_on", "code"),
    [
        (INPLACE, "structure", 1),
        (INPLACE, "times", 1),
        (INPLACE, "any", 1),
        (NAIVE, "structure", 0),
        (NAIVE, "times", 0),
        (NAIVE, "any", 0),
        (str(OWN / "p3_cold_naive.json.gz"), "any", 0),
    ],
)
def test_fail_on(capsys, after, fail_on, code):
    found, _, err = run(capsys, NAIVE, after, "--fail-on", fail_on)
    assert found == code
    assert err.count("\n") == code
    if code:
        assert f"which --fail-on {fail_on} names" in err


def test_times_alone_do_not_fail_for_structure(capsys, tmp_path):
    for name, dur in (("before", 50), ("after", 80)):
        made = Build().gpu()
        for number in range(3):
            made.step(number, 1000 * number, 500).op("aten::mm", 1000 * number + 5, 50)
            made.kernel("k", 1000 * number + 100, dur, 1000 * number + 10)
        made.write(tmp_path / f"{name}.json")
    pair = tmp_path / "before.json", tmp_path / "after.json"
    assert run(capsys, *pair, "--fail-on", "structure")[0] == 0
    assert run(capsys, *pair, "--fail-on", "times")[0] == 1


def test_json(capsys):
    code, out, _ = run(capsys, NAIVE, INPLACE, "--json")
    content = json.loads(out)
    assert code == 0
    assert content["schema"] == 1
    assert content["before"] == "p3_naive.json.gz"
    assert content["same"] is False
    assert content["structure"][0] | {"time_before_ns": 0} == {
        "change": "gone",
        "kind": "memcpy",
        "name": "Memcpy DtoD (Device -> Device)",
        "name_after": None,
        "path": ["attn_fwd", "aten::masked_fill", "aten::clone", "aten::copy_"],
        "path_after": None,
        "before": 1,
        "after": 0,
        "time_before_ns": 0,
        "time_after_ns": 0,
        "bytes": 268_435_456,
        "facts": {},
        "launch": None,
        "inside": 0,
        "inside_after": 0,
    }


def folders(tmp_path):
    for side, files in (
        ("before", {"naive": "p3_naive", "flash": "p3_sdpa_flash", "math": "p3_sdpa_math"}),
        ("after", {"naive": "p3_inplace", "flash": "p3_sdpa_flash", "flex": "p3_flex_compiled"}),
    ):
        (tmp_path / side).mkdir()
        for name, source in files.items():
            shutil.copy(OWN / f"{source}.json.gz", tmp_path / side / f"{name}.json.gz")
    return tmp_path / "before", tmp_path / "after"


def test_folders_are_compared_by_variant(capsys, tmp_path):
    before, after = folders(tmp_path)
    code, out, _ = run(capsys, before, after)
    assert code == 0
    assert "Only before: math." in out
    assert "Only after: flex." in out
    assert "naive: One Memcpy DtoD of 268 MB a step" in out
    code, out, _ = run(capsys, before, after, "--json", "--fail-on", "any")
    content = json.loads(out)
    assert code == 1
    assert [(one["variant"], one["same"]) for one in content["variants"]] == [("flash", True), ("naive", False)]
    assert (content["only_before"], content["only_after"]) == (["math"], ["flex"])


def test_a_folder_against_itself_is_the_same(capsys, tmp_path):
    before, _ = folders(tmp_path)
    code, out, _ = run(capsys, before, before, "--fail-on", "any")
    assert code == 0
    assert "No change in 3 variants." in out


def test_folders_with_one_trace_each_are_compared_whatever_its_name(tmp_path):
    for side, source in (("before", NAIVE), ("after", INPLACE)):
        (tmp_path / side).mkdir()
        shutil.copy(source, tmp_path / side / f"{side}.json.gz")
    found = diff_folders(tmp_path / "before", tmp_path / "after")
    assert [one.variant for one in found.variants] == ["before"]
    assert found.structure_changed


def test_a_page_of_the_difference_is_written(capsys, tmp_path):
    code, out, err = run(capsys, NAIVE, INPLACE, "--html", tmp_path / "diff.html")
    assert code == 0
    assert "Memcpy DtoD" in out
    assert err.count("wrote") == 1
    assert "masked_fill" in (tmp_path / "diff.html").read_text(encoding="utf-8")


def test_folders_without_a_common_variant_are_refused(tmp_path):
    for side in ("before", "after"):
        (tmp_path / side).mkdir()
        for number in range(2):
            shutil.copy(NAIVE, tmp_path / side / f"{side}{number}.json.gz")
    with pytest.raises(MissingDataError, match="no variant in common"):
        diff_folders(tmp_path / "before", tmp_path / "after")


def test_a_variant_that_does_not_read_is_said_and_fails(capsys, tmp_path):
    before, after = folders(tmp_path)
    (after / "naive.json.gz").write_text("{")
    for more in ((), ("--fail-on", "structure"), ("--fail-on", "times"), ("--json",)):
        code, out, err = run(capsys, before, after, *more)
        assert code == 2
        assert "1 variant could not be compared." in out
        assert err.startswith("foretrace: naive could not be compared: ")
        assert err.count("\n") == 1


def test_where_nothing_reads_no_variant_is_counted_as_unchanged(capsys, tmp_path):
    for side, content in (("c", Path(NAIVE).read_bytes()), ("d", b"{")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "y.json.gz").write_bytes(content)
    for more in ((), ("--fail-on", "times")):
        code, out, err = run(capsys, tmp_path / "c", tmp_path / "d", *more)
        assert code == 2
        assert "none changed" not in out
        assert "y.json.gz" in err


def test_a_variant_that_is_gone_is_part_of_the_summary(tmp_path):
    before, after = folders(tmp_path)
    (after / "flex.json.gz").unlink()
    shutil.copy(NAIVE, after / "naive.json.gz")
    found = diff_folders(before, after)
    assert not found.same
    assert found.summary == (
        "Of 2 variants that both hold, none changed in structure and none in time beyond noise. 1 variant is gone."
    )


def test_a_folder_without_traces_is_refused_in_words_of_this_command(capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    before, _ = folders(tmp_path)
    code, _, err = run(capsys, before, tmp_path / "empty")
    assert code == 2
    assert "holds no traces to compare" in err
    assert "--replay" not in err


def test_a_page_in_a_folder_that_is_not_there_is_refused(capsys, tmp_path):
    code, out, err = run(capsys, NAIVE, INPLACE, "--html", tmp_path / "none" / "x.html")
    assert (code, out) == (2, "")
    assert "--html" in err


@pytest.mark.parametrize("args", [(NAIVE, "missing.json"), (NAIVE, OWN), ("missing", "gone")])
def test_what_cannot_be_compared_exits_with_2_and_one_sentence(capsys, args):
    code, out, err = run(capsys, *args)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_hostile_names_do_not_reach_the_terminal(capsys, tmp_path):
    evil = "k\x1b[2J\n[bold]</script>"
    for name, kernel in (("a", "k"), ("b", evil)):
        made = Build().gpu(f"GPU\x07{name}").step(0, 0, 100).annotation(f"an\x1b{name}", 1, 90)
        made.op(f"op\x1b{name}", 5, 50).kernel(kernel, 60, 5, 10).write(tmp_path / f"{name}.json")
    for more in ((), ("--all",)):
        _, out, _ = run(capsys, tmp_path / "a.json", tmp_path / "b.json", *more)
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "\\x1b" in out
    _, out, _ = run(capsys, tmp_path / "a.json", tmp_path / "b.json", "--json")
    assert any(change["name"] == evil or change["name_after"] == evil for change in json.loads(out)["structure"])


@pytest.mark.parametrize("width", ["60", "80", "100", "120"])
def test_the_ranges_over_the_steps_are_never_cut(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    _, out, _ = run(capsys, NAIVE, INPLACE)
    assert "0.348 to 0.773 ms" in out
    assert "0.285 to 0.431 ms" in out
    assert "over the steps" in out
    assert "…" not in out


def test_files_of_one_name_are_told_apart_by_their_folders(capsys, tmp_path):
    for folder, source in (("old", NAIVE), ("new", INPLACE)):
        (tmp_path / folder).mkdir()
        shutil.copy(source, tmp_path / folder / "x.json.gz")
    _, out, _ = run(capsys, tmp_path / "old" / "x.json.gz", tmp_path / "new" / "x.json.gz")
    assert out.startswith("old/x.json.gz -> new/x.json.gz\n")
    _, out, _ = run(capsys, NAIVE, INPLACE)
    assert out.startswith("p3_naive.json.gz -> p3_inplace.json.gz\n")


def test_a_name_with_capitals_of_its_own_keeps_them_in_the_summary(capsys):
    _, out, _ = run(capsys, OWN / "n_d80_cudnn.json.gz", OWN / "n_d80_flash.json.gz")
    assert " cuDNN attention forward 16-bit d128 became flash attention" in out
    assert "head dim" not in out
