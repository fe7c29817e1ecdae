"""Code that is shown to be copied is never cut."""

from foretrace.report.change_text import change_lines

LONG = "    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # attn_mask=mask where it is not causal"
CODE, REMARK = LONG.split("  # ")


def test_what_fits_stands_as_it_is():
    assert change_lines(f"one call:\n{LONG}", 120) == ["one call:", LONG]


def test_a_remark_that_does_not_fit_goes_above_the_code():
    assert change_lines(LONG, 70) == [f"    # {REMARK}", CODE]
    assert change_lines("x.masked_fill_(mask, value)  # instead of x = x.masked_fill(mask, value)", 50) == [
        "# instead of x = x.masked_fill(mask, value)",
        "x.masked_fill_(mask, value)",
    ]


def test_a_long_remark_is_wrapped_as_remarks():
    lines = change_lines(LONG, 30)
    assert lines[-1] == CODE
    assert len(lines) > 2
    assert all(line.startswith("    # ") and len(line) <= 30 for line in lines[:-1])


def test_code_is_never_cut():
    assert change_lines(CODE, 30) == [CODE]


def test_prose_is_wrapped():
    assert change_lines("one call that never writes the scores to memory", 30) == [
        "one call that never writes the",
        "scores to memory",
    ]


def test_what_a_trace_says_in_it_does_not_move_the_cursor():
    assert change_lines("    k\x1b[2J()", 80) == ["    k\\x1b[2J()"]
