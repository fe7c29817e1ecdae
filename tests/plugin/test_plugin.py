"""The plugin, by pytest in pytest: pass, miss, unresolved; baseline made, changed, updated."""

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

from build import Build
from foretrace.findings.registry import rules
from foretrace.pytest_plugin import _file_name

pytest_plugins = ["pytester"]

rules()
OWN = Path(__file__).parents[1] / "recordings" / "h200"
# Installed before the entry point was there, the plugin is named on the command line instead.
NAMED = () if entry_points(group="pytest11", name="foretrace") else ("-p", "foretrace.pytest_plugin")


@pytest.fixture
def project(pytester):
    """A project with recordings beside its tests."""
    for name in ("p3_naive", "p3_inplace"):
        shutil.copy(OWN / f"{name}.json.gz", pytester.path / f"{name}.json.gz")
    return pytester


# Torch is not imported here: pytester forgets the modules that a test imports, and torch loads only once.
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
# Hypothesis imports itself anew for the summary of every run inside this one.
QUIET = (*NAMED, "-p", "no:cacheprovider", "-p", "no:hypothesispytest")


def run(project, *args):
    return project.runpytest_inprocess(*QUIET, *args)


def test_hits_pass(project):
    project.makepyfile("""
        import pytest

        def test_fixture(foretrace):
            trace = foretrace.read("p3_naive.json.gz")
            outcomes = foretrace.check(trace, "kernels == 5", "op aten::masked_fill memcpys == 1")
            assert [outcome.outcome for outcome in outcomes] == ["hit", "hit"]

        @pytest.mark.foretrace("kernels == 5", "memcpys == 1", because="masked_fill copies")
        def test_mark(foretrace):
            foretrace.read("p3_naive.json.gz")
    """)
    run(project, "--strict-markers").assert_outcomes(passed=2)


def test_a_miss_fails_and_says_where_it_comes_from(project):
    project.makepyfile("""
        import pytest

        def test_fixture(foretrace):
            foretrace.check(foretrace.read("p3_naive.json.gz"), "kernels == 5", "memcpys == 0 because in place")

        @pytest.mark.foretrace("memcpys == 0")
        def test_mark(foretrace):
            foretrace.read("p3_naive.json.gz")
    """)
    result = run(project)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*p3_naive.json.gz: 1 hit, 1 miss.",
            "*miss        memcpys == 0 *found 1 a step",
            "*you said: because in place",
            "*Memcpy DtoD (Device -> Device), 268 MB, 0.127 ms",
            "*launched by  attn_fwd > aten::masked_fill > aten::clone > aten::copy_",
            "*FT101",
        ]
    )
    # The traceback ends in the test, not inside the plugin.
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_unresolved_fails(project):
    project.makepyfile("""
        def test_memory(foretrace):
            foretrace.check(foretrace.read("p3_naive.json.gz"), "peak_memory < 1GB")
    """)
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*unresolved*peak_memory < 1GB", "*profile_memory=True*"])


def test_a_mark_holds_for_every_trace_and_with_others(project):
    project.makepyfile("""
        import pytest

        @pytest.mark.foretrace("kernels == 5")
        class TestBoth:
            @pytest.mark.foretrace("memcpys == 0")
            def test_last_misses(self, foretrace):
                foretrace.read("p3_inplace.json.gz")
                foretrace.read("p3_naive.json.gz")

            @pytest.mark.foretrace("memcpys <= 1")
            def test_both_hit(self, foretrace):
                foretrace.read("p3_inplace.json.gz")
                foretrace.read("p3_naive.json.gz")
    """)
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*p3_naive.json.gz: 1 hit, 1 miss."])


def test_marks_that_can_prove_nothing_fail(project):
    project.makepyfile("""
        import pytest

        @pytest.mark.foretrace("kernels == 5")
        def test_no_trace():
            pass

        @pytest.mark.foretrace("kernels = 5")
        def test_malformed(foretrace):
            pass

        @pytest.mark.foretrace("kernels == 5", why="no")
        def test_unknown_word(foretrace):
            pass
    """)
    result = run(project)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        ["*took no trace*", "*at character 9: write == to compare.", "*takes predictions and because, not why."]
    )


def test_a_failing_test_is_not_blamed_on_its_mark(project):
    project.makepyfile("""
        import pytest

        @pytest.mark.foretrace("kernels == 4")
        def test_it(foretrace):
            foretrace.read("p3_naive.json.gz")
            assert 1 == 2

        @pytest.mark.foretrace("kernels == 4")
        def test_skipped(foretrace):
            pytest.skip("not here")
    """)
    result = run(project)
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.no_fnmatch_line("*kernels == 4   found*")


BASELINE = """
    def test_attention(foretrace):
        foretrace.assert_matches_baseline(foretrace.read("{}.json.gz"))
"""


