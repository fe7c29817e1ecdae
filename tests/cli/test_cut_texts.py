"""Texts that are too long for their place."""

import pytest

from foretrace.report.escape import cut_words, ellipsis


@pytest.mark.parametrize(
    ("width", "cut"),
    [
        (60, "a hidden copy: masked_fill copies its input first"),
        (48, "a hidden copy: masked_fill copies its input…"),
        (44, "a hidden copy: masked_fill copies its input…"),
        (43, "a hidden copy: masked_fill copies its…"),
        (16, "a hidden copy…"),
    ],
)
def test_a_sentence_is_cut_behind_a_word(width, cut):
    assert cut_words("a hidden copy: masked_fill copies its input first", width) == cut


@pytest.mark.parametrize("width", range(1, 40))
def test_what_is_cut_fits(width):
    for text in ("word " * 20, "x" * 90, "a " + "b" * 80, "", " " * 50):
        assert len(cut_words(text, width)) <= width
        assert len(ellipsis(text, width)) <= width


def test_one_long_word_is_cut_in_its_middle():
    assert cut_words("elementwise_kernel_with_a_long_name", 16) == ellipsis("elementwise_kernel_with_a_long_name", 16)
