"""Measured rates, and the file they make."""

import pytest
import torch

from foretrace.capture.calibrate import Calibration, calibrate, calibration_toml
from foretrace.cli import main
from foretrace.errors import CaptureError
from foretrace.names.peaks import peaks_of, read_peaks

FOUND = Calibration('A "card"', "2.11.0", 4.3e12, {"bf16": 7.9e14, "tf32": 4e14}, {"fp32": 5.2e13})


def test_the_file_is_read_back(tmp_path):
    file = tmp_path / "peaks.toml"
    file.write_text(calibration_toml(FOUND))
    peaks = peaks_of('A "card"', read_peaks(file))
    assert peaks.bytes_per_s == 4.3e12
    assert (peaks.rate("tensor_core", "bf16"), peaks.rate("cuda_core", "fp32")) == (7.9e14, 5.2e13)
    assert "measured with torch 2.11.0" in peaks.source


def test_the_command_shows_and_writes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("foretrace.capture.calibrate.calibrate", lambda: FOUND)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stop:
        main(["calibrate", "-o", str(tmp_path / "peaks.toml")])
    assert not stop.value.code
    shown = capsys.readouterr().out
    assert "4.3 TB/s" in shown
    assert "790 TFLOP/s" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert (tmp_path / "peaks.toml").read_text() == calibration_toml(FOUND)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device here")
def test_without_a_device_it_says_so():
    with pytest.raises(CaptureError, match="no device to measure"):
        calibrate()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_card_reaches_a_share_of_what_is_stated():
    found = calibrate()
    peaks = peaks_of(found.device)
    if peaks is None:
        pytest.skip(f"{found.device} is in no table")
    assert 0.3 < found.bytes_per_s / peaks.bytes_per_s < 1.1
    assert 0.3 < found.tensor_core["fp16"] / peaks.rate("tensor_core", "fp16") < 1.1
