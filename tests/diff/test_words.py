"""Changes in words: what is rounded, and what is not."""

import pytest

from foretrace.differences.words import from_to_text, percent_text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (-0.12, "-12 %"),
        (-0.004, "-0.4 %"),
        (-0.99, "-99 %"),
        (-0.9933, "-99.3 %"),
        (-0.99999, "-99.9 %"),
        (-1.0, "-100 %"),
        (0.62, "+62 %"),
        (150.0, "x151.0"),
        (0.0, "0 %"),
        (None, "from nothing"),
    ],
)
def test_a_change_is_all_of_it_only_where_nothing_is_left(share, text):
    assert percent_text(share) == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (1_065_000, 937_000, "1.065 to 0.937 ms"),
        (1_195_000_000, 8_412_000, "1.195 s to 8.412 ms"),
        (8_412_000, 1_195_000_000, "8.412 ms to 1.195 s"),
        (1_000_000, 0, "1.000 to 0.000 ms"),
    ],
)
def test_two_times_have_a_unit_each_where_one_is_far_smaller(before, after, text):
    assert from_to_text(before, after) == text
