"""Containers by content, and the bounds on what they unpack to."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
import zlib

import pytest

from foretrace.errors import TraceFormatError
from foretrace.trace.read import read_args, read_raw
from foretrace.trace.source import members, open_source, split_member
from readers import codes, listed, names, x

TEXT = listed(*(x(f"op{at}", number=at) for at in range(2_000))).encode()
NAMES = [f"op{at}" for at in range(2_000)]


def zstd(data: bytes) -> bytes:
    package = pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd")
    return package.compress(data)


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w", form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def headed(data: bytes) -> bytes:
    """A gzip member whose header has all that a header can have."""
    packed = gzip.compress(data)
    extra = b"\x04\x00\x01\x02\x03\x04" + b"name.json\0" + b"a comment\0" + b"\xab\xcd"
    return packed[:3] + bytes([2 | 4 | 8 | 16]) + packed[4:10] + extra + packed[10:]


PACKED = {
    "plain": lambda: TEXT,
    "gzip": lambda: gzip.compress(TEXT),
    "gzip of two members": lambda: gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:]),
    "gzip of many members": lambda: b"".join(gzip.compress(TEXT[at : at + 999]) for at in range(0, len(TEXT), 999)),
    "gzip with zero padding": lambda: gzip.compress(TEXT) + b"\0" * 5000,
    "gzip with padding between members": lambda: gzip.compress(TEXT[:9]) + b"\0" * 511 + gzip.compress(TEXT[9:]),
    "gzip with a header": lambda: headed(TEXT),
    "gzip in gzip": lambda: gzip.compress(gzip.compress(TEXT)),
    "zstd": lambda: zstd(TEXT),
    "zstd of two frames": lambda: zstd(TEXT[:1000]) + zstd(TEXT[1000:]),
    "zstd behind a skippable frame": lambda: b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + zstd(TEXT),
    "xz": lambda: lzma.compress(TEXT),
    "bzip2": lambda: bz2.compress(TEXT),
    "zip": lambda: zipped({"t.json": TEXT}),
    "stored zip": lambda: zipped({"t.json": TEXT}, zipfile.ZIP_STORED),
    "zip by bzip2": lambda: zipped({"t.json": TEXT}, zipfile.ZIP_BZIP2),
    "zip of a gzip": lambda: zipped({"a/t.json.gz": gzip.compress(TEXT)}),
    "zip with other files": lambda: zipped({"README": b"x", "__MACOSX/._t.json": b"x", "d/": b"", "d/t.json": TEXT}),
    "zip of one file of another name": lambda: zipped({"trace": TEXT}),
    "zip in gzip": lambda: gzip.compress(zipped({"t.json": TEXT})),
    "zip behind other bytes": lambda: zipped({"t.json": TEXT}),
    "tar": lambda: tarred({"t.json": TEXT}),
    "old tar": lambda: tarred({"d" * 90 + "/" + "t" * 60 + ".json": TEXT}, form=tarfile.USTAR_FORMAT),
    "tar with a long name": lambda: tarred({"d" * 200 + "/t.json": TEXT}, form=tarfile.GNU_FORMAT),
    "tar with a long name of today": lambda: tarred({"\u00e9" * 200 + "/t.json": TEXT}),
    "tar with other files": lambda: tarred({"notes.txt": b"{}", "t.json": TEXT, "z.txt": b"y"}),
    "tar.gz": lambda: tarred({"t.json": TEXT}, "w:gz"),
    "tar.gz of a gzip": lambda: tarred({"t.json.gz": gzip.compress(TEXT)}, "w:gz"),
    "tar.zst": lambda: zstd(tarred({"t.json": TEXT})),
    "tar.xz": lambda: tarred({"t.json": TEXT}, "w:xz"),
    "utf-16": lambda: TEXT.decode().encode("utf-16"),
    "utf-16 without a mark": lambda: TEXT.decode().encode("utf-16-le"),
    "utf-8 with a mark": lambda: b"\xef\xbb\xbf" + TEXT,
}


@pytest.mark.case("F10")
@pytest.mark.parametrize("kind", PACKED)
@pytest.mark.parametrize("name", ["t.json", "t.json.gz", "t.zip", "t"])
def test_a_container_is_told_by_its_content(tmp_path, kind, name):
    path = tmp_path / name
    path.write_bytes(PACKED[kind]())
    found = read_raw(path)
    assert names(found) == NAMES
    assert found.repairs == []


@pytest.mark.parametrize("kind", PACKED)
def test_args_are_found_in_any_container(tmp_path, kind):
    path = tmp_path / "t"
    path.write_bytes(PACKED[kind]())
    found = read_raw(path)
    spans = [(int(found.rows.args_start[at]), int(found.rows.args_length[at])) for at in (0, 1_234, 1_999)]
    assert read_args(path, spans) == [{"number": 0}, {"number": 1_234}, {"number": 1_999}]


@pytest.mark.parametrize("kind", [kind for kind in PACKED if kind != "plain"])
def test_standard_input(kind):
    code = "from foretrace.trace.read import read_raw; found = read_raw('-'); print(found.events, found.repairs)"
    ran = subprocess.run([sys.executable, "-c", code], input=PACKED[kind](), capture_output=True, check=True)
    assert ran.stdout.decode().split() == ["2000", "[]"]


def test_a_plain_trace_from_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(TEXT))
    writer.start()
    found = read_raw(pipe)
    writer.join()
    assert names(found) == NAMES


# ---- archives of several ----


SEVERAL = {"rank0.json": listed(x("zero")).encode(), "rank1.json": listed(x("one")).encode(), "log.txt": b"hello"}


@pytest.mark.parametrize(("name", "pack"), [("ranks.zip", zipped), ("ranks.tar", tarred)])
def test_several_traces_are_named_and_one_can_be_chosen(tmp_path, name, pack):
    path = tmp_path / name
    path.write_bytes(pack(SEVERAL))
    with pytest.raises(TraceFormatError) as error:
        read_raw(path)
    assert "2 traces (rank0.json, rank1.json)" in str(error.value)
    assert f"{path}:rank0.json" in str(error.value)
    assert names(read_raw(f"{path}:rank0.json")) == ["zero"]
    assert names(read_raw(f"{path}:rank1.json")) == ["one"]
    assert members(path) == [f"{path}:rank0.json", f"{path}:rank1.json"]
    with pytest.raises(TraceFormatError, match=r"has no member rank7\.json; it holds rank0\.json, rank1\.json\.$"):
        read_raw(f"{path}:rank7.json")


def test_members_of_what_is_no_archive(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(TEXT)
    assert members(path) == []
    with pytest.raises(TraceFormatError, match="this is no archive, so it has no member x"):
        read_raw(f"{path}:x")


def test_a_colon_in_a_name_is_part_of_it(tmp_path):
    path = tmp_path / "a:b.json"
    path.write_bytes(TEXT)
    assert split_member(path) == (str(path), None)
    assert read_raw(path).events == 2_000


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "it holds nothing"),
        ({"a.txt": b"x", "b.txt": b"y"}, "it holds a.txt, b.txt"),
        ({"archive/data.pkl": b"\x80\x02", "archive/version": b"3"}, "a PyTorch checkpoint"),
    ],
)
def test_an_archive_without_a_trace(tmp_path, files, says):
    path = tmp_path / "x.zip"
    path.write_bytes(zipped(files))
    with pytest.raises(TraceFormatError, match=says):
        read_raw(path)


def test_many_traces_are_not_all_listed(tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(zipped({f"rank{at:03}.json": b"[]" for at in range(100)}))
    with pytest.raises(TraceFormatError, match="and 92 more") as error:
        read_raw(path)
    assert len(str(error.value)) < 600


# ---- damage ----


def refusal(path) -> str:
    """Why a file is refused; nothing where it is read."""
    try:
        read_raw(path)
    except TraceFormatError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", ["gzip", "zstd", "xz", "bzip2", "zip", "tar", "tar.gz"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_cut_container_gives_what_it_holds(tmp_path, kind, share):
    data = PACKED[kind]()
    path = tmp_path / "t"
    path.write_bytes(data[: int(len(data) * share)])
    message = refusal(path)
    if message:
        # A zip archive has its list at its end; others pack so much at once that nothing is whole.
        assert kind in ("zip", "bzip2", "xz", "zstd")
        assert message.startswith(f"{path}: ")
        assert message.endswith(".")
        assert "empty file" not in message
        return
    found = read_raw(path)
    assert names(found) == NAMES[: found.events]
    assert "compression" in codes(found) or found.events == 2_000


def test_a_gzip_with_a_wrong_checksum(tmp_path):
    data = bytearray(gzip.compress(TEXT))
    data[-6] ^= 0xFF
    path = tmp_path / "t.json.gz"
    path.write_bytes(data)
    found = read_raw(path)
    assert names(found) == NAMES
    assert codes(found) == {"compression": 1}
    with pytest.raises(TraceFormatError, match="gzip data is damaged"):
        read_raw(path, strict=True)


def test_bytes_behind_a_gzip(tmp_path):
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(TEXT) + b"some other bytes that follow")
    found = read_raw(path)
    assert names(found) == NAMES
    assert codes(found) == {"compression": 1}


@pytest.mark.parametrize("at", range(0, 400, 23))
def test_a_damaged_archive_is_an_error_of_ours(tmp_path, at):
    for pack in (zipped, tarred):
        data = bytearray(pack({"t.json": TEXT[:300] + b"]}"}))
        data[at % len(data)] ^= 0x55
        path = tmp_path / "t"
        path.write_bytes(data)
        with contextlib.suppress(TraceFormatError):
            read_raw(path)


def test_an_encrypted_zip(tmp_path):
    data = bytearray(zipped({"t.json": TEXT}))
    for at in (6, data.rindex(b"PK\x01\x02") + 8):
        data[at] |= 1
    path = tmp_path / "t.zip"
    path.write_bytes(data)
    with pytest.raises(TraceFormatError, match="encrypted"):
        read_raw(path)


# ---- bounds ----


@pytest.mark.parametrize("kind", [kind for kind in PACKED if not kind.startswith("utf")])
def test_nothing_is_read_beyond_the_bound(tmp_path, kind):
    path = tmp_path / "t"
    path.write_bytes(PACKED[kind]())
    with pytest.raises(TraceFormatError, match=r"more than 100 kB.*--max-size"):
        read_raw(path, max_size=100_000)
    assert read_raw(path, max_size=10_000_000).events == 2_000


def bomb(size: int) -> bytes:
    """A few kilobytes of gzip that unpack to ``size`` bytes of white space behind a bracket."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(b"[")]
    parts += [packer.compress(b" " * (1 << 20)) for _ in range(size >> 20)]
    return b"".join(parts) + packer.flush()


@pytest.mark.parametrize("name", ["t.json.gz", "t.tar", "t.zip"])
def test_a_small_file_that_expands_without_end_is_stopped(tmp_path, name):
    packed = bomb(300 << 20)
    assert len(packed) < 1 << 20
    path = tmp_path / name
    pack = {"t.tar": tarred, "t.zip": zipped}.get(name)
    path.write_bytes(pack({"t.json.gz": packed}) if pack else packed)
    code = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from foretrace.errors import TraceFormatError\n"
        "from foretrace.trace.read import read_raw\n"
        "try: read_raw(sys.argv[1], max_size=200_000_000)\n"
        "except TraceFormatError as error: print(error)\n"
        "print(re.search(r'VmHWM:\\s+([0-9]+)', Path('/proc/self/status').read_text())[1])"
    )
    ran = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    message, memory = ran.stdout.splitlines()
    assert "more than 200 MB" in message
    assert int(memory) < 200_000


