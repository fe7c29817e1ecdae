"""Variants of packages that are not installed here: held to float64 through stand-ins with the packages' signatures."""

import importlib.machinery
import sys
from functools import partial
from types import ModuleType

import pytest

from foretrace.capture.attention import chosen_variants
from foretrace.capture.masked_row import masked_row
from foretrace.capture.shapes import AttentionShape
from foretrace.capture.variants import VARIANTS, variant_forward
from foretrace.errors import CaptureError

torch = pytest.importorskip("torch")
from foretrace.capture.inputs import make_inputs  # noqa: E402
from foretrace.capture.reference import max_abs_error, reference_output  # noqa: E402

CPU = torch.device("cpu")
sdpa = torch.nn.functional.scaled_dot_product_attention


def shape(**changes):
    sizes = {"batch": 2, "heads": 4, "kv_heads": 4, "length": 24, "kv_length": 24, "head_dim": 8, "dtype": "float32"}
    return AttentionShape(**(sizes | changes))


def flash_attn_func(q, k, v, *, causal=False):
    """[B, L, H, D], grouped heads by themselves, causal aligned at the bottom right."""
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    keep = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
    return sdpa(q, k, v, attn_mask=keep if causal else None, enable_gqa=True).transpose(1, 2)


class LowerTriangularMask:
    """What xformers takes for causal."""


def memory_efficient_attention(q, k, v, attn_bias=None):
    """[B, L, H, D] with as many kv heads as query heads."""
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    causal = isinstance(attn_bias, LowerTriangularMask)
    if attn_bias is not None and not causal:
        assert attn_bias.shape == (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    return sdpa(q, k, v, attn_mask=None if causal else attn_bias, is_causal=causal).transpose(1, 2)


def module(monkeypatch, name, **content):
    made = ModuleType(name)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None)
    for key, value in content.items():
        setattr(made, key, value)
    monkeypatch.setitem(sys.modules, name, made)
    return made


@pytest.fixture
def packages(monkeypatch):
    flash = module(monkeypatch, "flash_attn", flash_attn_func=flash_attn_func)
    ops = module(
        monkeypatch,
        "xformers.ops",
        LowerTriangularMask=LowerTriangularMask,
        memory_efficient_attention=memory_efficient_attention,
    )
    module(monkeypatch, "xformers", ops=ops)
    asked = []

    def get_kernel(repository, *, version=None):
        asked.append((repository, version))
        return flash

    module(monkeypatch, "kernels", get_kernel=get_kernel)
    return asked


CAUSAL = [{}, {"causal": False}, {"kv_heads": 2}, {"length": 1}, {"length": 5}]
MASKED = [{"mask": "bool"}, {"mask": "padding", "causal": False}, {"mask": "alibi", "kv_heads": 2}]


@pytest.mark.parametrize(
    ("variant", "changes"),
    [
        *[(variant, changes) for variant in ("flash-attn", "kernels", "xformers") for changes in CAUSAL],
        *[("xformers", changes) for changes in MASKED],
    ],
    ids=str,
)
def test_the_call_means_the_same_attention(packages, variant, changes):
    inputs = make_inputs(shape(**changes), CPU)
    assert max_abs_error(variant_forward(VARIANTS[variant], inputs)(), reference_output(inputs)) < 1e-5
    assert packages == ([("kernels-community/flash-attn2", 2)] if variant == "kernels" else [])


@pytest.mark.parametrize("variant", ["flash-attn", "kernels"])
def test_flash_attn_refuses_masks(packages, variant):
    with pytest.raises(CaptureError, match="takes no mask tensor"):
        variant_forward(VARIANTS[variant], make_inputs(shape(mask="padding"), CPU))
    assert masked_row(partial(variant_forward, VARIANTS[variant]), shape(), CPU, "bool") is None


def test_installed_packages_join_the_comparison_and_the_hub_only_from_its_cache(packages, monkeypatch, tmp_path):
    constants = module(monkeypatch, "huggingface_hub.constants", HF_HUB_CACHE=str(tmp_path))
    module(monkeypatch, "huggingface_hub", constants=constants)
    chosen = {candidate.name: candidate for candidate in chosen_variants(None)}
    assert {"flash-attn", "xformers", "kernels"} <= set(chosen)
    assert "--variants kernels downloads it" in chosen["kernels"].missing
    assert chosen_variants(["kernels"])[0].missing is None
    (tmp_path / "models--kernels-community--flash-attn2").mkdir()
    assert {candidate.name: candidate.missing for candidate in chosen_variants(None)}["kernels"] is None
    assert packages == []
