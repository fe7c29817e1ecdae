"""ATen: PyTorch's own kernels (``at::native::``). What they compute is named by the functor they are given."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import cpp_dtype, dtype_words, first_cpp_dtype
from foretrace.names.libraries.aten_ops import (
    ELEMENTWISE,
    FUNCTIONS,
    FUNCTORS,
    REDUCTIONS,
    WRAPPERS,
)
from foretrace.names.reading import Reading
from foretrace.names.word_roles import role_by_words

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

# The functor stands near the front; what follows repeats the signature.
_NEAR: Final = 2_000

_SUFFIXES: Final = (
    "CUDAKernelImpl",
    "KernelImpl",
    "MathFunctor",
    "Functor",
    "_kernel_impl",
    "_kernel_cuda",
    "_cuda_kernel",
    "_kernel",
    "_cuda",
    "_and_transform",
    "Ops",
    "_impl",
)

_BINARY: Final = {"std::plus": "add", "std::minus": "sub", "std::multiplies": "mul", "std::divides": "div"}


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "identifier": re.compile(r"[A-Za-z_]\w*"),
        "lambda": re.compile(r"\{lambda\(([^()]+)\)#\d+\}"),
        "hump": re.compile(r"(?<=[a-z0-9])(?=[A-Z])"),
        "digits": re.compile(r"<(\d+)"),
    }


def _op_name(identifier: str) -> str:
    """The operation in PyTorch's words: ``masked_fill_kernel`` is ``masked_fill``, ``MulFunctor`` is ``mul``."""
    known = FUNCTORS.get(identifier) or REDUCTIONS.get(identifier)
    if known is not None:
        return known
    word = identifier.removeprefix("launch_").removeprefix("CUDAFunctor_")
    for suffix in _SUFFIXES:
        word = word.removesuffix(suffix)
    word = _patterns()["hump"].sub("_", word).lower().strip("_")
    return word or identifier


def _functor(body: str) -> tuple[str, int] | None:
    """The first identifier that names an operation, and where it ends in ``body``."""
    for found in _patterns()["identifier"].finditer(body, 0, _NEAR):
        word = found[0]
        if word in WRAPPERS:
            continue
        if word == "lambda":
            return None
        return word, found.end()
    return None


def _functor_dtype(body: str, functor: str, end: int) -> tuple[str, str] | None:
    """The format of the functor's values as (spelling, format)."""
    for wrapper in ("BinaryFunctor<", "AUnaryFunctor<", "BUnaryFunctor<"):
        start = body.find(wrapper, 0, end)
        if start >= 0:
            return first_cpp_dtype(body, start + len(wrapper), _NEAR)
    if body.startswith("<", end):
        argument = body[end + 1 : end + 80]
        if "OpaqueType" in argument.split(">")[0]:
            return None
        return first_cpp_dtype(body, end, end + 80)
    found = _patterns()["lambda"].search(body, end, _NEAR + 2_000)
    if found is None:
        return None
    types = found[1].split(", ")
    spelled = types[-1] if functor == "where_kernel_impl" else types[0]
    dtype = cpp_dtype(spelled)
    return (spelled, dtype) if dtype else None


def _is_cast(name: Name) -> bool:
    """A ``direct_copy`` that also converts: the loads and stores, or the generic launcher, say so."""
    text = name.text
    if "WithCast<" in text:
        return True
    # Without `_nocast` the launcher converts on the fly; it uses 4 values a thread whatever the size of a value,
    # where the plain one uses 2 for values of 4 bytes and more.
    if "gpu_kernel_impl<" not in text:
        return False
    if text.find("{lambda(int)#2}") >= 0 or name.base == "elementwise_kernel_manual_unroll":
        return True
    wide = any(t in text for t in ("lambda(float)", "lambda(double)", "lambda(long)", "lambda(int)#1}>"))
    return "elementwise_kernel<512, 1" in text or ("elementwise_kernel<128, 4" in text and wide)


def _read_elementwise(reading: Reading, name: Name) -> None:
    base = name.base
    meaning = ELEMENTWISE[base]
    if base == "vectorized_elementwise_kernel" and (n := _patterns()["digits"].match(name.body)) is not None:
        reading.say(f"{base}<{n[1]}", f"{meaning} ({n[1]})", role=None)
    else:
        reading.say(base, meaning)
    found = _functor(name.body)
    if found is None:
        reading.say(base, "pointwise", role="elementwise")
        return
    functor, end = found
    role, op = _elementwise_role(name, functor, _op_name(functor))
    _say_functor(reading, functor, role, op, _functor_dtype(name.body, functor, end))


