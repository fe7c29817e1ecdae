from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build import Build
from foretrace.learn.lanes import draw, draw_lanes, drawn_text
from foretrace.learn.legend import legend_text
from foretrace.learn.lesson import Lanes, Question
from foretrace.learn.recorded import Recorded, Shelf
from foretrace.learn.registry import LESSONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foretrace.learn.lesson import Block


def drawn(build: Build, step: int = 0, width: int = 50, *, quiet: bool = False, lettered: bool = True) -> str:
    return drawn_text(draw(Recorded("x", build.load()), step, width, quiet=quiet, lettered=lettered))


def test_ops_launches_and_kernels_stand_on_one_axis():
    build = (
        Build()
        .step(0, 0, 100)
        .annotation("call", 0, 90)
        .op("aten::matmul", 10, 30)
        .op("aten::mm", 20, 20)
        .kernel("gemm", ts=50, dur=20, launched=30)
        .op("aten::add", 60, 20)
        .kernel("add", ts=80, dur=20, launched=70)
    )
    assert drawn(build) == (
        " CPU     ▌ProfilerStep#0, 0.100 ms░░░░░░░░░░░░░░░\n"
        "         ▌call░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░\n"
        "             ▌matmul░░░░░        ▌add░░░░\n"
        "                 ▌mm░░░░░\n"
        " launch              a               b\n"
        " GPU                         a███████    b▓▓▓▓▓▓▓\n"
        "         ╵0 ms   ╵0.02   ╵0.04   ╵0.06   ╵0.08  ╵"
    )


def test_a_wait_between_host_and_device_is_cut_out():
    build = Build().step(0, 0, 50).op("aten::mm", 10, 20).kernel("gemm", ts=900, dur=50, launched=20)
    text = drawn(build)
    assert "the device begins 0.900 ms into the step:" in text
    host, device = text.split("the device begins")
    assert "▌mm░" in host
    assert "a████" in device


def test_a_device_that_is_busy_with_earlier_steps_is_said_to_be():
    build = Build().step(0, 0, 40).op("aten::mm", 0, 30).kernel("g", ts=20, dur=600, launched=10)
    build.step(1, 40, 60).op("aten::mm", 42, 30).kernel("g", ts=620, dur=50, launched=50)
    assert "earlier steps run until 0.580 ms, then this one:" in drawn(build, step=1)


def test_the_steps_own_bar_is_as_long_as_the_step_and_says_so():
    build = Build().step(0, 0, 100).op("aten::mm", 10, 20).kernel("g", ts=20, dur=10, launched=15)
    step = drawn(build).splitlines()[0].removeprefix(" CPU     ")
    assert step == "▌ProfilerStep#0, 0.100 ms".ljust(len(step), "░")
    assert len(step) == 50 - 10


def op_row(name: str, length: float, *, then: str = "") -> str:
    """The row of an op so many microseconds long, 40 of which take 40 cells, and of one that follows at once."""
    build = Build().step(0, 0, 40).op(name, 0, length).kernel("g", ts=1, dur=39, launched=0.5)
    if then:
        build.op(then, length, 10).kernel("h", ts=1, dur=39, launched=length + 0.5)
    return drawn(build).splitlines()[1].removeprefix("         ").rstrip()


def test_a_label_is_whole_or_can_be_read_or_is_left_out():
    assert op_row("aten::softmax", 12) == "▌softmax░░░░"
    assert op_row("aten::softmax", 8) == "▌softmax"
    assert op_row("aten::softmax", 7) == "▌softm…"
    assert op_row("aten::softmax", 5) == "▌soft"
    assert op_row("aten::mm", 3) == "▌mm"


def test_a_row_without_any_name_to_read_is_left_out():
    build = Build().step(0, 0, 40).op("aten::softmax", 0, 20).op("aten::_softmax", 1, 4)
    text = drawn(build.kernel("g", ts=2, dur=38, launched=1.5))
    assert "▌softmax" in text
    assert [line.split()[0] for line in text.splitlines()] == ["CPU", "▌softmax░░░░░░░░░░░░", "launch", "GPU", "╵0"]


def test_neighbors_are_kept_apart_by_a_blank():
    assert op_row("aten::softmax", 9, then="aten::matmul") == "▌softmax ▌matmul░░░"
    assert op_row("aten::softmax", 5, then="aten::matmul") == "▌░░░ ▌matmul░░░"


def test_hashes_and_prefixes_are_left_out_of_labels():
    assert op_row("## Call CompiledFxGraph fkyh7mzvd6x ##", 20) == "▌CompiledFxGraph░░░░"
    assert op_row("autograd::engine::evaluate_function: BmmBackward0", 20) == "▌BmmBackward0░░░░░░░"


def test_ops_that_launch_nothing_are_shown_on_request():
    build = Build().step(0, 0, 100).op("aten::t", 0, 20).op("aten::mm", 30, 40).kernel("g", 80, 10, launched=40)
    assert "▌t░" not in drawn(build)
    assert "▌t░" in drawn(build, quiet=True)


