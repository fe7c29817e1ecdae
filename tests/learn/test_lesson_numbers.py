"""The numbers of the lessons, held against counts made straight from the recordings' JSON."""

from __future__ import annotations

import re
from itertools import pairwise
from statistics import median
from typing import Any

import pytest
from raw_counts import RawCounts, counts, events, mutated
from told import explanation, lines_of, questions, told

from foretrace.learn.content import block_json
from foretrace.learn.lesson import Grid, times_text
from foretrace.learn.recorded import SHIPPED, Shelf
from foretrace.learn.registry import LESSONS
from foretrace.units import bytes_text, share_text, time_scale, time_text

US = 1000
# What a kernel count is asked of, lesson by lesson.
COUNTED = [
    ("matmul", "kernels", "matmul-64"),
    ("linear", "kernels", "linear"),
    ("linear", "mlp", "mlp"),
    ("linear", "mlp-compiled", "mlp-compiled"),
    ("attention", "kernels", "attention-naive"),
    ("math", "kernels", "attention-math"),
    ("fused", "kernels", "attention-flash"),
    ("trust", "kernels", "stranger"),
]


def there(name: str) -> bool:
    return (SHIPPED / f"{name}.json.gz").is_file()


def counted(name: str) -> RawCounts:
    if not there(name):
        pytest.skip(f"{name} is not among the recordings")
    return counts(name)


@pytest.mark.parametrize(("lesson", "key", "recording"), COUNTED)
def test_kernels_a_step_are_those_of_the_file(lesson, key, recording):
    raw = counted(recording)
    assert questions(lesson)[key].answer.value == raw.per_step("kernel")


def test_a_step_of_the_large_matmul_over_the_small_one():
    small, large = counts("matmul-64"), counts("matmul-4096")
    answer = questions("matmul")["longer"].answer
    # Medians of periods are whole nanoseconds in foretrace.
    assert answer.value == pytest.approx(large.period_us / small.period_us, rel=1 / (small.period_us * US))
    text = explanation("matmul", "longer")
    assert f"A step took {time_text(small.period_us * US)} and now takes {time_text(large.period_us * US)}." in text
    kernels = large.device_us / small.device_us
    assert f"The kernels themselves take {times_text(kernels)} as long" in text
    assert f"device idle for {time_text((small.period_us - small.device_us) * US)} of each step" in text
    ask = questions("matmul")["longer"].ask
    assert f"{(4096 / 64) ** 3:,.0f} times the arithmetic" in ask


def test_the_matmuls_rate_follows_from_its_time():
    raw = counts("matmul-4096")
    gemm = [event for event in raw.shown.work if "nvjet" in event["name"] or "gemm" in event["name"]]
    memset = [event for event in raw.shown.work if event["cat"] == "gpu_memset"]
    total = sum(event["dur"] for event in (*gemm, *memset))
    rate = 2 * 4096**3 / (total * 1e-6)
    found = re.search(r"runs at ([\d.]+) ([TP])FLOP/s", explanation("matmul", "longer"))
    assert found is not None
    assert float(found[1]) * {"T": 1e12, "P": 1e15}[found[2]] == pytest.approx(rate, rel=0.01)


def test_what_bounds_the_small_matmul_is_its_busy_share():
    raw = counts("matmul-64")
    share = raw.device_us / raw.period_us
    text = explanation("matmul", "bound")
    assert f"busy {share_text(share)} of the time" in text
    assert f"works {raw.device_us:.1f} us of every {raw.period_us:.1f} us" in text
    assert f"needs {time_text(raw.cpu_us * US)} to get this step through" in text


def test_the_rest_of_a_period_is_told_without_figures_that_do_not_add_up():
    raw = counts("matmul-64")
    text = explanation("matmul", "bound")
    assert "is the profiler's bookkeeping between steps" in text
    slower = raw.warm[0].cpu_us > 1.5 * raw.cpu_us
    assert ("and a first step that took longer" in text) == slower


