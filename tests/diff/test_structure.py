"""What counts as a change, on traces small enough to see it."""

import json

import pytest

from build import Build
from foretrace.differences import diff

GEMM = "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn"
OTHER_GEMM = "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_nn"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >()"
COPY = "Memcpy DtoD (Device -> Device)"


def trace(*work, steps=3, device="NVIDIA H200", annotation=None, dur=10, shape=None, jitter=(0, 0, 0)):
    """Steps that each do this work: (ops around it joined by " > ", kernel, its number)."""
    made = Build().gpu(device)
    for number in range(steps):
        at = 10_000 * number
        made.step(number, at, 9_000)
        if annotation:
            made.annotation(annotation.format(number), at + 1, 8_990)
        launch = at + 10
        for path, kernel, count in work:
            for _ in range(count):
                names = path.split(" > ") if path else []
                for depth, name in enumerate(names):
                    more = {"dims": [shape], "types": ["float"]} if shape and not depth else {}
                    made.op(name, launch + depth, 40 - 2 * depth, **more)
                if kernel is not None:
                    fill = {"cat": "gpu_memcpy", "launch": "cudaMemcpyAsync", "bytes": 64} if kernel == COPY else {}
                    ts, length = launch + 5_000, dur + jitter[number % len(jitter)]
                    made.activity(kernel, ts, length, launch + 20, **fill)
                launch += 50
    return made.load()


def changes(before, after):
    return [
        (change.change, change.kind, change.label or change.name, change.before, change.after)
        for change in diff(before, after).structure
    ]


def test_nothing_changed():
    work = [("aten::mm", GEMM, 2), ("aten::add", ADD, 1)]
    found = diff(trace(*work), trace(*work))
    assert found.same
    assert found.structure == ()


def test_what_is_new_and_gone():
    before, after = trace(("aten::mm", GEMM, 1), ("aten::add", ADD, 1)), trace(("aten::mm", GEMM, 1))
    assert changes(before, after) == [
        ("gone", "kernel", "elementwise: add", 1, 0),
        ("gone", "op", "aten::add", 1, 0),
    ]
    assert changes(after, before) == [
        ("new", "kernel", "elementwise: add", 0, 1),
        ("new", "op", "aten::add", 0, 1),
    ]


def test_another_number():
    assert changes(trace(("aten::mm", GEMM, 2)), trace(("aten::mm", GEMM, 5))) == [
        ("number", "kernel", "bf16 GEMM 128x256, cuBLAS", 2, 5),
        ("number", "op", "aten::mm", 2, 5),
    ]


def test_another_kernel_for_the_same_op():
    found = diff(trace(("aten::mm", GEMM, 1)), trace(("aten::mm", OTHER_GEMM, 1)))
    (change,) = found.structure
    assert change.change == "renamed"
    assert change.facts["tile"] == ("128x256", "64x64")
    assert change.facts["stages"] == (3, 5)
    assert not change.moved


def test_a_kernel_that_moved():
    found = diff(trace(("aten::linear > aten::mm", GEMM, 1)), trace(("aten::matmul > aten::mm", GEMM, 1)))
    kernel, op = found.structure
    assert (kernel.change, kernel.path, kernel.path_after) == (
        "moved",
        ("aten::linear", "aten::mm"),
        ("aten::matmul", "aten::mm"),
    )
    assert (op.change, op.name, op.name_after, op.same_kernels) == ("renamed", "aten::linear", "aten::matmul", 1)


def test_another_launch_call():
    before = Build().gpu().step(0, 0, 100).op("aten::mm", 5, 50).kernel(GEMM, 60, 5, 10).load()
    after = (
        Build().gpu().step(0, 0, 100).op("aten::mm", 5, 50).kernel(GEMM, 60, 5, 10, launch="cuLaunchKernelEx").load()
    )
    (change,) = diff(before, after).structure
    assert (change.change, change.launch) == ("launch", ("cudaLaunchKernel", "cuLaunchKernelEx"))


def test_a_copy_is_the_same_elsewhere_only_with_its_size():
    def one(op, size):
        return Build().gpu().step(0, 0, 100).op(op, 5, 50).memcpy(COPY, 60, 5, 10, bytes=size).op("end", 80, 1).load()

    assert [change.change for change in diff(one("aten::a", 64), one("aten::b", 64)).activities] == ["moved"]
    assert sorted(c.change for c in diff(one("aten::a", 64), one("aten::b", 65)).activities) == ["gone", "new"]


def test_what_lies_inside_a_gone_op_is_told_with_it():
    before = trace(("aten::linear > aten::t > aten::as_strided", None, 1), ("aten::mm", GEMM, 1))
    (change,) = diff(before, trace(("aten::mm", GEMM, 1))).structure
    assert (change.change, change.kind, change.name, change.inside) == ("gone", "op", "aten::linear", 2)


def test_numbers_that_vary_are_the_same_where_they_meet():
    def varying(*counts):
        made = Build().gpu()
        for number, count in enumerate(counts):
            made.step(number, 1000 * number, 900).op("aten::mm", 1000 * number + 1, 800)
            for at in range(count):
                made.kernel(GEMM, 1000 * number + 500 + 20 * at, 10, 1000 * number + 10 + at)
        return made.load()

    assert diff(varying(2, 3, 3), varying(3, 3, 4)).structure == ()
    assert [c.change for c in diff(varying(2, 3, 3), varying(4, 5, 5)).structure] == ["number"]