def test_work_of_other_steps_is_faint_and_without_letters():
    build = (
        Build()
        .step(0, 0, 40)
        .op("aten::mm", 0, 30)
        .kernel("g", ts=20, dur=60, launched=10)
        .step(1, 40, 60)
        .op("aten::mm", 42, 30)
        .kernel("g", ts=80, dur=20, launched=50)
    )
    gpu = next(line for line in drawn(build, step=1).splitlines() if line.startswith(" GPU"))
    assert "···" in gpu
    assert gpu.count("a") == 1


def test_tiny_activities_each_keep_a_letter_in_order():
    build = Build().step(0, 0, 100).op("aten::x", 0, 90)
    for at in range(10):
        build.kernel(f"k{at}", ts=80 + at * 0.1, dur=0.1, launched=10 + at)
    gpu = next(line for line in drawn(build).splitlines() if line.startswith(" GPU"))
    assert "abcdefghij" in gpu


def test_copies_look_different_and_streams_have_rows_of_their_own():
    build = (
        Build()
        .step(0, 0, 100)
        .op("aten::x", 0, 50)
        .kernel("k", ts=20, dur=40, launched=5, stream=7)
        .memcpy("Memcpy DtoD (Device -> Device)", ts=30, dur=40, launched=15, stream=9)
    )
    text = drawn(build)
    assert "GPU s7" in text
    assert "GPU s9" in text
    assert "▒▒▒" in text


def test_without_letters_launches_have_a_mark_each_call_one():
    build = Build().step(0, 0, 100).op("aten::x", 0, 50)
    build.replay(["a", "b", "c"], ts=60, dur=10, launched=20)
    text = drawn(build, lettered=False)
    launches, device = (
        next(line for line in text.splitlines() if line.startswith(f" {row}")) for row in ("launch", "GPU")
    )
    assert launches.count("▾") == 1
    assert not set(launches[9:] + device[9:]) & set("abc")


def test_the_unit_stands_at_the_first_tick_and_a_number_without_room_is_left_out():
    build = Build().step(0, 0, 100).op("aten::x", 0, 50).kernel("k", ts=50, dur=50, launched=5)
    ticks = drawn(build, width=60).splitlines()[-1].split()
    assert ticks == ["╵0", "ms", "╵0.02", "╵0.04", "╵0.06", "╵0.08", "╵"]


def test_a_legend_explains_the_marks_of_its_drawing_and_no_others():
    lone = legend_text(" CPU     ▌x░░\n launch  a\n GPU     a██", lettered=True)
    assert lone == "▌░ ops on the CPU; letters: device work, at its launch and where it runs; █ kernels."
    full = legend_text(" CPU     ▌x\n CPU, 2  ▌y\n launch  ▾\n GPU     ··█▓▒", lettered=False)
    assert full == (
        "▌░ ops on the CPU; ▾ a launch; █ ▓ kernels, in turns; ▒ a copy or a memset; · work of another step; CPU, 2: "
        "another thread."
    )
    assert "▓" not in legend_text(" GPU     a██", lettered=True, at_length=True)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_explains_every_mark_that_it_draws(name):
    told: set[str] = set()
    for view in views(LESSONS[name].blocks(Shelf())):
        lines, legend = draw_lanes(view, 80)
        text = drawn_text(lines)
        told |= set(legend) & set("▌░▒▓█·▾")
        drawing = "".join(line for line in text.splitlines() if not line.startswith((" CPU", "  ")))
        assert set(drawing) & set("▒▓█·▾") <= told
        assert ("CPU, 2" in text) <= ("CPU, 2" in legend)


def views(blocks: Sequence[Block]) -> Iterator[Lanes]:
    for block in blocks:
        inside = (*block.look, *block.because) if isinstance(block, Question) else (block,)
        yield from (view for view in inside if isinstance(view, Lanes))


def test_a_file_without_steps_is_drawn_whole():
    build = Build().op("aten::mm", 10, 20).kernel("g", ts=40, dur=10, launched=15)
    assert "a█" in drawn(build, step=-1)


def test_a_hostile_name_cannot_move_the_cursor():
    build = Build().step(0, 0, 100).op("\x1b[2Jevil\n", 10, 50).kernel("g", ts=70, dur=10, launched=15)
    text = drawn(build)
    assert "\x1b" not in text
    assert len(text.splitlines()) == len(("step", "ops", "launch", "GPU", "ticks"))


def test_no_line_is_wider_than_asked_and_none_too_narrow_breaks_it():
    shelf = Shelf()
    for name in ("attention-math", "attention-naive-training", "decoder-sdpa", "graph-replay"):
        recorded = shelf[name]
        for width in (30, 80, 100):
            lines = draw(recorded, recorded.shown, width)
            assert max(sum(len(span.text) for span in line) for line in lines) <= max(width, 60)


def test_every_step_of_every_recording_can_be_drawn():
    shelf = Shelf()
    for path in sorted(shelf.folder.glob("*.json.gz")):
        recorded = shelf[path.name.removesuffix(".json.gz")]
        for step in range(len(recorded.trace.steps)):
            assert "GPU" in drawn_text(draw(recorded, step))