def test_a_baseline_is_made_holds_fails_on_a_change_and_is_updated(project):
    file = project.makepyfile(test_it=BASELINE.format("p3_inplace"))
    kept = project.path / "foretrace_baselines" / "test_it" / "test_attention.sm90.txt"

    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no baseline for a device of class sm90*", "*--foretrace-update*"])
    assert not kept.exists()

    result = run(project, "--foretrace-update")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["foretrace: wrote foretrace_baselines/test_it/test_attention.sm90.txt"])
    made = kept.read_text()
    assert "  kernels: 5\n" in made
    assert "  gemm on tensor cores: 2\n" in made

    run(project).assert_outcomes(passed=1)
    result = run(project, "--foretrace-update")
    result.stdout.no_fnmatch_line("foretrace: wrote*")

    file.write_text(file.read_text().replace("p3_inplace", "p3_naive"))
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*a step is not what its baseline says: foretrace_baselines/test_it/test_attention.sm90.txt",
            "*memcpys: 0 -> 1",
            "*DtoD: 0 -> 1",
            "*Memcpy DtoD (Device -> Device), 1 a step, from attn_fwd > aten::masked_fill > aten::clone > aten::copy_",
            "*aten::clone: 0 -> 1",
            "*If this is meant, rewrite the baseline with pytest --foretrace-update.",
        ]
    )
    assert kept.read_text() == made

    run(project, "--foretrace-update").assert_outcomes(passed=1)
    assert "  memcpys: 1\n" in kept.read_text()
    run(project).assert_outcomes(passed=1)


def test_a_baseline_holds_no_times_and_no_paths(project):
    project.makepyfile(test_it=BASELINE.format("p3_naive"))
    run(project, "--foretrace-update")
    text = (project.path / "foretrace_baselines/test_it/test_attention.sm90.txt").read_text()
    assert str(project.path) not in text
    assert "nvjet" not in text
    assert not any(unit in text for unit in (" ms", " us", " ns"))
    assert len(text) < 2000


def test_each_kind_of_device_has_its_own_baseline(project):
    project.makepyfile(test_it=BASELINE.format("trace"))
    trace = Build().gpu().step(0, 0, 100).op("aten::mm", 5, 50).kernel("k", 60, 5, 10)
    trace.write(project.path / "trace.json.gz")
    run(project, "--foretrace-update").assert_outcomes(passed=1)
    Build().step(0, 0, 100).op("aten::mm", 5, 50).write(project.path / "trace.json.gz")
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*class cpu (there are test_attention.sm90.txt)*"])
    run(project, "--foretrace-update").assert_outcomes(passed=1)
    folder = project.path / "foretrace_baselines" / "test_it"
    assert sorted(path.name for path in folder.iterdir()) == ["test_attention.cpu.txt", "test_attention.sm90.txt"]


def test_parameters_classes_and_several_baselines_do_not_meet(project):
    project.makepyfile(
        test_it="""
        import pytest

        class TestIt:
            @pytest.mark.parametrize("name", ["p3_naive", "p3_inplace"])
            def test_it(self, foretrace, name):
                foretrace.assert_matches_baseline(foretrace.read(f"{name}.json.gz"))

            @pytest.mark.parametrize("name", ["a/b", "a-b"])
            def test_odd(self, foretrace, name):
                foretrace.assert_matches_baseline(foretrace.read("p3_naive.json.gz"))

        def test_two(foretrace):
            trace = foretrace.read("p3_naive.json.gz")
            foretrace.assert_matches_baseline(trace)
            foretrace.assert_matches_baseline(trace)
            foretrace.assert_matches_baseline(trace, "named")
    """
    )
    run(project, "--foretrace-update").assert_outcomes(passed=5)
    names = sorted(path.name for path in (project.path / "foretrace_baselines" / "test_it").iterdir())
    assert len(names) == 7
    assert {
        "TestIt.test_it-p3_naive.sm90.txt",
        "test_two.sm90.txt",
        "test_two.2.sm90.txt",
        "test_two.named.sm90.txt",
    } <= {*names}
    run(project).assert_outcomes(passed=5)


def test_a_damaged_baseline_is_said(project):
    project.makepyfile(test_it=BASELINE.format("p3_naive"))
    run(project, "--foretrace-update")
    kept = project.path / "foretrace_baselines/test_it/test_attention.sm90.txt"
    kept.write_text(kept.read_text().replace("  kernels: 5", "<<<<<<< HEAD"))
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*line 6: '<<<<<<< HEAD' is no line of a baseline; rewrite it.*"])


def test_the_folder_of_baselines_can_be_named(project):
    project.makeini("[pytest]\nforetrace_baselines = kept")
    project.makepyfile(test_it=BASELINE.format("p3_naive"))
    run(project, "--foretrace-update").assert_outcomes(passed=1)
    assert (project.path / "kept/test_it/test_attention.sm90.txt").exists()