def test_an_annotation_with_a_counter_is_one_place():
    work = ("aten::mm", GEMM, 1)
    assert diff(trace(work, annotation="iteration {}"), trace(work, annotation="iteration 1{}")).structure == ()


def test_an_annotation_of_another_name_moves_nothing():
    work = ("aten::mm", GEMM, 1)
    found = diff(trace(work, annotation="naive"), trace(work, annotation="inplace"))
    assert [(c.change, c.kind, c.name) for c in found.structure] == [
        ("gone", "annotation", "naive"),
        ("new", "annotation", "inplace"),
    ]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("Torch-Compiled Region: 0/0", "Torch-Compiled Region: 3/1"),
        ("## Call CompiledFxGraph fabc ##", "## Call CompiledFxGraph fxyz ##"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_7"),
    ],
)
def test_numbers_that_a_compiler_gives_are_no_change(ours, theirs):
    kernel = ("triton_poi_fused_add_0", "triton_poi_fused_add_7")
    before, after = (trace((f"{name} > aten::mm", kernel[at], 1)) for at, name in enumerate((ours, theirs)))
    assert diff(before, after).structure == ()


def test_another_number_of_steps_changes_no_figure_of_a_step():
    work = ("aten::mm", GEMM, 2)
    found = diff(trace(work, steps=2), trace(work, steps=4))
    assert found.structure == ()
    assert [condition.text for condition in found.conditions] == ["Different number of steps: 2 steps -> 4 steps."]
    assert not found.same


def test_a_device_without_a_name_is_no_silent_match():
    work = ("aten::mm", GEMM, 1)
    found = diff(trace(work), trace(work, device=""))
    assert [condition.text for condition in found.conditions] == [
        "Different device: NVIDIA H200 -> a device that the file does not name."
    ]
    assert "device" not in diff(trace(work, device=""), trace(work, device="")).alike


def test_activity_on_an_unlisted_device_is_of_the_kind_that_is_listed():
    made = Build().gpu("AMD Instinct MI300X").step(0, 0, 100).op("aten::mm", 5, 20)
    made.kernel("k", 50, 20, 10)
    for event in made.events:
        if event.get("cat") == "kernel":
            event["args"]["device"] = 2
    found = diff(made.load(), trace(("aten::mm", GEMM, 1)))
    assert found.conditions[0].text == "Different device: AMD Instinct MI300X -> NVIDIA H200."


def test_another_device_is_said():
    work = ("aten::mm", GEMM, 1)
    found = diff(trace(work), trace(work, device="NVIDIA A100"))
    assert [condition.text for condition in found.conditions] == ["Different device: NVIDIA H200 -> NVIDIA A100."]


def test_other_shapes_are_said_and_kernels_still_line_up():
    found = diff(trace(("aten::mm", GEMM, 1), shape=[8, 8]), trace(("aten::mm", GEMM, 1), shape=[16, 8]))
    assert [condition.text for condition in found.conditions] == ["Different shapes: aten::mm f32[8,8] -> f32[16,8]."]
    assert found.structure == ()


def test_a_trace_without_device_activity_is_said():
    found = diff(trace(("aten::mm", GEMM, 1)), trace(("aten::mm", None, 1)))
    assert "device-activity" in [condition.code for condition in found.conditions]
    assert "kernels" not in found.counts
    assert [time.metric for time in found.step_times] == ["cpu_time", "period"]


def test_cpu_recordings_are_compared_by_their_ops():
    before, after = (
        Build().step(0, 0, 100).op("aten::mm", 5, 20).op(name, 30, 20).load() for name in ("aten::relu", "aten::gelu")
    )
    assert [(c.change, c.kind, c.name) for c in diff(before, after).structure] == [
        ("gone", "op", "aten::relu"),
        ("new", "op", "aten::gelu"),
    ]


def test_without_steps_whole_recordings_are_compared():
    before = Build().gpu().op("aten::mm", 5, 20).kernel(GEMM, 40, 5, 10).load()
    after = Build().gpu().op("aten::mm", 5, 20).kernel(GEMM, 40, 5, 10).kernel(ADD, 50, 5, 12).load()
    assert [(c.change, c.label) for c in diff(before, after).structure] == [("new", "elementwise: add")]


def test_empty_recordings_are_the_same():
    assert diff(Build().load(), Build().load()).same


def test_json_has_stable_keys_and_no_nan():
    found = diff(trace(("aten::mm", GEMM, 1), ("aten::add", COPY, 1)), trace(("aten::mm", OTHER_GEMM, 1)))
    content = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert set(content) == {
        *("schema", "foretrace", "before", "after", "same", "conditions", "counts", "structure", "times", "summary"),
    }
    assert content["schema"] == 1
    assert content["same"] is False
    gone = next(change for change in content["structure"] if change["change"] == "gone" and change["kind"] == "memcpy")
    assert (gone["path"], gone["name"], gone["before"], gone["after"]) == (["aten::add"], COPY, 1, 0)
    assert {"metric", "name", "path", "before", "after", "verdict", "change"} == set(content["times"][0])
    assert content["times"][0]["before"] == {"median": 20_000, "min": 20_000, "max": 20_000}
