"""PyTorch's reasons, picked from its warnings."""

import warnings

from foretrace.capture.reasons import reason

SAID = [
    "Memory efficient kernel not used because: (Triggered internally at /pytorch/aten/src/ATen/x.cpp:859.)",
    "Memory Efficient attention has been runtime disabled. (Triggered internally at /pytorch/sdp_utils.h:575.)",
    "Flash attention kernel not used because: (Triggered internally at /pytorch/aten/src/ATen/x.cpp:861.)",
    "Expected q, k and v to be of dtype: {Half, BFloat16}. Got float. (Triggered internally at /p/s.h:97.)",
    "cuDNN attention kernel not used because: (Triggered internally at /pytorch/aten/src/ATen/x.cpp:863.)",
    "cuDNN attention has been runtime disabled. (Triggered internally at /pytorch/sdp_utils.cpp:500.)",
]


def said(texts):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for text in texts:
            warnings.warn(text, stacklevel=1)
    return caught


def test_a_pinned_backend_gives_the_warnings_about_itself():
    error = RuntimeError("No available kernel. Aborting execution.")
    assert reason("flash", error, said(SAID), "cuda") == (
        "Expected q, k and v to be of dtype: {Half, BFloat16}. Got float."
    )


def test_without_warnings_the_exception_speaks():
    error = RuntimeError("\nNo available kernel. Aborting execution.\nmore")
    assert reason("flash", error, [], "cuda") == "No available kernel. Aborting execution."
    assert reason("mine", KeyError("x"), [], "cuda") == "KeyError: 'x'"
    assert reason("mine", ValueError(), [], "cuda") == "ValueError"


def test_a_long_reason_is_cut():
    assert len(reason("mine", RuntimeError("x" * 5000), [], "cuda")) <= 400


def test_a_cpu_says_which_kernel_it_lacks():
    error = RuntimeError("No viable backend was found. This is likely due to something else.")
    assert reason("cudnn", error, [], "cpu") == "No viable backend was found: on a CPU there is no cudnn kernel."