def test_the_occupancy_of_the_large_gemm_is_that_of_its_launch():
    raw = counts("matmul-4096")
    gemm = max(raw.shown.work, key=lambda event: event["dur"])["args"]
    warps = -(-gemm["block"][0] * gemm["block"][1] * gemm["block"][2] // 32)
    by_registers = 65536 // 4 // (-(-gemm["registers per thread"] * 32 // 256) * 256) * 4 // warps
    by_memory = (228 * 1024) // (gemm["shared memory"] + 1024)
    blocks = min(by_registers, by_memory, 64 // warps)
    assert questions("matmul")["occupancy"].answer.value == pytest.approx(blocks * warps / 64)


def test_the_compiled_add_is_told_by_what_the_file_holds():
    raw = counted("matmul-4096-compiled")
    copies = [event for event in raw.shown.work if event["cat"] == "gpu_memcpy"]
    answer = questions("matmul")["compiled"].answer
    assert ("copy" in answer.text) == bool(copies)
    text = explanation("matmul", "compiled")
    if copies:
        assert bytes_text(copies[0]["args"]["bytes"]) in text
        assert f"takes {time_text(sum(event['dur'] for event in copies) * US)}" in text
    scale = time_scale(max(counts("matmul-4096").device_us, raw.device_us) * US)
    assert f"{scale(counts('matmul-4096').device_us * US)} before, {scale(raw.device_us * US)} now" in text


def test_compiling_changes_what_lies_between_two_steps():
    eager, raw = counts("matmul-4096"), counted("matmul-4096-compiled")
    text = explanation("matmul", "compiled")
    scale = time_scale(min(eager.period_us, raw.period_us) * US)
    assert f"From step to step: {scale(eager.period_us * US)} before, {scale(raw.period_us * US)} now." in text
    assert ("the CPU takes longer than the device" in text) == (raw.cpu_us > raw.device_us)
    assert ("compiling made things slower" in text) == (raw.period_us > eager.period_us)


@pytest.mark.parametrize(
    ("lesson", "key", "recording"),
    [("matmul", "cold", "matmul-first"), ("trust", "cold", "matmul-first")],
)
def test_a_first_step_is_compared_with_the_median_of_the_later_ones(lesson, key, recording):
    raw = counted(recording)
    usual = median(step.cpu_us for step in raw.steps[1:])
    question = questions(lesson)[key]
    text = f"{question.ask} {explanation(lesson, key)}"
    assert re.search(rf"median of the later (?:steps|ones) is {re.escape(time_text(usual * US))}", text)
    if lesson == "matmul":
        assert question.answer.value == pytest.approx(raw.steps[0].cpu_us / usual, rel=1e-4)
    if lesson == "trust":
        mean = sum(step.cpu_us for step in raw.steps) / len(raw.steps)
        assert f"would say {time_text(mean * US)}, {times_text(mean / usual)} the median of the later ones" in text


def test_what_fills_the_first_step_is_counted_by_its_events():
    raw = counted("matmul-first")
    cold = raw.steps[0]
    inside = [event for event in events("matmul-first") if cold.start <= event["ts"] < cold.end]
    marks = sorted(
        event["ts"] + length
        for event in inside
        if event.get("cat") in ("cuda_runtime", "cuda_driver", "overhead")
        for length in (0, event["dur"])
    )
    table = next(view for view in questions("matmul")["cold"].look if getattr(view, "headings", ("",))[0] == "part")
    times = {row[0]: float(row[1].split()[0]) for row in table.rows}
    assert sum(times.values()) == pytest.approx(cold.cpu_us / 1000, abs=0.01)
    profiler = sum(event["dur"] for event in inside if event["name"] == "Activity Buffer Request")
    assert times["the profiler's own work (Activity Buffer Request)"] == pytest.approx(profiler / 1000, abs=0.001)
    loading = sum(event["dur"] for event in inside if event["name"].endswith("Loading"))
    assert next(time for part, time in times.items() if "Loading" in part) == pytest.approx(loading / 1000, abs=0.001)
    pause = max(after - before for before, after in pairwise([cold.start, *marks, cold.end]))
    assert f"{time_text(pause * US)} of it at a stretch" in explanation("matmul", "cold")


def test_what_is_shown_adds_up():
    """A sentence about some rows of a table says what the rows shown add up to."""
    table = next(view for view in questions("linear")["mlp"].look if isinstance(view, Grid))
    time = {row[0]: float(row[2].split()[0]) for row in table.rows}
    found = re.search(r"(\w) and (\w) take ([\d.]+) us", explanation("linear", "mlp"))
    assert found is not None
    assert float(found[3]) == pytest.approx(time[found[1]] + time[found[2]])
    kernels = next(view for view in questions("math")["kernels"].look if isinstance(view, Grid))
    time = {row[0]: float(row[2].split()[0]) for row in kernels.rows}
    parts = next(block for block in LESSONS["math"].blocks(Shelf()) if getattr(block, "headings", ("",))[0] == "part")
    for row in parts.rows:
        assert float(row[3].split()[0]) == pytest.approx(sum(time[letter] for letter in row[1].split()))


def test_the_hidden_copy_is_the_files_memcpy():
    raw = counts("attention-naive")
    copy = next(event for event in raw.shown.work if event["cat"] == "gpu_memcpy")
    found = questions("attention")
    assert found["bytes"].answer.value == copy["args"]["bytes"] == 8 * 16 * 1024 * 1024 * 2
    assert found["copies"].answer.text == "aten::masked_fill"
    text = explanation("attention", "bytes")
    assert f"takes {time_text(copy['dur'] * US)}" in text
    rate = 2 * copy["args"]["bytes"] / (copy["dur"] * 1e-6)
    assert f"{rate / 1e12:.3g} TB/s" in text


def test_the_underscore_saves_what_the_two_files_differ_by():
    naive, inplace = counts("attention-naive"), counts("attention-inplace")
    saved = 1 - inplace.device_us / naive.device_us
    assert questions("attention")["saved"].answer.value == pytest.approx(saved, rel=1e-4)
    text = told("attention")
    scale = time_scale(inplace.device_us * US)
    assert f"{scale(naive.device_us * US)} before, {scale(inplace.device_us * US)} now" in text
    assert f"which is {share_text(saved)} of the step" in text


def test_copies_in_training_are_counted_in_both_files():
    naive, inplace = counts("attention-naive-training"), counts("attention-inplace-training")
    text = explanation("attention", "training")
    assert f"Copies in a step: {naive.per_step('gpu_memcpy'):g} before, {inplace.per_step('gpu_memcpy'):g} now" in text


def test_the_parts_of_the_math_backend_sum_to_the_whole():
    raw = counts("attention-math")
    table = next(block for block in LESSONS["math"].blocks(Shelf()) if getattr(block, "headings", ("",))[0] == "part")
    assert sum(int(row[2]) for row in table.rows) == raw.shown.count("kernel")
    times = [float(row[3].split()[0]) for row in table.rows]
    assert sum(times) == pytest.approx(raw.shown.device_us / 1000, abs=0.004)


def test_the_casts_of_the_math_backend_are_told_by_their_sizes():
    raw = counts("attention-math")
    ops = [event for event in events("attention-math") if event["name"] == "aten::copy_"]
    letters = {"inputs": [], "result": [], "weights": []}
    for letter, event in zip("abcdefghijklmnopqrstuvwxyz", raw.shown.work, strict=False):
        launch = event["launch"]["ts"]
        cast = [op for op in ops if op["ts"] <= launch < op["ts"] + op["dur"]]
        if cast:
            to = cast[0]["args"]["Input type"][0]
            whole = cast[0]["args"]["Input Dims"][0] == [8, 16, 1024, 64]
            letters["inputs" if to == "float" else "result" if whole else "weights"].append(letter)
    assert [len(letters[part]) for part in ("inputs", "result", "weights")] == [3, 1, 1]
    text = explanation("math", "unit")
    one, two, three = letters["inputs"]
    assert f"{one}, {two} and {three} cast the inputs to float32, and {letters['result'][0]} casts the result" in text
    assert f"{letters['weights'][0]} casts the weights, the softmax's output, as well, and nothing reads that" in text


def test_the_floor_of_the_math_backend_is_that_of_the_causal_half():
    raw = counts("attention-math")
    floor = 8 * 16 * 2 * 2 * 64 * 1024 * (1024 + 1) / 2 / 989.4e12 * 1e6
    text = explanation("math", "slower")
    assert "At the card's peak, 989 TFLOP/s in bf16 on tensor cores, the causal half of the arithmetic" in text
    assert f"would take {floor:.1f} us" in text
    assert f"takes {times_text(raw.device_us / floor)} that" in text


def test_the_math_backends_units_are_those_of_its_gemms():
    raw = counts("attention-math")
    fp32 = [event for event in raw.shown.work if "gemm" in event["name"] and "f32f32" in event["name"]]
    answer = questions("math")["unit"].answer
    assert (answer.text == "CUDA cores") == bool(fp32)


def test_the_mask_of_the_math_backend_is_counted_by_its_ops():
    answer = questions("math")["mask"].answer
    raw = counts("attention-math")
    small = [event for event in raw.shown.work if event["dur"] < 8 and "gemm" not in event["name"]]
    # All of them are far shorter than a pass over the scores; one more of these fills the number of safe softmax.
    assert answer.value == len(small) - 1


def test_the_math_backend_over_the_code_by_hand():
    ratio = counts("attention-math").device_us / counts("attention-naive").device_us
    assert questions("math")["slower"].answer.value == pytest.approx(ratio, rel=1e-4)


def test_the_fastest_backend_has_the_least_device_time():
    times = {name: counts(f"attention-{name}").device_us for name in ("efficient", "flash", "cudnn")}
    assert questions("fused")["fastest"].answer.text == min(times, key=times.__getitem__)


def test_flashs_occupancy_is_that_of_its_launch():
    flash = max(counts("attention-flash").shown.work, key=lambda event: event["dur"])["args"]
    warps = -(-flash["block"][0] // 32)
    by_registers = 65536 // 4 // (-(-flash["registers per thread"] * 32 // 256) * 256) * 4 // warps
    by_memory = (228 * 1024) // (flash["shared memory"] + 1024)
    assert questions("fused")["occupancy"].answer.value == pytest.approx(min(by_registers, by_memory) * warps / 64)


def test_what_the_fused_kernels_achieve_follows_from_their_times():
    table = next(view for view in questions("fused")["occupancy"].look if isinstance(view, Grid))
    rows = {row[0]: row for row in table.rows}
    for name, row in rows.items():
        raw = counts(f"attention-{name}")
        # Causal attention computes the lower half: two products of L (L + 1) / 2 pairs, two FLOPs each, for every head.
        flops = 8 * 16 * 2 * 2 * 64 * 1024 * (1024 + 1) / 2
        # What cuDNN's memset takes counts to its call.
        assert float(row[3].split()[0]) * 1e12 == pytest.approx(flops / (raw.device_us * 1e-6), rel=0.01)
    text = explanation("fused", "occupancy")
    by_speed = sorted(rows, key=lambda name: counts(f"attention-{name}").device_us)
    assert f"by speed it is {', '.join(by_speed)}." in text
    assert f"even {by_speed[0]} reaches {rows[by_speed[0]][4]}, and" in text


def test_a_new_shape_costs_the_first_step_time_on_the_cpu():
    raw = counted("attention-cudnn-first")
    whole = [max(step.end, *(act["ts"] + act["dur"] for act in step.work)) - step.start for step in raw.steps]
    scale = time_scale(min(whole) * US)
    asked = questions("fused")["plan"]
    assert f"the first step takes {scale(whole[0] * US)}, later ones take {scale(median(whole[1:]) * US)}" in asked.ask
    assert "[8, 16, 1152, 64]" in asked.ask
    assert asked.answer.text == "to the CPU, before that call"
    assert f"On the device: {raw.steps[0].device_us:.1f} us in the first step" in explanation("fused", "plan")


def test_cudnns_kernel_is_launched_by_the_call_of_its_correlation():
    kernel = max(counts("attention-cudnn").shown.work, key=lambda event: event["dur"])
    assert questions("fused")["launch"].answer.text == kernel["launch"]["name"]


def test_transposes_of_flash_are_counted_and_launch_nothing():
    raw = counts("attention-flash")
    step = raw.shown
    number = sum(
        event["name"] == "aten::transpose" and step.start <= event["ts"] < step.end
        for event in events("attention-flash")
    )
    assert f"calls {number} transposes" in questions("fused")["transposes"].ask
    assert questions("fused")["transposes"].answer.value == 0


INNER = {
    "aten::_scaled_dot_product_flash_attention": "flash",
    "aten::_scaled_dot_product_efficient_attention": "efficient",
    "aten::_scaled_dot_product_cudnn_attention": "cudnn",
    "aten::_scaled_dot_product_attention_math": "math",
}


@pytest.mark.parametrize("recording", LESSONS["backends"].recordings)
def test_the_backend_is_the_op_inside(recording):
    counted(recording)
    ran = {INNER[event["name"]] for event in events(recording) if event["name"] in INNER}
    assert {questions("backends")[recording].answer.text} == ran


def test_calls_of_sdpa_are_asked_for_with_their_shapes():
    found = questions("backends")
    assert "q, k and v are [4, 32, 1024, 128]." in found["sdpa-causal"].ask
    assert "q is [4, 32, 1024, 128], k and v are [4, 8, 1024, 128]." in found["sdpa-gqa"].ask
    assert "The mask is [1024, 1024]." in found["sdpa-mask"].ask
    assert all(question.ask.endswith("Which backend runs?") for question in found.values())


def test_a_share_of_a_peak_says_which_peak_and_what_is_counted():
    plain, decode = counts("sdpa-causal"), counts("sdpa-decode")
    rate = 4 * 32 * 2 * 2 * 128 * 1024 * (1024 + 1) / 2 / (plain.device_us * 1e-6)
    text = explanation("backends", "sdpa-causal")
    assert f"the causal half of the arithmetic at {rate / 1e12:.0f} TFLOP/s, {share_text(rate / 989.4e12)} of" in text
    assert "the card's peak, 989 TFLOP/s in bf16 on tensor cores." in text
    moved = 2 * (2 * 4 * 32 * 128 + 2 * 4 * 8 * 4096 * 128)
    rate = moved / (decode.device_us * 1e-6)
    text = explanation("backends", "sdpa-decode")
    assert f"It moves {bytes_text(moved)} at least, at {rate / 1e12:.2f} TB/s, {share_text(rate / 4.8e12)} of" in text
    for name in ("sdpa-mask", "sdpa-fp32", "sdpa-gqa", "sdpa-gqa-fp32"):
        assert "peak" not in explanation("backends", name)


def test_what_other_kernels_of_a_call_do_is_told_by_their_ops():
    mask = counts("sdpa-mask").shown
    assert f"{mask.count('kernel') - 1} of the kernels (`aten::fill_` and `aten::where`) turn" in explanation(
        "backends", "sdpa-mask"
    )
    text = explanation("backends", "sdpa-gqa-fp32")
    assert "no casts, as the inputs are float32 already, but 2 kernels (`repeat_interleave`) that copy k and v" in text
    assert "The second kernel (reduction) joins what they found." in explanation("backends", "sdpa-decode")


def test_the_kernels_of_eager_attention_are_those_launched_in_its_annotation():
    raw = counts("decoder-eager")
    ranges = [event for event in events("decoder-eager") if event["name"] == "attention" and "dur" in event]
    host = [event for event in ranges if event["cat"] == "user_annotation"]
    inside = [
        event
        for event in raw.shown.work
        if any(each["ts"] <= event["launch"]["ts"] < each["ts"] + each["dur"] for each in host)
    ]
    kernels = sum(event["cat"] == "kernel" for event in inside)
    question = questions("decoder")["kernels"]
    assert question.answer.value == kernels
    table = next(view for view in question.look if isinstance(view, Grid))
    assert sum(int(row[1]) for row in table.rows) == len(inside)
    assert f"The whole block launches {raw.shown.count('kernel')} kernels" in explanation("decoder", "kernels")


def test_attention_left_to_sdpa_is_its_kernel_and_the_rotation():
    text = explanation("decoder", "device")
    found = re.search(
        r"Of these ([\d.]+) ms SDPA itself takes ([\d.]+) ms; the other ([\d.]+) ms are the rotation", text
    )
    assert found is not None
    assert float(found[1]) == pytest.approx(float(found[2]) + float(found[3]))


def test_the_parts_of_a_compiled_call_add_up():
    raw = counts("matmul-4096-compiled")
    found = re.search(
        r"Of these ([\d.]+) us, `aten::addmm` takes ([\d.]+) us\. .*takes ([\d.]+) us; the other ([\d.]+) us go",
        explanation("matmul", "compiled"),
    )
    assert found is not None
    whole, op, guards, rest = map(float, found.groups())
    assert whole == pytest.approx(op + guards + rest)
    step = raw.shown
    inside = [event for event in events("matmul-4096-compiled") if step.start <= event["ts"] < step.end]
    assert whole == pytest.approx(step.cpu_us, abs=0.05)
    assert op == pytest.approx(sum(event["dur"] for event in inside if event["name"] == "aten::addmm"), abs=0.05)
    cache = sum(event["dur"] for event in inside if event["name"] == "TorchDynamo Cache Lookup")
    assert guards == pytest.approx(cache, abs=0.05)


def test_the_block_gets_faster_by_its_device_time():
    eager, sdpa = counts("decoder-eager"), counts("decoder-sdpa")
    assert questions("decoder")["device"].answer.value == pytest.approx(eager.device_us / sdpa.device_us, rel=1e-4)
    text = explanation("decoder", "period")
    assert f"from {time_text(eager.period_us * US)} to {time_text(sdpa.period_us * US)}" in text


def test_a_replay_is_launched_by_one_call():
    raw = counts("graph-replay")
    calls = {event["launch"]["ts"] for event in raw.shown.work}
    assert len(calls) == 1
    assert f"Replayed: {raw.shown.count('kernel')} kernels in 1 call" in explanation("graphs", "cpu")
    assert questions("graphs")["cpu"].answer.value == pytest.approx(raw.cpu_us * US, rel=1e-4)
    one_by_one = counts("graph-eager")
    assert (
        f"{len({event['launch']['ts'] for event in one_by_one.shown.work})} launches" in questions("graphs")["cpu"].ask
    )
    alike = abs(raw.device_us / one_by_one.device_us - 1) < 0.1
    assert questions("graphs")["kernels"].answer.text.startswith("they take about as long") == alike
    ratio = counts("graph-eager").period_us / raw.period_us
    assert questions("graphs")["period"].answer.value == pytest.approx(ratio, rel=1e-4)


def test_the_strangers_quotient_is_not_its_kernels_a_step():
    raw = counts("stranger")
    question = questions("trust")["kernels"]
    assert f"{raw.kernels_in_file:,} kernels and {len(raw.steps)} steps" in question.ask
    assert question.answer.value == raw.per_step("kernel")
    assert [near.guess for near in question.near] == [raw.kernels_in_file / len(raw.steps)]
    lost = sum(event["dur"] for event in raw.unlinked)
    own = sum(step.device_us for step in raw.steps)
    asked = questions("trust")["time"]
    assert asked.answer.value == pytest.approx(lost * US)
    kernels = sum(step.count("kernel") for step in raw.steps)
    assert f"The {kernels} kernels of the steps take {time_text(own * US)}" in asked.ask
    assert f"the unlinked {len(raw.unlinked)} kernels add" in asked.ask
    assert f"says {share_text(lost / own)} too much" in explanation("trust", "time")
    said = " ".join(lines_of(block_json(asked.look[0])))
    number = len(raw.steps)
    assert (
        f"A step has {kernels // number} kernels in {time_text(own / number * US)}; PyTorch's table adds them" in said
    )
    assert said.endswith(f"{raw.kernels_in_file / number:.1f} in {time_text((own + lost) / number * US)}.")


# A changed recording changes what is said.


def stretched(event: dict[str, Any]) -> dict[str, Any]:
    """Device activity takes longer."""
    if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
        event["dur"] *= 1.37
    return event


def numbers(text: str) -> list[str]:
    return re.findall(r"\d[\d,.]*", text)


@pytest.mark.parametrize("name", LESSONS)
def test_longer_kernels_change_the_text(name, tmp_path):
    before, after = numbers(told(name)), numbers(told(name, mutated(tmp_path, stretched, *LESSONS[name].recordings)))
    assert before != after


@pytest.mark.parametrize(("lesson", "key", "recording"), COUNTED)
def test_a_lost_kernel_changes_the_count(lesson, key, recording, tmp_path):
    raw = counted(recording)
    name = next(event["name"] for event in raw.shown.work if event["cat"] == "kernel")
    lost = sum(event["name"] == name for event in raw.shown.work)

    def without(event: dict[str, Any]) -> dict[str, Any] | None:
        return None if event.get("cat") == "kernel" and event["name"] == name else event

    shelf = mutated(tmp_path, without, recording)
    if raw.per_step("kernel") == lost:
        return  # nothing is left to teach with
    assert questions(lesson, shelf)[key].answer.value == raw.per_step("kernel") - lost


def test_a_lost_kernel_changes_the_kernels_of_attention(tmp_path):
    def without(event: dict[str, Any]) -> dict[str, Any] | None:
        return None if event.get("cat") == "kernel" and "softmax" in event["name"] else event

    shelf = mutated(tmp_path, without, "decoder-eager")
    before, after = (questions("decoder", each)["kernels"].answer.value for each in (None, shelf))
    assert after == before - 1


def test_other_sizes_change_the_shapes_that_are_asked_about(tmp_path):
    def smaller(event: dict[str, Any]) -> dict[str, Any]:
        if event.get("name") == "aten::scaled_dot_product_attention":
            event["args"]["Input Dims"][:3] = [[2, 8, 512, 64]] * 3
        return event

    shelf = mutated(tmp_path, smaller, "sdpa-causal", "attention-cudnn-first", "attention-math")
    assert "q, k and v are [2, 8, 512, 64]." in questions("backends", shelf)["sdpa-causal"].ask
    assert "not seen, [2, 8, 512, 64]." in questions("fused", shelf)["plan"].ask
    assert "would take 17.4 us" not in told("math", shelf)


def test_a_smaller_copy_changes_the_bytes(tmp_path):
    def smaller(event: dict[str, Any]) -> dict[str, Any]:
        if event.get("cat") == "gpu_memcpy":
            event["args"]["bytes"] = 12_000_000
        return event

    shelf = mutated(tmp_path, smaller, "attention-naive")
    assert questions("attention", shelf)["bytes"].answer.text == "12 MB"
    assert "saved a copy of 12 MB" in told("attention", shelf)


def test_an_op_that_copies_nothing_is_not_asked_about(tmp_path):
    def no_copies(event: dict[str, Any]) -> dict[str, Any] | None:
        return None if event.get("cat") == "gpu_memcpy" else event

    shelf = mutated(tmp_path, no_copies, "attention-naive")
    found = questions("attention", shelf)
    assert "copies" not in found
    assert "bytes" not in found
    assert "trailing underscore saved" not in told("attention", shelf)


def test_tensor_cores_in_the_math_backend_change_the_answer(tmp_path):
    name = "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn"

    def on_tensor_cores(event: dict[str, Any]) -> dict[str, Any]:
        if event.get("cat") == "kernel" and "gemm" in event["name"]:
            event["name"] = name
        return event

    shelf = mutated(tmp_path, on_tensor_cores, "attention-math")
    assert questions("math", shelf)["unit"].answer.text == "tensor cores"
    assert "left vacant" not in told("math", shelf)
    assert "where there are no tensor cores" not in told("math", shelf)


def test_another_order_of_the_fused_kernels_changes_the_winner(tmp_path):
    def slow(event: dict[str, Any]) -> dict[str, Any]:
        if event.get("cat") == "kernel":
            event["dur"] *= 50
        return event

    shelf = mutated(tmp_path, slow, "attention-cudnn", "attention-flash")
    assert questions("fused", shelf)["fastest"].answer.text == "efficient"
    assert "to take along: efficient is" in told("fused", shelf)


def test_more_registers_change_flashs_occupancy(tmp_path):
    def lean(event: dict[str, Any]) -> dict[str, Any]:
        if event.get("cat") == "kernel":
            event["args"]["registers per thread"] = 32
            event["args"]["shared memory"] = 0
        return event

    shelf = mutated(tmp_path, lean, "attention-flash")
    assert questions("fused", shelf)["occupancy"].answer.text == "100 %"
    assert "Is that bad?" not in told("fused", shelf)


def test_a_device_that_is_never_idle_changes_what_bounds_it(tmp_path):
    def slow(event: dict[str, Any]) -> dict[str, Any]:
        if event.get("cat") == "kernel":
            event["dur"] *= 60
        return event

    shelf = mutated(tmp_path, slow, "matmul-64")
    assert "the CPU" not in questions("matmul", shelf)["bound"].answer.text
    assert "overhead-bound means" not in told("matmul", shelf)


def test_another_launch_call_changes_the_answer(tmp_path):
    def through_the_runtime(event: dict[str, Any]) -> dict[str, Any]:
        if event.get("name") == "cuLaunchKernelEx":
            event["name"], event["cat"] = "cudaLaunchKernelExC", "cuda_runtime"
        return event

    shelf = mutated(tmp_path, through_the_runtime, "attention-cudnn")
    assert questions("fused", shelf)["launch"].answer.text == "cudaLaunchKernelExC"


def test_a_file_without_unlinked_kernels_is_not_accused(tmp_path):
    raw = counts("stranger")
    lost = {(event["ts"], event["name"]) for event in raw.unlinked}

    def linked_only(event: dict[str, Any]) -> dict[str, Any] | None:
        return None if (event.get("ts"), event.get("name")) in lost else event

    shelf = mutated(tmp_path, linked_only, "stranger")
    found = questions("trust", shelf)
    assert "time" not in found
    assert "Every kernel of this file belongs to a step." in explanation("trust", "kernels", shelf)


def test_a_quicker_device_changes_no_count(tmp_path):
    shelf = mutated(tmp_path, stretched, *(recording for _, _, recording in COUNTED))
    for lesson, key, recording in COUNTED:
        if there(recording):
            assert questions(lesson, shelf)[key].answer == questions(lesson)[key].answer
