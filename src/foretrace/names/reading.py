"""A name while it is being taken apart: pieces are said one by one, the first proof of a fact stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretrace.names.decoded import Decoded, Token
from foretrace.names.wording import sentence, short_label

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["Reading"]

# Where a role's arithmetic happens if the name says no more: matrix roles always say more (their module does).
_UNIT_OF_ROLE = {
    "softmax": "cuda_core",
    "normalization": "cuda_core",
    "reduction": "cuda_core",
    "elementwise": "cuda_core",
    "cast": "cuda_core",
    "sort": "cuda_core",
    "random": "cuda_core",
    "optimizer": "cuda_core",
    "fft": "cuda_core",
    "solver": "cuda_core",
    "attention_combine": "cuda_core",
    "copy": "none",
    "memset": "none",
    "gather": "none",
    "scatter": "none",
    "communication": "none",
    "setup": "none",
}


class Reading:
    """The facts and tokens gathered so far for one name."""

    __slots__ = ("facts", "name", "notes", "tokens")

    def __init__(self, name: Name, library: str = "unknown") -> None:
        self.name = name
        self.facts: dict[str, Any] = {"library": library}
        self.tokens: list[Token] = []
        self.notes: list[str] = []

    def say(self, text: str, meaning: str, **facts: Any) -> None:
        """Add a piece; of ``facts`` those not known yet (and not None) become known, proved by this piece."""
        self.tokens.append(Token(text, meaning, self._learn(facts)))

    def add(self, text: str, meaning: str, **facts: Any) -> None:
        """Say more about a piece that was said before (or only what it proves), or say it."""
        for index in range(len(self.tokens) - 1, -1, -1):
            token = self.tokens[index]
            if token.text == text:
                proved = ", ".join(p for p in (token.fact, self._learn(facts)) if p) or None
                said = f"{token.meaning}; {meaning}" if meaning else token.meaning
                self.tokens[index] = Token(text, said, proved)
                return
        self.say(text, meaning, **facts)

    def _learn(self, facts: dict[str, Any]) -> str | None:
        """Take over what is not known yet; the facts that hold, joined by commas, or None."""
        proved = []
        known = self.facts
        for fact, value in facts.items():
            if value is None:
                continue
            before = known.get(fact)
            if before is None or (before == "unknown" and fact == "library"):
                known[fact] = value
                proved.append(fact)
            elif before == value:
                proved.append(fact)
        return ", ".join(proved) or None

    def proof(self, fact: str) -> str:
        """The piece that proved a fact."""
        return next(token.text for token in self.tokens if fact in (token.fact or "").split(", "))

    def note(self, text: str) -> None:
        """Add a half-sentence to the words: a surprise worth saying."""
        self.notes.append(text)

    def get(self, fact: str) -> Any:
        """A fact known so far, or None."""
        return self.facts.get(fact)

    def finish(self) -> Decoded:
        """The finished record."""
        facts = self.facts
        role = facts.setdefault("role", "other")
        if facts.get("unit") is None:
            facts["unit"] = _UNIT_OF_ROLE.get(role, "unknown")
            self._prove_unit_by_role()
        known = facts.get
        return Decoded(
            name=self.name.text,
            library=facts["library"],
            role=role,
            unit=facts["unit"],
            op=known("op"),
            input_dtype=known("input_dtype"),
            accumulate_dtype=known("accumulate_dtype"),
            output_dtype=known("output_dtype"),
            instruction=known("instruction"),
            tile=known("tile"),
            tile_k=known("tile_k"),
            stages=known("stages"),
            cluster=known("cluster"),
            layout=known("layout"),
            split_k=known("split_k"),
            arch=known("arch"),
            head_dim=known("head_dim"),
            fused_ops=tuple(known("fused_ops") or ()),
            short=short_label(facts),
            words=sentence(facts, self.notes),
            tokens=tuple(self.tokens),
        )

    def _prove_unit_by_role(self) -> None:
        """The piece that proved the role proves the unit that follows from it."""
        if self.facts["unit"] == "unknown":
            return
        for index, token in enumerate(self.tokens):
            facts = (token.fact or "").split(", ")
            if "role" in facts and "unit" not in facts:
                self.tokens[index] = Token(token.text, token.meaning, f"{token.fact}, unit")
                return
