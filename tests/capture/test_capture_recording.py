"""The names in a recording's folder."""

from foretrace.capture.recording import file_names


def test_no_two_variants_share_a_file():
    assert file_names(["naive", "my module:naive", "my-module-naive", "../..", "é"]) == {
        "naive": "naive.json.gz",
        "my module:naive": "my-module-naive.json.gz",
        "my-module-naive": "my-module-naive-2.json.gz",
        "../..": "variant.json.gz",
        "é": "variant-2.json.gz",
    }
