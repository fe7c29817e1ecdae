"""Cards by their names, and a user's own rates."""

import pytest

from foretrace.errors import UsageError
from foretrace.names.cards import CARDS
from foretrace.names.peaks import card_named, peaks_of, read_peaks


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("NVIDIA H200", "H200"), ("NVIDIA H100 80GB HBM3", "H100"), ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H100 NVL", "H100 NVL"), ("NVIDIA GH200 480GB", "GH200"), ("NVIDIA B200", "B200"),
        ("NVIDIA B300 SXM6 AC", "B300"), ("NVIDIA A100-SXM4-40GB", "A100"), ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe"), ("NVIDIA A10G", "A10G"), ("NVIDIA L4", "L4"),
        ("NVIDIA L40S", "L40S"), ("Tesla T4", "T4"), ("Tesla V100-SXM2-16GB", "V100"),
        ("Tesla V100-PCIE-32GB", "V100 PCIe"), ("NVIDIA GeForce RTX 3060 Ti", "RTX 3060 Ti"),
        ("NVIDIA GeForce RTX 4080 SUPER", "RTX 4080 SUPER"), ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ("AMD Instinct MI300X", "MI300X"), ("AMD Instinct MI250X / MI250", "MI250X"), ("AMD Instinct MI210", "MI210"),
        ("AMD Instinct MI355X", "MI355X"), ("h200", "H200"), ("rtx 4090", "RTX 4090"), ("mi325x", "MI325X"),
    ],
)  # fmt: skip
def test_a_device_is_told_by_its_name(name, card):
    assert card_named(name).name == card


@pytest.mark.parametrize(
    "name", ["NVIDIA GeForce RTX 4090 Laptop GPU", "AMD Radeon Graphics", "Quadro GP100", "", "NVIDIA"]
)
def test_other_devices_are_not_taken_for_a_card(name):
    assert card_named(name) is None
    assert peaks_of(name) is None


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_card_is_found_by_its_own_name_and_says_where_its_rates_are_from(card):
    assert card_named(card.name) is card
    peaks = peaks_of(card.name)
    assert peaks.source
    assert peaks.rate("tensor_core", "fp16") > peaks.rate("cuda_core", "fp32") / 2
    assert peaks.bytes_per_s > 1e11
    # No rate is one with sparsity: that of 8-bit formats is twice or four times that of 16-bit ones.
    fast = max(peaks.rate("tensor_core", kind) or 0 for kind in ("fp8", "int8"))
    assert fast <= 4.01 * peaks.rate("tensor_core", "fp16")


def test_formats_without_a_unit_of_their_own():
    h200, v100 = peaks_of("H200"), peaks_of("V100")
    assert h200.rate("tensor_core", "fp8_e4m3") == 1978.9e12
    assert h200.rate("tensor_core", "fp32") == h200.rate("cuda_core", "fp32")
    assert h200.rate("cuda_core", "bf16") == h200.rate("cuda_core", "fp32")
    assert v100.rate("tensor_core", "bf16") == v100.rate("cuda_core", "fp32")
    assert v100.rate("tensor_core", "fp8_e4m3") is None


def test_own_rates_stand_before_the_table(tmp_path):
    file = tmp_path / "peaks.toml"
    file.write_text('["NVIDIA H200"]\nsource = "measured"\nbandwidth = 4.3e12\ntensor_core = { bf16 = 790e12 }\n')
    peaks = peaks_of("NVIDIA H200", read_peaks(file))
    assert (peaks.bytes_per_s, peaks.rate("tensor_core", "bf16"), peaks.source) == (4.3e12, 790e12, "measured")
    assert peaks.rate("tensor_core", "tf32") == 494.7e12
    assert peaks_of("NVIDIA A100-SXM4-40GB", read_peaks(file)).bytes_per_s == 1555e9


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[", "no TOML file"),
        ("H200 = 3", "is no table"),
        ("[H200]\nbandwith = 3", "'bandwith'"),
        ("[H200]\nbandwidth = -3", "above 0"),
        ("[H200]\nbandwidth = inf", "above 0"),
        ("[H200]\ntensor_core = 3", "no table of rates"),
        ("[H200]\ntensor_core = { bf16 = true }", "above 0"),
        ("[H200]\nsource = 3", "no text"),
    ],
)
def test_a_broken_file_of_rates_is_refused_in_one_sentence(tmp_path, text, says):
    file = tmp_path / "peaks.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"peaks\.toml") as refusal:
        read_peaks(file)
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        read_peaks(tmp_path / "none.toml")
