"""Which backend to pin for a shape, on what evidence; the default is kept unless a pin gains more than the spread."""

import dataclasses
import math

import msgspec
import pytest
from build_sweep import H200, SHAPE, case, shape

import foretrace
from foretrace.capture.recording import DeviceInfo
from foretrace.cli import main
from foretrace.cli.recommend import parse_shape
from foretrace.errors import MissingDataError, UsageError
from foretrace.report.pin_code import pin_code
from foretrace.report.recommend_text import recommendation_text
from foretrace.report.recommendation import Alternative
from foretrace.report.sweep_data import Sweep
from foretrace.sweep.recommend import recommended

LENGTHS = (256, 512, 1024, 2048, 4096, 8192)


def times(length, batch=8):
    """Flash wins for short sequences, cuDNN (which is the default) for long ones, by a law without noise."""
    work = batch * length
    flash = 3000 + work * length / 500
    ratio = math.exp(0.3 * (math.log2(length) - 9.5))  # 0.64 at 256, 1 at about 724, 2.9 at 8192
    return {
        "auto": round(flash / ratio),
        "cudnn": round(flash / ratio),
        "flash": round(flash),
        "efficient": round(2 * flash),
        "math": round(20 * flash),
    }


@pytest.fixture(scope="module")
def sweep():
    rows = []
    for length in LENGTHS:
        for batch in (1, 8):
            rows += case(times(length, batch), shape(length=length, batch=batch))
    return Sweep(rows=tuple(rows), place="measured")


def test_a_measured_shape_answers_for_itself(sweep):
    found = recommended(shape(length=256), sweep)
    assert (found.pin, found.sure, found.default_backend) == ("flash", "measured", "cudnn")
    assert found.gain == pytest.approx(1 - times(256)["flash"] / times(256)["cudnn"])
    assert found.evidence[0].distance == 0
    assert found.probability is None
    assert "SDPBackend.FLASH_ATTENTION" in found.code
    kept = recommended(shape(length=8192), sweep)
    assert (kept.pin, kept.gain, kept.code) == (None, None, None)


@pytest.mark.parametrize("length", [320, 384, 448, 576])
def test_between_measured_shapes_it_pins_what_wins_there(sweep, length):
    found = recommended(shape(length=length, batch=4), sweep)
    assert found.pin == "flash"
    assert found.sure in ("sure", "likely")
    true = 1 - times(length, 4)["flash"] / times(length, 4)["cudnn"]
    (flash,) = [each for each in found.alternatives if each.variant == "flash"]
    assert flash.gain == pytest.approx(true, abs=max(0.02, 3 * flash.give_or_take))


@pytest.mark.parametrize("length", [1200, 1536, 3000, 6000])
def test_and_keeps_the_default_where_the_default_wins(sweep, length):
    found = recommended(shape(length=length, batch=2), sweep)
    assert found.pin is None
    assert found.default_backend == "cudnn"
    assert found.probability > 0.8


def test_a_gain_within_the_spread_keeps_the_default():
    rows = case({"auto": 10_090, "cudnn": 10_090, "flash": 10_000}) + case(
        {"auto": 20_150, "cudnn": 20_150, "flash": 20_000}, shape(length=2048)
    )
    sweep = Sweep(rows=tuple(rows), place="x")
    assert recommended(shape(), sweep).pin is None
    between = recommended(shape(length=1536), sweep)
    assert between.pin is None
    assert "within the spread" in recommendation_text(between)


def test_nothing_comparable_is_no_advice(sweep):
    for changes in (
        {"dtype": "float32"}, {"training": True}, {"causal": False}, {"mask": "bool"}, {"length": 1, "kv_length": 512},
        {"kv_heads": 4},
    ):  # fmt: skip
        found = recommended(shape(**changes), sweep)
        assert (found.pin, found.sure, found.cases) == (None, "unknown", 0)
        assert "nothing comparable was measured" in recommendation_text(found)


def test_fp16_is_near_bf16_and_far_away_nobody_is_sure(sweep):
    assert recommended(shape(dtype="float16", length=300), sweep).pin == "flash"
    far = recommended(shape(length=16, batch=1, heads=1), sweep)
    assert (far.pin, far.sure) == (None, "unsure")


def test_what_pytorch_would_refuse_is_not_advised():
    taken = {"auto": 20_000, "cudnn": 20_000, "flash": 10_000}
    rows = case(taken, shape(head_dim=128)) + case(taken, shape(head_dim=256))
    found = recommended(shape(head_dim=320), Sweep(rows=tuple(rows), place="x"))
    assert "flash" not in [each.variant for each in found.alternatives]
    assert found.pin is None


def test_what_failed_nearest_is_not_advised():
    rows = []
    for length in (512, 1024, 2048):
        rows += case({"auto": 20_000, "cudnn": 20_000, "mine": 10_000}, shape(length=length))
    rows += case({"auto": 40_000, "cudnn": 40_000}, shape(length=4096), mine=("out-of-memory", "no."))
    sweep = Sweep(rows=tuple(rows), place="x")
    near = recommended(shape(length=1200), sweep)
    assert (near.pin, near.code) == ("mine", None)
    assert recommended(shape(length=4000), sweep).pin is None


