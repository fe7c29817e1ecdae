"""`foretrace share`: what is uploaded and linked, and what is said without the package or a login."""

import gzip
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from build import Build
from foretrace.cli import main
from foretrace.errors import UsageError
from foretrace.report.share import link_of, staged


@pytest.fixture
def trace_file(tmp_path):
    return Build().gpu().kernel("A", 1, 2).write(tmp_path / "a trace.json")


def refused(capsys, *words) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["share", *words])
    assert stop.value.code == 2
    return capsys.readouterr().err


def hub(monkeypatch, token):
    """Stand-ins for trace-util and the Hub's client."""
    package, client = ModuleType("trace_util"), ModuleType("huggingface_hub")
    package.__spec__ = importlib.util.spec_from_loader("trace_util", None)
    client.get_token = lambda: token

    class HfApi:
        def whoami(self):
            return {"name": "somebody"}

    client.HfApi = HfApi
    monkeypatch.setitem(sys.modules, "trace_util", package)
    monkeypatch.setitem(sys.modules, "huggingface_hub", client)


def test_without_the_package_it_says_what_to_install(trace_file, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "trace_util", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    said = refused(capsys, str(trace_file), "-b", "traces")
    assert said == (
        'foretrace: trace-util, which uploads, is not installed; install it: pip install "foretrace[hub]".\n'
    )


def test_a_file_that_is_not_there_is_said_first(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert refused(capsys, str(tmp_path / "nope.json"), "-b", "traces").endswith("nope.json: no such file or folder.\n")


def test_without_a_login_it_says_how_to_log_in(trace_file, capsys, monkeypatch):
    hub(monkeypatch, None)
    assert "run `hf auth login` first" in refused(capsys, str(trace_file), "-b", "traces")


def test_it_uploads_with_trace_util_and_prints_a_link_for_each(trace_file, tmp_path, capsys, monkeypatch):
    hub(monkeypatch, "token")
    packed = tmp_path / "b.json.gz"
    packed.write_bytes(gzip.compress(trace_file.read_bytes()))
    ran = []

    def run(command, **_options):
        ran.append(command)
        folder = Path(command[3])
        assert sorted(path.name for path in folder.iterdir()) == ["a trace.json", "b.json"]
        assert (folder / "b.json").read_bytes() == trace_file.read_bytes()

        class Done:
            returncode = 0

        return Done()

    monkeypatch.setattr("subprocess.run", run)
    with pytest.raises(SystemExit) as stop:
        main(["share", str(trace_file), str(packed), "-b", "traces"])
    assert stop.value.code == 0
    assert ran[0][4:] == ["--bucket", "traces"]
    assert capsys.readouterr().out.splitlines() == [
        "https://ui.perfetto.dev/#!/?url=https://huggingface.co/buckets/somebody/traces/resolve/a%20trace.json",
        "https://ui.perfetto.dev/#!/?url=https://huggingface.co/buckets/somebody/traces/resolve/b.json",
    ]


def test_a_failed_upload_is_said(trace_file, capsys, monkeypatch):
    hub(monkeypatch, "token")

    class Failed:
        returncode = 1

    monkeypatch.setattr("subprocess.run", lambda *_words, **_options: Failed())
    assert "trace-util did not finish (exit code 1)" in refused(capsys, str(trace_file), "-b", "traces")


def test_folders_are_looked_through_and_names_kept_apart(trace_file, tmp_path):
    (tmp_path / "attention.json").write_text("{}")
    other = tmp_path / "other"
    other.mkdir()
    (other / "a trace.json").write_bytes(trace_file.read_bytes())
    into = tmp_path / "into"
    into.mkdir()
    assert staged([tmp_path, other], into) == ["a trace.json", "a trace-2.json"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="holds no traces"):
        staged([empty], into)


def test_links_are_escaped():
    assert link_of("me", "b", "x&y #1.json").endswith("/resolve/x%26y%20%231.json")