def _elementwise_role(name: Name, functor: str, op: str) -> tuple[str, str | None]:
    if name.base == "_scatter_gather_elementwise_kernel":
        scatters = "_internal_kernel<true" in name.text or "scatter_fill" in name.text
        return ("scatter", "scatter") if scatters else ("gather", "gather")
    if op in ("index_put", "index_copy", "index_fill", "put"):
        return "scatter", op
    if op in ("index", "take", "index_select"):
        return "gather", op
    if op == "copy":
        return ("cast", None) if _is_cast(name) else ("copy", None)
    if op == "cast":
        return "cast", None
    if op in ("fill", "zero"):
        return "elementwise", "fill"
    if functor.startswith(("bernoulli", "uniform", "normal", "random", "exponential")):
        return "random", op
    return "elementwise", op


def _say_functor(reading: Reading, functor: str, role: str, op: str | None, dtype: tuple[str, str] | None) -> None:
    words = {"copy": "copies values", "cast": "copies and converts the number format"}.get(role, op or role)
    reading.say(functor, words, role=role, op=op)
    if dtype is None:
        return
    spelled, kind = dtype
    if role == "cast":
        _say_cast(reading, functor, spelled, kind)
    elif op == "fill":
        reading.say(spelled, f"values in {dtype_words(kind)}", output_dtype=kind)
    else:
        same = kind if role == "copy" else None
        reading.say(spelled, f"values in {dtype_words(kind)}", input_dtype=kind, output_dtype=same)


def _say_cast(reading: Reading, functor: str, spelled: str, kind: str) -> None:
    targets = {
        "bfloat16_copy_kernel_cuda": "bf16",
        "float16_copy_kernel_cuda": "fp16",
        "bfloat16tofloat32_copy_kernel_cuda": "fp32",
        "float16tofloat32_copy_kernel_cuda": "fp32",
    }
    target = targets.get(functor)
    if target is not None:
        reading.say(spelled, f"from {dtype_words(kind)}", input_dtype=kind)
        reading.say(functor.split("_", maxsplit=1)[0], f"to {dtype_words(target)}", output_dtype=target)
    else:
        reading.say(spelled, f"to {dtype_words(kind)}; the input's format is not in the name", output_dtype=kind)


def _read_multi_tensor(reading: Reading, name: Name) -> None:
    reading.say(name.base, "one launch for a whole list of tensors (torch._foreach, fused optimizers)")
    identifiers = _patterns()["identifier"].finditer(name.body, 0, _NEAR)
    functor = ""
    end = 0
    for found in identifiers:
        word = found[0]
        if word.endswith(("Metadata", "MetadataPack")) or word in WRAPPERS:
            continue
        functor, end = word, found.end()
        break
    lower = functor.lower()
    if any(word in lower for word in ("adam", "sgd", "adagrad", "lamb", "lion", "rmsprop")):
        role, op = "optimizer", _op_name(functor).removeprefix("fused_")
    elif "norm" in lower:
        role, op = "reduction", "foreach norm"
    elif functor in ("Copy", "CopyFunctor") or functor.startswith("Copy"):
        role, op = "copy", "foreach copy"
    else:
        binary = next((word for mark, word in _BINARY.items() if mark in name.body[:_NEAR]), None)
        role, op = "elementwise", f"foreach {binary or _inner_op(name.body, end) or _op_name(functor)}"
    reading.say(functor or name.base, f"for each tensor: {op.removeprefix('foreach ')}", role=role, op=op)
    if functor and (dtype := first_cpp_dtype(name.body, end, end + 80)) is not None:
        reading.say(dtype[0], f"values in {dtype_words(dtype[1])}", input_dtype=dtype[1])


def _inner_op(body: str, end: int) -> str | None:
    """The operation that a foreach functor applies: ``UnaryOpFunctor<...>, at::native::Sqrt<float>``."""
    close = body.find(">,", end)
    found = _functor(body[close : close + 200]) if close >= 0 else None
    return _op_name(found[0]) if found else None


def _fits(pattern: str, text: str) -> bool:
    parts = pattern.split("*")
    if not text.startswith(parts[0]):
        return False
    at = len(parts[0])
    for part in parts[1:]:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


@functools.cache
def _starred() -> tuple[tuple[str, tuple[str, str | None, str]], ...]:
    return tuple((pattern, entry) for pattern, entry in FUNCTIONS.items() if "*" in pattern)