def test_hostile_names_are_escaped_in_baselines_and_failures(project):
    for name, op in (("one", "aten::mm"), ("two", "op\x1b[2J\nkernels: 9")):
        made = Build().gpu().step(0, 0, 100).op(op, 5, 50).kernel(f"k\x1b{name}", 60, 5, 10)
        made.write(project.path / f"{name}.json.gz")
    file = project.makepyfile(test_it=BASELINE.format("two"))
    run(project, "--foretrace-update").assert_outcomes(passed=1)
    assert "\x1b" not in (project.path / "foretrace_baselines/test_it/test_attention.sm90.txt").read_text()
    run(project).assert_outcomes(passed=1)
    file.write_text(file.read_text().replace("two", "one"))
    result = run(project)
    result.assert_outcomes(failed=1)
    assert "\x1b[2J" not in result.stdout.str()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("test_it", "test_it"),
        ("test_it[a-1]", "test_it-a-1"),
        ("TestIt.test_it", "TestIt.test_it"),
    ],
)
def test_file_names_are_readable_where_they_can_be(text, name):
    assert _file_name(text) == name


def test_file_names_never_meet():
    odd = ["test[a/b]", "test[a-b]", "test[a b]", "test-a-b", "t" * 500, "t" * 501, "test[../../etc]", "test[\x1b]"]
    names = [_file_name(text) for text in odd if text != "test-a-b"]
    assert len(set(names)) == len(names)
    assert all("/" not in name and len(name) < 140 for name in names)


@needs_torch
def test_a_callable_is_profiled_live(project):
    project.makepyfile(
        test_it="""
        import time

        import torch

        def attention(q, k, v, factor=1.0):
            return torch.softmax(q @ k.transpose(-2, -1) * factor, -1) @ v

        def take(foretrace):
            q = torch.rand(2, 16, 8)
            return foretrace.profile(attention, q, q, q, factor=0.5, steps=3, warmup=1, device="cpu")

        def test_attention(foretrace):
            trace = take(foretrace)
            foretrace.check(trace, "steps >= 2", "ops(aten::bmm) == 2", "ops(aten::_softmax) == 1", "cpu_time < 10s")
            foretrace.assert_matches_baseline(trace)

        def test_time(foretrace):
            began = time.process_time()  # of this process alone, however busy the machine is
            foretrace.check(take(foretrace), "ops(aten::bmm) == 2")
            assert time.process_time() - began < 1
    """
    )
    project.runpytest_subprocess(*QUIET, "--foretrace-update").assert_outcomes(passed=2)
    text = (project.path / "foretrace_baselines/test_it/test_attention.cpu.txt").read_text()
    assert "  aten::bmm: 2\n" in text
    project.runpytest_subprocess(*QUIET).assert_outcomes(passed=2)


def test_pytest_starts_without_foretrace_s_parts():
    code = (
        "import sys, pytest\n"
        f"pytest.main([*{NAMED!r}, '--version', '-q'])\n"
        "import foretrace.pytest_plugin\n"
        "heavy = {'torch', 'numpy', 'msgspec', 'rich', 'foretrace.trace', 'foretrace.predictions'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_reading_a_stored_trace_needs_no_torch(project):
    project.makepyfile("""
        import sys

        def test_it(foretrace):
            foretrace.check(foretrace.read("p3_naive.json.gz"), "kernels == 5")
            assert "torch" not in sys.modules
    """)
    result = project.runpytest_subprocess(*QUIET)
    result.assert_outcomes(passed=1)


def test_a_trace_that_is_not_there_is_told_where_the_test_reads_it(project):
    project.makepyfile("""
        def test_it(foretrace):
            foretrace.read("missing.json.gz")
    """)
    result = run(project)
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "missing.json.gz" in text
    assert "test_a_trace_that_is_not_there_is_told_where_the_test_reads_it.py:2: TraceFormatError" in text
    assert "pytest_plugin.py" not in text
    assert "load_trace" not in text
    assert "During handling" not in text
    assert len(result.outlines) < 25


@pytest.mark.parametrize(
    "body",
    [
        """
        import pytest

        @pytest.mark.foretrace("kernels = 5")
        def test_it(foretrace):
            foretrace.read("p3_naive.json.gz")
        """,
        """
        def test_it(foretrace):
            trace = foretrace.read("p3_naive.json.gz")
            foretrace.check(trace, "kernels = 5")
        """,
    ],
)
def test_a_prediction_that_does_not_parse_is_told_once(project, body):
    project.makepyfile(body)
    result = run(project, "-rN")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert text.count("write == to compare") == 1
    assert "During handling" not in text
    assert "pytest_plugin.py" not in text


@needs_torch
@pytest.mark.parametrize("device", ["cuda", "xpu", "cuda:1", "banana"])
def test_a_device_that_is_not_here_fails_the_test(project, device):
    project.makepyfile(f"""
        import torch

        torch.cuda.is_available = torch.xpu.is_available = lambda: False

        def test_it(foretrace):
            foretrace.profile(lambda: torch.ones(2), device={device!r})
    """)
    result = project.runpytest_subprocess(*QUIET)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *foretrace.profile(device={device!r}): no *device*; leave device out *"])
    assert "pytest_plugin.py" not in result.stdout.str()