def test_the_device_is_chosen_by_name_and_another_card_is_said():
    other = msgspec.structs.replace(H200, name="NVIDIA A100-SXM4-80GB")
    rows = case({"auto": 20_000, "cudnn": 20_000, "flash": 10_000}) + case(
        {"auto": 20_000, "flash": 20_000, "cudnn": 30_000}, device=other, auto="flash"
    )
    sweep = Sweep(rows=tuple(rows), place="x")
    assert recommended(shape(), sweep, gpu="H200").pin == "flash"
    assert recommended(shape(), sweep, gpu="A100").pin is None
    assert recommended(shape(), sweep, here="NVIDIA A100-SXM4-80GB").pin is None
    with pytest.raises(UsageError, match="has no measurements on 'MI300X', only on NVIDIA H200, NVIDIA A100"):
        recommended(shape(), sweep, gpu="MI300X")
    found = recommended(shape(), sweep, here="NVIDIA L4")
    assert found.elsewhere == "NVIDIA L4"
    assert "This machine has NVIDIA L4" in recommendation_text(found)


def test_calls_that_wait_for_the_host_are_said(sweep):
    found = recommended(shape(length=256, batch=1), sweep)
    assert found.waits_for_host == (20_000, times(256, 1)["auto"])
    assert "wait for the host" in recommendation_text(found)
    assert recommended(shape(length=8192), sweep).waits_for_host is None


def test_the_text_fits_and_holds_the_answer_the_code_and_the_evidence(sweep):
    text = recommendation_text(recommended(shape(length=384), sweep))
    assert "Pin flash: it takes" in text
    assert "less time than the default (cudnn)" in text
    assert "with sdpa_kernel(SDPBackend.FLASH_ATTENTION):" in text
    assert "doublings away" in text
    assert "Evidence: measured" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_what_is_less_certain_than_it_is_large_is_not_known(sweep):
    found = recommended(shape(length=384), sweep)
    rows = (Alternative("flash", -0.5, 2.41), Alternative("math", -1.4, 0.3), Alternative("efficient", 0.01, 0.02))
    text = recommendation_text(dataclasses.replace(found, pin=None, alternatives=rows))
    lines = [line.split() for line in text.splitlines()]
    assert ["flash", "not", "known", "-"] in lines
    assert ["math", "2.4x", "as", "long", "30", "%"] in lines
    assert ["efficient", "1", "%", "less", "time", "2", "%"] in lines


@pytest.mark.parametrize(
    ("variant", "changes", "line"),
    [
        ("cudnn", {}, "scaled_dot_product_attention(q, k, v, is_causal=True)"),
        ("flash", {"causal": False}, "scaled_dot_product_attention(q, k, v)"),
        ("efficient", {"mask": "bool"}, "scaled_dot_product_attention(q, k, v, attn_mask=mask)"),
        ("math", {"kv_heads": 4}, "scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)"),
        ("flash", {"length": 1, "kv_length": 64}, "scaled_dot_product_attention(q, k, v)"),
        ("flash-attn", {}, "flash_attn_func(q, k, v, causal=True)"),
        ("flex", {}, "torch.compile(flex_attention)"),
    ],
)
def test_the_code_fits_the_call(variant, changes, line):
    code = pin_code(variant, shape(**changes))
    assert line in code
    compile(code, "code", "exec")


def test_shapes_as_people_write_them():
    assert parse_shape("8,16,1024,64") == {"batch": 8, "heads": 16, "length": 1024, "head_dim": 64}
    assert parse_shape("1,32/8,1/4096,128") == {
        "batch": 1, "heads": 32, "kv_heads": 8, "length": 1, "kv_length": 4096, "head_dim": 128,
    }  # fmt: skip
    for wrong in ("8,16,1024", "8,16,1024,x", "8/2,16,1024,64", "", "8,16,-1,64"):
        with pytest.raises(UsageError, match="--shape is"):
            parse_shape(wrong)


def test_the_command_and_the_twin_agree(tmp_path, sweep, capsysbinary):
    (tmp_path / "rows.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in sweep.rows))
    twin = foretrace.recommend(batch=4, heads=16, length=384, head_dim=64, source=tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["recommend", "--shape", "4,16,384,64", "--from", str(tmp_path), "--json"])
    assert stop.value.code == 0
    content = msgspec.json.decode(capsysbinary.readouterr().out)
    assert content == msgspec.json.decode(msgspec.json.encode(twin.to_json()))
    assert content["schema"] == 1
    assert (content["pin"], content["keep_default"]) == ("flash", False)
    assert len(content["evidence"]) == 4
    assert "Pin flash" in str(twin)


def test_mistakes_get_a_sentence(tmp_path, sweep):
    with pytest.raises(UsageError, match="lacks its head dim"):
        foretrace.recommend(batch=1, heads=1, length=8, source=sweep)
    with pytest.raises(MissingDataError, match="holds no rows"):
        foretrace.recommend(**{name: SHAPE[name] for name in ("batch", "heads", "length", "head_dim")}, source=tmp_path)
    with pytest.raises(MissingDataError, match="holds no rows"):
        recommended(shape(), Sweep(rows=(), place="x"))


def test_a_device_that_no_rule_knows_is_judged_by_its_rows():
    strange = DeviceInfo(type="cuda", name="Strange 9000", torch="9.9")
    rows = [
        row
        for length in (512, 1024, 2048)
        for row in case({"auto": 20_000, "flash": 20_000, "cudnn": 10_000}, shape(length=length), strange, auto="flash")
    ]
    found = recommended(shape(length=1500), Sweep(rows=tuple(rows), place="x"))
    assert (found.pin, found.default_backend) == ("cudnn", "flash")