def _function(base: str) -> tuple[str, str | None, str] | None:
    exact = FUNCTIONS.get(base)
    if exact is not None:
        return exact
    return next((entry for pattern, entry in _starred() if _fits(pattern, base)), None)


def _read_function(reading: Reading, name: Name) -> bool:
    entry = _function(name.base)
    if entry is None:
        return False
    role, op, meaning = entry
    # A reduction's arguments are long, and what is asked of them is found without taking them apart.
    arguments = name.arguments(8) if name.base != "reduce_kernel" else []
    op = _refined_op(name, op, arguments)
    unit = instruction = None
    if role == "convolution":
        unit = "cuda_core"
    elif role == "gemm":
        unit, instruction = "tensor_core", "mma 16x8x16"
    reading.say(name.base, meaning, role=role, op=op, unit=unit, instruction=instruction)
    _say_argument_dtypes(reading, name, arguments)
    return True


def _refined_op(name: Name, op: str | None, arguments: list[str]) -> str | None:
    """The operation where a template argument decides it."""
    base, body = name.base, name.body[:_NEAR]
    if base == "reduce_kernel":
        return next((word for mark, word in REDUCTIONS.items() if mark in body), None)
    if "SoftMax" in base and "LogSoftMax" in body:
        return f"log_softmax {op}" if op else "log_softmax"
    if base.startswith("softmax_warp") and arguments[4:5] == ["true"]:
        return f"log_softmax {op}" if op else "log_softmax"
    if base == "triu_tril_kernel":
        return {"true": "triu", "false": "tril"}.get("".join(arguments[2:3]), op)
    if op == "layer_norm" and arguments[2:3] == ["true"]:
        return "rms_norm"
    if op == "running sum":
        return "cumprod" if "multiplies" in body else "cumsum" if "plus" in body else "scan"
    if base.startswith("distribution_"):
        found = _functor(body)
        return _op_name(found[0]) if found else None
    return op


def _say_argument_dtypes(reading: Reading, name: Name, arguments: list[str]) -> None:
    if name.base == "reduce_kernel":
        start = name.body.find("ReduceOp<")
        dtype = first_cpp_dtype(name.body, start, start + 60) if start >= 0 else None
        if dtype is not None:
            reading.say(dtype[0], f"values in {dtype_words(dtype[1])}", input_dtype=dtype[1])
        return
    if not arguments or "OpaqueType" in arguments[0]:
        return
    dtypes = [(a, cpp_dtype(a)) for a in arguments]
    kinds = [(text, kind) for text, kind in dtypes if kind]
    if name.base.startswith(("softmax_warp", "cunn_SoftMax")) and len(kinds) >= 3:  # noqa: PLR2004
        warp = name.base.startswith("softmax_warp")
        source, output, accumulate = kinds[0], kinds[1 if warp else 2], kinds[2 if warp else 1]
        reading.say(source[0], f"inputs in {dtype_words(source[1] or '')}", input_dtype=source[1])
        reading.say(
            accumulate[0],
            f"computed in {dtype_words(accumulate[1] or '')}",
            accumulate_dtype=accumulate[1],
        )
        reading.say(output[0], f"output in {dtype_words(output[1] or '')}", output_dtype=output[1])
        return
    if kinds and kinds[0][1] != "int32":
        reading.say(kinds[0][0], f"values in {dtype_words(kinds[0][1] or '')}", input_dtype=kinds[0][1])


def read(name: Name, mark: str) -> Reading | None:
    """Take an ATen name apart; None if it is none."""
    ours = "at::native" in name.head or name.head.startswith("at::")
    listed = name.base in ELEMENTWISE or name.base == "multi_tensor_apply_kernel"
    if not ours and not listed and _function(name.base) is None:
        return None
    reading = Reading(name)
    mark = "at::native" if "at::native" in name.text else "at::" if name.text.find("at::") >= 0 else name.base
    if name.text.startswith("_Z"):
        mark = "native" if "native" in name.text else name.base
    reading.say(mark, "PyTorch's own kernels (ATen)", library="ATen")
    if name.base in ELEMENTWISE:
        _read_elementwise(reading, name)
    elif name.base == "multi_tensor_apply_kernel":
        _read_multi_tensor(reading, name)
    elif not _read_function(reading, name):
        found = role_by_words(name.base)
        if found is not None:
            role, piece = found
            unit = "cuda_core" if role in ("gemm", "convolution") or role.startswith("attention") else None
            reading.say(piece, f"the word says: {role.replace('_', ' ')}", role=role, op=None, unit=unit)
        else:
            reading.say(name.base, "a function that no table knows", op=name.base)
    return reading
