"""Short names for people: what is left of a kernel's name when its template arguments are away."""

from __future__ import annotations

from functools import lru_cache

from foretrace.report.escape import plain

__all__ = ["bar", "short_name"]

_BLOCKS = " ▏▎▍▌▋▊▉"


@lru_cache(maxsize=65536)
def short_name(name: str) -> str:
    """``void at::native::(anonymous namespace)::f<...>(...)`` as ``f<…>``; other names as they are."""
    text = plain(name)
    if "(" not in text and "<" not in text:
        return text
    if text.startswith(("Memcpy", "Memset")):
        return text
    text = text.removeprefix("void ").replace("(anonymous namespace)::", "")
    depth, kept, cut = 0, [], False
    for letter in text:
        if letter in "<(":
            if letter == "(" and depth == 0:
                break
            depth += 1
            cut = True
        elif letter in ">)":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(letter)
    short = "".join(kept).split("::")[-1].strip() or text
    return short + ("<…>" if cut else "")


def bar(share: float, width: int = 5) -> str:
    """A bar of eighths of a character; a share of 1 fills ``width`` characters."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_BLOCKS[rest] if rest else "")
