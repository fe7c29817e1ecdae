"""Calls, and traces of calls, in a line."""

from build import Build
from foretrace.analysis.dispatch.call import call_from_case, contiguous
from foretrace.analysis.dispatch.decide import dispatch
from foretrace.analysis.dispatch.devices import architecture_named
from foretrace.analysis.dispatch.recorded import recorded_calls

CPP = {"bf16": "c10::BFloat16", "fp16": "c10::Half", "fp32": "float", "fp64": "double", "bool": "bool"}
DEVICES = {
    "H100": ("NVIDIA H100 80GB HBM3", 9, 0),
    "H200": ("NVIDIA H200", 9, 0),
    "A100": ("NVIDIA A100-SXM4-40GB", 8, 0),
    "RTX 3090": ("NVIDIA GeForce RTX 3090", 8, 6),
    "RTX 4090": ("NVIDIA GeForce RTX 4090", 8, 9),
    "B200": ("NVIDIA B200", 10, 0),
    "MI300X": ("AMD Instinct MI300X", 9, 4),
}
PLAIN = {"dtype": "bf16", "b": 2, "h": 8, "lq": 256, "d": 64}


def asked(gpu, torch=None, cudnn=None, **case):
    """What the rules say of a plain call with some changes."""
    return dispatch(call_from_case({**PLAIN, **case}), architecture_named(gpu), release=torch, cudnn=cudnn)


def recorded(gpu, shapes, dtype, *, ran, mask=None, causal=False, dropout=0.0, gqa=False, strides=True, torch=None):
    """The calls of a trace, one for each of ``ran``: the backend's op under the front op, or the kernel's name."""
    ran = (ran,) if isinstance(ran, str) else ran
    name, major, minor = DEVICES[gpu]
    device = {"id": 0, "name": name, "computeMajor": major, "computeMinor": minor, "numSms": 100}
    build = Build(deviceProperties=[device]).step(1, 0, 100 * len(ran))
    tensors = [(list(shape), dtype) for shape in shapes]
    given = [*tensors, mask or ([], "")]
    dims = [dims for dims, _ in given] + [[], [], [], []]
    types = [CPP.get(kind, kind) for _, kind in given] + ["Scalar", "Scalar", "", "Scalar"]
    scalars = ["", "", "", "", f"{dropout:g}", str(causal), "", str(gqa)]
    recorded = {"dims": dims, "types": types, "concrete": scalars}
    if strides:
        recorded["strides"] = [list(contiguous(each)) if each else [] for each in dims]
    for at, backend in enumerate(ran):
        start = 100 * at
        build.op("aten::scaled_dot_product_attention", start + 1, 50, **recorded)
        if backend in INNER:
            build.op(INNER[backend], start + 2, 40)
        build.kernel(backend, ts=start + 200, dur=10, launched=start + 5)
    return recorded_calls(build.load(), torch=torch)


INNER = {
    "flash": "aten::_scaled_dot_product_flash_attention",
    "efficient": "aten::_scaled_dot_product_efficient_attention",
    "cudnn": "aten::_scaled_dot_product_cudnn_attention",
    "math": "aten::_scaled_dot_product_attention_math",
}
