"""What people write, what it means, and one sentence with the position of what is wrong."""

import pytest

from foretrace.analysis import attention_backend
from foretrace.analysis.dispatch import recorded
from foretrace.analysis.metrics.attention import BACKENDS
from foretrace.errors import PredictionError
from foretrace.predictions.grammar import parse, parse_quantity


def bounds(text):
    found = parse(text)
    signs = ("(" if found.low_open else "[", ")" if found.high_open else "]")
    return f"{signs[0]}{found.low}, {found.high}{signs[1]}" + (" not" if found.negated else "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kernels == 5", "[5, 5]"),
        ("kernels==5", "[5, 5]"),
        ("kernels != 5", "[5, 5] not"),
        ("kernels < 5", "[None, 5)"),
        ("kernels <= 5", "[None, 5]"),
        ("kernels > 5", "(5, None]"),
        ("kernels >= 5", "[5, None]"),
        ("kernels ≥ 5", "[5, None]"),
        ("kernels in 4..6", "[4, 6]"),
        ("kernels in 4 .. 6", "[4, 6]"),
        ("kernels absent", "[0, 0]"),
        ("kernels present", "[1, None]"),
        ("kernels == 12_000", "[12000, 12000]"),
        ("device_time < 200us", "[None, 200000)"),
        ("device_time < 200 us", "[None, 200000)"),
        ("device_time < 200µs", "[None, 200000)"),
        ("device_time <= 0.2ms", "[None, 200000]"),
        ("device_time == 1.0646710ms", "[1064671, 1064671]"),
        ("device_time == 1e3ns", "[1000, 1000]"),
        ("device_time > 0", "(0, None]"),
        ("device_time in 0.9..1.1ms", "[900000, 1100000]"),
        ("device_time in 900us..1.1ms", "[900000, 1100000]"),
        ("copied_bytes == 268435456", "[268435456, 268435456]"),
        ("copied_bytes <= 256MiB", "[None, 268435456]"),
        ("copied_bytes <= 268 MB", "[None, 268000000]"),
        ("tensor_core_share >= 0.9", "[0.9, None]"),
        ("tensor_core_share >= 90%", "[0.9, None]"),
        ("tensor_core_share >= 90 %", "[0.9, None]"),
        ("busy_share <= 120%", "[None, 1.2]"),
        ("finding(FT101) absent", "[0, 0]"),
        ("finding(hidden-copy) == 2", "[2, 2]"),
        ("finding(any) absent", "[0, 0]"),
    ],
)
def test_bounds_are_exact_in_any_unit(text, expected):
    assert bounds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kernels(role=softmax)", {"role": "softmax"}),
        ("kernels( role = softmax , unit=cuda_core )", {"role": "softmax", "unit": "cuda_core"}),
        ('kernels("pytorch_flash")', {"pattern": "pytorch_flash"}),
        ("kernels('a, b) \\' c')", {"pattern": "a, b) ' c"}),
        ("kernels(pytorch_flash)", {"pattern": "pytorch_flash"}),
        ('kernels("flash", role=attention_forward)', {"pattern": "flash", "role": "attention_forward"}),
        ('kernels(regex="^nvjet.*_h_")', {"regex": "^nvjet.*_h_"}),
        ("kernels(library=cuBLASLt nvjet)", {"library": "cuBLASLt nvjet"}),
        ("memcpys(direction=DtoD)", {"direction": "DtoD"}),
        ("ops(aten::bmm)", {"pattern": "aten::bmm"}),
        ("kernels", {}),
    ],
)
def test_conditions(text, expected):
    assert parse_quantity(text).select.given() == expected


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("op aten::masked_fill_ kernels == 1", "op aten::masked_fill_"),
        ('op "my op" kernels == 1', 'op "my op"'),
        ("op aten::_scaled_dot_product_* kernels == 1", "op aten::_scaled_dot_product_*"),
        ("annotation attn_fwd kernels == 1", "annotation attn_fwd"),
        ('annotation "## forward ##" kernels == 1', 'annotation "## forward ##"'),
        ("kernels == 1", "None"),
    ],
)
def test_scopes(text, scope):
    assert str(parse(text).metric.scope) == scope


@pytest.mark.parametrize(
    ("text", "words", "negated"),
    [
        ("backend == flash", ("flash",), False),
        ("backend != math", ("math",), True),
        ("backend in (flash, cudnn)", ("flash", "cudnn"), False),
        ('backend == "op by op"', ("op by op",), False),
        ("backend != Flash", ("flash",), True),
        ("backend == flashinfer", ("FlashInfer",), False),
        ("bound == device", ("device",), False),
    ],
)
def test_words(text, words, negated):
    found = parse(text)
    assert (found.words, found.negated) == (words, negated)


def test_every_backend_that_a_trace_can_show_may_be_predicted():
    shown = {*attention_backend._BACKENDS.values(), *(path for _, path in attention_backend._PACKAGES)}
    shown |= {backend for backend, *_ in recorded._BACKENDS.values()} | {backend for backend, _ in recorded._KERNELS}
    assert shown | {"flex", "Inductor", "op by op"} == set(BACKENDS)
    for name in BACKENDS:
        assert parse(f'backend == "{name}"').words == (name,)


