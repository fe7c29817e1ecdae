"""The grammar of kernel names: which part is the function, and what its template arguments are.

A name is a C++ signature (``void at::native::reduce_kernel<512, 1, ...>(...)``), a mangled one (``_ZN...``) or
one word with underscores (``ampere_sgemm_128x64_tn``).
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["LONGEST", "Name", "template_arguments"]

# Nobody names a kernel longer than this by intent; what follows is not looked at.
LONGEST: Final = 20_000

# `<unnamed>` is how Nsight Compute spells the anonymous namespace.
_HEAD: Final = re.compile(r"(?:\(anonymous namespace\)|<unnamed>|[^<>(\s])+")
_BRACKET: Final = re.compile(r"[<>(){}\[\],]")
_LENGTH: Final = re.compile(r"\d+")
# Integer, bool and enum literals of a mangled template argument: their digits are no length of a name.
_LITERAL: Final = re.compile(r"L[a-z]n?\d+E|T\d*_|S\d*_")


def template_arguments(text: str, opening: int, limit: int = 1_000) -> list[str]:
    """The top-level template arguments after the ``<`` at ``opening``, at most ``limit`` of them."""
    arguments: list[str] = []
    depth = 0
    start = opening + 1
    for bracket in _BRACKET.finditer(text, opening):
        sign = bracket[0]
        if sign in "<({[":
            # `operator<` and `(a)<(b)` are rare enough in kernel names to live with.
            depth += 1
        elif sign in ">)}]":
            if sign == ">" and text[bracket.start() - 1] in "-=":
                continue
            depth -= 1
            if depth == 0:
                arguments.append(text[start : bracket.start()].strip())
                break
        elif depth == 1:
            arguments.append(text[start : bracket.start()].strip())
            start = bracket.end()
            if len(arguments) >= limit:
                break
    return arguments


def _mangled(text: str) -> tuple[str, str]:
    """(function path, every identifier after it) of an Itanium-mangled name."""
    head: list[str] = []
    body: list[str] = []
    position = 2
    in_head = True
    while position < len(text):
        if in_head and text[position] in "NLK":
            position += 1
            continue
        literal = _LITERAL.match(text, position)
        if literal:
            in_head = in_head and literal[0].startswith("S")
            position = literal.end()
            continue
        length = _LENGTH.match(text, position)
        if length is None:
            in_head = in_head and text.startswith("St", position)
            position += 2 if in_head else 1
            continue
        # A length may follow other digits (`..._cu_17e4` is inside a name, so it is skipped with it).
        end = length.end() + int(length[0])
        word = text[length.end() : end]
        if word and not word[0].isdigit() and end <= len(text):
            (head if in_head else body).append(word)
            position = end
        else:
            in_head = False
            position = length.end()
    return "::".join(head), " ".join(body)


class Name:
    """A kernel name and its parts."""

    __slots__ = ("base", "body", "head", "opening", "text")

    text: str
    """The name as given."""
    head: str
    """The function's path, without return type, template arguments and parameters."""
    base: str
    """The last component of the path."""
    body: str
    """What follows the path: template arguments and parameters (mangled: the identifiers in them)."""
    opening: int
    """Where the template arguments open in ``text``; -1 if there are none."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.opening = -1
        if text.startswith("_Z"):
            self.head, self.body = _mangled(text[:LONGEST])
        else:
            start = 5 if text.startswith("void ") else 0
            if text.startswith("std::enable_if<", start):
                start = max(text.find("::type ", start, LONGEST) + 7, start)
            found = _HEAD.match(text, start, LONGEST)
            self.head = found[0] if found else ""
            end = found.end() if found else start
            self.body = text[end:LONGEST]
            if text.startswith("<", end):
                self.opening = end
        self.base = self.head.rpartition("::")[2] or self.head

    def arguments(self, limit: int = 1_000) -> list[str]:
        """The function's template arguments; empty if it has none or the name is mangled."""
        return template_arguments(self.text[:LONGEST], self.opening, limit) if self.opening >= 0 else []
