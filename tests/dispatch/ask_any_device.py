"""Ask a PyTorch build for CUDA, without a GPU, what it would do with calls on any device; write one file for each.

How to learn the rules of a new release. Install its CUDA build into a folder of its own, then::

    gcc -shared -fPIC -I <folder>/nvidia/.../include -o pretended.so pretended_device.c
    python ask_any_device.py driver <folder> libcuda.c && gcc -w -fno-builtin -shared -fPIC -o libcuda.so.1 libcuda.c
    PYTHONPATH=<folder> LD_LIBRARY_PATH=. LD_PRELOAD=./pretended.so \
        python ask_any_device.py ask calls.jsonl answers/ 9.0@91900 8.0@91900 12.0@92400 cpu

(CUDA's headers ask for crt/host_defines.h, of which empty macros suffice.) The first form writes a driver whose
functions all succeed, which the runtime looks for when a device is set. The calls are those in ``answers.json.gz``, one
a line; ``answers.pack`` makes that file of them and the folder.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

FUNCTIONS = {
    "flash": "_can_use_flash_attention",
    "efficient": "_can_use_mem_efficient_attention",
    "cudnn": "_can_use_cudnn_attention",
}
WARNING = re.compile(r"Warning: (.*?) \(function (\w+)\)", re.DOTALL)


def write_driver(folder, target):
    """A driver with every function that the libraries of a build name."""
    names = set()
    for path in Path(folder).rglob("*.so*"):
        if re.match(r"lib(c10_cuda|torch_cuda|torch_python|cudart)\.so", path.name):
            names |= {found.decode() for found in re.findall(rb"\0(cu[A-Z]\w+)\0", path.read_bytes())}
    names -= {"cuDevicePrimaryCtxGetState", "cuGetProcAddress", "cuGetProcAddress_v2"}
    lines = [f"int {name}() {{ return 0; }}" for name in sorted(names)]
    lines.append("int cuDevicePrimaryCtxGetState(int d, unsigned *f, int *on) { *f = 0; *on = 1; return 0; }")
    Path(target).write_text("\n".join(lines) + "\n")


class Asker:
    """One device; tensors are fake, and say they are on it."""

    def __init__(self, torch, device):
        import torch._subclasses.fake_tensor as fakes  # noqa: PLC0415 - of the build that is asked

        for name in ("init_gpu_context", "init_cuda_context"):
            setattr(fakes, name, lambda *_, **__: None)
        torch.cuda._lazy_init = lambda: None
        torch._C._set_warnAlways(True)
        self.torch, self.device = torch, device
        self.fakes, self.mode = fakes, fakes.FakeTensorMode(allow_non_fake_inputs=True)

    def tensor(self, given, grad=False):
        torch, offset = self.torch, given.get("offset", 0)
        dims, strides = given["dims"], given["strides"]
        room = (
            offset + 1 + (sum((size - 1) * step for size, step in zip(dims, strides, strict=True)) if all(dims) else 0)
        )
        names = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64", "bool": "bool"}
        where = "cpu" if self.device == "cpu" else "meta"
        made = torch.empty(room, dtype=getattr(torch, names[given["dtype"]]), device=where)
        made = made.as_strided(dims, strides, offset)
        if self.device != "cpu":
            made = self.fakes.FakeTensor(self.mode, made, torch.device("cuda:0"))
        return made.requires_grad_() if grad else made

    def words(self, ask):
        """The warnings of C++, which go straight to standard error: [function, text]."""
        with tempfile.TemporaryFile("w+b") as heard:
            kept = os.dup(2)
            os.dup2(heard.fileno(), 2)
            try:
                ask()
            finally:
                os.dup2(kept, 2)
                os.close(kept)
            heard.seek(0)
            return [[name, text] for text, name in WARNING.findall(heard.read().decode(errors="replace"))]

    def answer(self, call):
        torch, row = self.torch, {}
        try:
            tensors = [self.tensor(call[name], call["grad"]) for name in "qkv"]
            mask = self.tensor(call["mask"], call["mask"].get("grad", False)) if call["mask"] else None
            given = (mask, call["dropout"], call["causal"])
            params = torch.backends.cuda.SDPAParams(*tensors, *given, call["gqa"])
            for name, function in FUNCTIONS.items() if self.device != "cpu" else ():
                ask = getattr(torch._C, function)
                # Asked for words, some releases refuse what they would run.
                said = self.words(lambda ask=ask: ask(params, True))
                row[name] = True if ask(params, False) else said[0] if said else None
            key = torch._C.DispatchKey.CPU if self.device == "cpu" else torch._C.DispatchKey.CUDA
            choice = torch.ops.aten._fused_sdp_choice.default._op_dk
            row["choice"] = int(choice(key, *tensors, *given, enable_gqa=call["gqa"]))
        except Exception as error:  # noqa: BLE001 - whatever it raises is its answer
            row["error"] = f"{type(error).__name__}: {error}"[:160]
        return row


def ask(calls_file, folder, *jobs):
    """Ask about every call, in a process of its own for each device and cuDNN: PyTorch remembers both."""
    import torch  # noqa: PLC0415 - the build that is asked

    calls = [json.loads(line) for line in Path(calls_file).read_text().splitlines()]
    for job in jobs:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        device, _, cudnn = job.partition("@")
        os.environ |= {"PRETEND_DEVICE": device, "PRETEND_CUDNN": cudnn or "0"}
        asker = Asker(torch, device)
        said = {"torch": torch.__version__, "cc": device, "cudnn": cudnn or "0", "rows": list(map(asker.answer, calls))}
        name = f"{torch.__version__.split('+')[0]}_{device}_{cudnn or 0}.json"
        (Path(folder) / name).write_text(json.dumps(said))
        os._exit(0)


if __name__ == "__main__":
    {"driver": write_driver, "ask": ask}[sys.argv[1]](*sys.argv[2:])