def test_a_reason_may_follow():
    found = parse("memcpys == 0 because masked_fill_ works in place")
    assert found.because == "masked_fill_ works in place"
    assert str(found) == "memcpys == 0"
    assert parse("memcpys == 0", "so there").because == "so there"
    assert parse("device_time < 2 us because: small").because == "small"


@pytest.mark.parametrize(
    "text",
    [
        "kernels == 5",
        "kernels(role=softmax) == 1",
        'kernels("pytorch_flash") == 1',
        "op aten::masked_fill_ kernels == 1",
        'annotation "a b" memcpys(direction=DtoD) >= 2',
        "finding(FT101) == 0",
        "backend in (flash, cudnn)",
        "kernels in 4..6",
    ],
)
def test_what_is_meant_can_be_written_again(text):
    found = parse(text)
    again = f"{found.metric} {found.bound}"
    assert again == text
    assert parse(again) == found


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("", "at its end", "begins with a metric"),
        ("   ", "at its end", "begins with a metric"),
        ("5 == kernels", "at character 1", "a metric is expected"),
        ("kernel == 5", "at character 1", "did you mean kernels?"),
        ("flops == 5", "at character 1", "there is no metric 'flops'"),
        ("kernels", "at its end", "a comparison is expected"),
        ("kernels = 5", "at character 9", "write == to compare"),
        ("kernels => 5", "at character 9", "write == to compare"),
        ("kernels equals 5", "at character 9", "a comparison is expected"),
        ("kernels == five", "at character 12", "a number is expected"),
        ("kernels ==", "at its end", "a number is expected"),
        ("kernels == 5 us", "at character 14", "kernels is a count and takes no unit"),
        ("kernels == 5 6", "at character 14", "nothing is expected here"),
        ("kernels == -1", "at character 12", "never negative"),
        ("kernels in 6..4", "at character 12", "ends before it begins"),
        ("kernels in 4", "at its end", "low..high"),
        ("device_time < 200", "at its end", "needs a unit"),
        ("device_time < 200min", "at character 18", "given in ns, us, µs, ms, s, not min"),
        ("device_time absent", "at character 13", "only a count can be absent"),
        ("tensor_core_share >= 90", "at character 22", "write 0.9 or 90%"),
        ("copied_bytes < 2 XB", "at character 18", "not XB"),
        ("kernels(role=softmax == 1", "at character 8", "never closed"),
        ("kernels(role=softmax", "at character 8", "never closed"),
        ("kernels() == 1", "at character 8", "a condition is expected"),
        ("kernels(role=) == 1", "at character 14", "a condition is expected"),
        ("kernels(role=a, role=b) == 1", "at character 17", "given twice"),
        ("kernels(colour=red) == 1", "at character 9", "no condition 'colour'"),
        ("kernels(role=softmaxx) == 1", "at character 14", "role is one of"),
        ("kernels(direction=DtoD) == 1", "at character 9", "not direction"),
        ('kernels("flash) == 1', "at character 9", "never closed"),
        ('kernels(regex="(") == 1', "at character 15", "no regular expression"),
        ("kernels(a b c", "at character 8", "never closed"),
        ("period(x) < 1ms", "at character 8", "takes no conditions"),
        ("op kernels == 1", "at character 12", "a metric is expected"),
        ("op aten::mm period < 1ms", "at character 13", "cannot be narrowed to an op"),
        ("op == 1", "at character 4", "the name of an op"),
        ("backend < flash", "at character 9", "== or != or in"),
        ("backend == 5", "at character 12", "a word is expected"),
        ("backend in flash", "at character 12", "a list is expected"),
        ("backend in (flash", "at its end", "closing parenthesis"),
        ("bound == gpu", "at character 10", "bound is one of device, cpu, mixed"),
        ("backend != flsh", "at character 12", "not 'flsh' (did you mean flash?)"),
        ("backend in (flash, cuddn)", "at character 20", "did you mean cudnn?"),
        ("backend == SDPBackend.MATH", "at character 12", "backend is one of flash, efficient, cudnn, math"),
        ("device_time < 1e309s", "at character 15", "never so large"),
        ("busy_share < 1e400%", "at character 14", "never so large"),
        ("kernels < 1e9999999", "at character 11", "never so large"),
        ("kernels < 1e99999999999999999999", "at character 11", "never so large"),
        ("kernels == 1e400", "at character 12", "never so large"),
        ("kernels == 1e19", "at character 12", "never so large"),
        (f"kernels == {'1' * 5000}", "at character 12", "never so large"),
        ("copied_bytes < 1e300TB", "at character 16", "never so large"),
        ("kernels in 1..1e400", "at character 15", "never so large"),
        ("kernels == 5 extra", "at character 14", "nothing is expected here any more"),
        ("kernels == 5extra", "at character 13", "takes no unit"),
        ("finding == 1", "at character 1", "named by its code"),
        ("finding(FT999) absent", "at character 9", "no rule 'FT999'"),
        ("op aten::mm finding(FT101) absent", "at character 1", "whole recording"),
        ("kernels == 5 because", "at its end", "a reason is expected"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_position(text, position, why):
    with pytest.raises(PredictionError) as error:
        parse(text)
    sentence = str(error.value)
    assert why in sentence
    assert position in sentence
    assert repr(text) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_control_characters_of_a_prediction_do_not_reach_the_terminal():
    with pytest.raises(PredictionError) as error:
        parse("kernels\x1b[2J == 5")
    assert "\x1b" not in str(error.value)
