"""Hold a lesson: print its blocks and, on a terminal, ask before showing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretrace.errors import ForetraceError
from foretrace.learn.guess import Guess, allowed, judged, read_guess, wanted
from foretrace.learn.lesson import Choice, Prose, Question, Try
from foretrace.learn.show import print_answer, print_question, print_try, print_view, say
from foretrace.units import count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from foretrace.learn.lesson import Block
    from foretrace.learn.recorded import Shelf

__all__ = ["Elsewhere", "Leave", "hold", "tell"]


class Leave(Exception):  # noqa: N818 - it is no error
    """The person wants to stop."""


@dataclass(frozen=True)
class Elsewhere:
    """The same lesson over other recordings, to say where the two differ."""

    device: str
    answers: Mapping[str, str]
    """Key of a question -> its answer there."""

    @staticmethod
    def of(device: str, blocks: Sequence[Block]) -> Elsewhere:
        """The answers of a lesson's questions."""
        return Elsewhere(device, {each.key: each.answer.text for each in blocks if isinstance(each, Question)})


def tell(out: Console, blocks: Sequence[Block], elsewhere: Elsewhere | None = None) -> None:
    """Print a lesson with the answers, without asking."""
    total = sum(isinstance(block, Question) for block in blocks)
    number = 0
    for block in blocks:
        if isinstance(block, Question):
            number += 1
            print_question(out, number, total, block)
            print_answer(out, block)
            for view in (*block.look, *block.because):
                print_view(out, view)
            _differs(out, block, elsewhere)
        elif isinstance(block, Try):
            print_try(out, block)
        else:
            print_view(out, block)
    _differences(out, blocks, elsewhere)


def hold(
    out: Console,
    blocks: Sequence[Block],
    shelf: Shelf,
    ask: Callable[[str], str],
    elsewhere: Elsewhere | None = None,
) -> None:
    """Ask, look, and hold the guess against the trace, question by question.

    Args:
        out: where to print.
        blocks: the lesson.
        shelf: its recordings, which guesses of a metric are checked against.
        ask: gives what was typed at a prompt; raises ``EOFError`` where the input has ended.
        elsewhere: the same lesson over other recordings.

    Raises:
        Leave: the person wants to stop, or the input has ended.

    """
    total = sum(isinstance(block, Question) for block in blocks)
    missed: list[Question] = []
    guessed = number = 0
    for at, block in enumerate(blocks):
        if isinstance(block, Question):
            number += 1
            print_question(out, number, total, block)
            guess = _guess(out, block, ask)
            right = _held(out, block, guess, shelf)
            _differs(out, block, elsewhere)
            guessed += guess is not None
            if guess is not None and not right:
                missed.append(block)
            if at + 1 < len(blocks):
                _go_on(out, ask)
                out.print()
        elif isinstance(block, Try):
            print_try(out, block)
        else:
            print_view(out, block)
    _differences(out, blocks, elsewhere)
    _farewell(out, guessed, missed)


def _typed(ask: Callable[[str], str], prompt: str) -> str:
    try:
        text = ask(prompt).strip()
    except EOFError as error:
        raise Leave from error
    if text.lower() in ("q", "quit", "exit"):
        raise Leave
    return text


def _guess(out: Console, question: Question, ask: Callable[[str], str]) -> Guess | None:
    """A guess, however many attempts it takes; None where the person would rather see the answer."""
    asked = f"Your guess, {wanted(question)}.{allowed(question)} Enter twice shows the answer, ? hints, q leaves."
    say(out, asked, style="dim", gap=False)
    passing = False
    while True:
        text = _typed(ask, " > ")
        if not text and passing:
            out.print()
            return None
        passing = not text
        if passing:
            say(out, "Enter again shows the answer.", gap=False)
        elif text == "?":
            say(out, question.hint or "No hint here.", gap=False)
        else:
            found = read_guess(question, text)
            if isinstance(found, Guess):
                out.print()
                return found
            say(out, f"That is no guess I can hold against the trace: {found.why}.", gap=False)
            say(out, f"Type {wanted(question)}, or Enter twice for the answer.", gap=False)


def _go_on(out: Console, ask: Callable[[str], str]) -> None:
    while _typed(ask, " Enter goes on. "):
        say(out, "Nothing is asked yet: the next question comes after Enter. q leaves.", gap=False)


def _held(out: Console, question: Question, guess: Guess | None, shelf: Shelf) -> bool:
    """Open the trace, then say how the guess holds; gives whether it was right."""
    for view in question.look:
        print_view(out, view)
    right = False
    if guess is None:
        print_answer(out, question)
    else:
        verdict, text = judged(question, guess)
        right = verdict != "wrong"
        say(out, text, style="bold green" if right else "bold yellow")
        if verdict == "wrong":
            _mismatch(out, question, guess, shelf)
    for view in question.because:
        print_view(out, view)
    return right


def _mismatch(out: Console, question: Question, guess: Guess, shelf: Shelf) -> None:
    """Why many guess that, and what `foretrace check` says of it."""
    near = next((near.text for near in question.near if near.guess == guess.value), "")
    if near:
        say(out, near)
    recorded = shelf.get(question.recording) if question.recording else None
    if recorded is None or isinstance(question.answer, Choice):
        return
    from foretrace.predictions import check  # noqa: PLC0415 - only where a guess missed

    expected = f"{question.metric} == {guess.value:.0f}"
    try:
        outcome = check(recorded.trace, expected)[0]
    except ForetraceError:
        return  # no guess ends a lesson, and the answer has been given
    if outcome.outcome == "hit":
        return
    # Which finding goes with it is left out: what it is about may be asked next.
    told = f'`foretrace check --expect "{expected}"` calls that a {outcome.outcome}: found {outcome.found}.'
    say(out, told, style="dim")


def _differs(out: Console, question: Question, elsewhere: Elsewhere | None) -> None:
    if elsewhere is None:
        return
    there = elsewhere.answers.get(question.key)
    if there is not None and there != question.answer.text:
        say(out, f"On {elsewhere.device} the answer was: {there}.", style="yellow")


def _differences(out: Console, blocks: Sequence[Block], elsewhere: Elsewhere | None) -> None:
    """All answers that differ, and those that only one side has."""
    if elsewhere is None:
        return
    here = {each.key: each for each in blocks if isinstance(each, Question)}
    lines = [
        f"{question.about}: {question.answer.text}; there {elsewhere.answers[key]}"
        for key, question in here.items()
        if elsewhere.answers.get(key, question.answer.text) != question.answer.text
    ]
    lacking = [key for key in elsewhere.answers if key not in here]
    if not lines and not lacking:
        print_view(out, Prose(f"Every answer is the same as on {elsewhere.device}."))
        return
    say(out, f"Where this differs from {elsewhere.device}:", style="bold", gap=False)
    for line in lines:
        say(out, f"- {line}", indent=3, gap=False)
    if lacking:
        say(out, f"- no such question here: {', '.join(lacking)}", indent=3, gap=False)
    out.print()


def _farewell(out: Console, guessed: int, missed: Sequence[Question]) -> None:
    if not guessed:
        return
    kept = guessed - len(missed)
    again = f" Worth another look: {'; '.join(question.about for question in missed)}." if missed else ""
    say(out, f"{kept} of {count_text(guessed, 'guess', 'guesses')} held.{again}", style="dim")