def test_a_tar_header_that_lies_about_its_size(tmp_path):
    data = bytearray(tarred({"t.json": TEXT}, form=tarfile.USTAR_FORMAT))
    data[124:136] = b"77777777777\0"
    path = tmp_path / "t.tar"
    path.write_bytes(data)
    found = read_raw(path)
    assert found.events == 2_000
    assert "compression" in codes(found)


def test_archives_within_archives_end_somewhere(tmp_path):
    data = TEXT
    for _ in range(8):
        data = gzip.compress(data)
    path = tmp_path / "t"
    path.write_bytes(data)
    with pytest.raises(TraceFormatError, match="within one another"):
        read_raw(path)


# ---- what is no file ----


def test_a_folder_and_what_is_not_there(tmp_path):
    with pytest.raises(TraceFormatError, match="Is a directory"):
        read_raw(tmp_path)
    with pytest.raises(TraceFormatError, match=r"No such file or directory\.$"):
        read_raw(tmp_path / "t.json")


def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(TEXT)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(TraceFormatError, match="Permission denied"):
        read_raw(path)


def test_the_thread_ends_when_reading_stops_early(tmp_path):
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(os.urandom(3 << 20), 0))
    before = threading.active_count()
    with pytest.raises(TraceFormatError):
        read_raw(path)
    with open_source(path) as source:
        pieces = source.pieces()
        next(pieces)
        pieces.close()
    assert threading.active_count() == before


def test_zstd_without_a_package_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "t.json.zst"
    path.write_bytes(zstd(TEXT))
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(TraceFormatError, match="zstd -d"):
        read_raw(path)
