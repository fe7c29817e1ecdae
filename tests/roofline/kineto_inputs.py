"""An aten call as a trace would have recorded it."""

import torch

from foretrace.analysis.roofline.inputs import Inputs

TYPES = {
    torch.bfloat16: "c10::BFloat16",
    torch.float16: "c10::Half",
    torch.float32: "float",
    torch.float64: "double",
    torch.int32: "int",
    torch.int64: "long int",
    torch.bool: "bool",
    torch.float8_e4m3fn: "c10::Float8_e4m3fn",
}


def _entry(value):
    if isinstance(value, torch.Tensor):
        return list(value.shape), TYPES[value.dtype], list(value.stride()), ""
    if isinstance(value, list | tuple) and value and isinstance(value[0], torch.Tensor):
        return [list(each.shape) for each in value], "TensorList", [list(each.stride()) for each in value], ""
    if value is None:
        return [], "", [], ""
    if isinstance(value, list | tuple):
        return [], "ScalarList", [], "[" + ", ".join(map(str, value)) + "]"
    if isinstance(value, torch.dtype):
        number = {torch.float16: 5, torch.float32: 6, torch.float64: 7, torch.bfloat16: 15}[value]
        return [], "Scalar", [], str(number)
    return [], "Scalar", [], str(value)


def recorded(op, *args, **kwargs):
    """The inputs of a call, keyword arguments in their places and defaults filled in, as the profiler does."""
    values = []
    for at, argument in enumerate(op._schema.arguments):
        if at < len(args):
            values.append(args[at])
        else:
            values.append(kwargs.get(argument.name, argument.default_value))
    return Inputs.of(*zip(*map(_entry, values), strict=True), list_dtype="fp32")
