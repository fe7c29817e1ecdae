"""A lesson in a real terminal, with somebody who types."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import time
import uuid

import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

PATIENCE_S = 60


class Terminal:
    """A tmux session of its own server, 80 columns wide."""

    def __init__(self, command: str, columns: int = 80) -> None:
        self.socket = f"foretrace-{uuid.uuid4().hex[:8]}"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", "500", command)
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    def _tmux(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-L", self.socket, *words], capture_output=True, text=True, check=True, timeout=20
        ).stdout

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-S", "-")

    def type(self, text: str) -> None:
        if text:
            self._tmux("send-keys", "-l", text)
        self._tmux("send-keys", "Enter")

    def wait(self, what: str, times: int = 1) -> str:
        """The screen, once it shows something so many times."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            screen = self.screen()
            if len(re.findall(what, screen)) >= times:
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{what!r} did not appear {times} times:\n{self.screen()}")

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True, check=False, timeout=20)


@pytest.fixture
def terminal():
    opened: list[Terminal] = []

    def open_terminal(*words: str, columns: int = 80) -> Terminal:
        command = shlex.join([sys.executable, "-m", "foretrace", "learn", *words])
        # The shell outlives Ctrl-C and stays until it is killed, so that the last screen can be read.
        opened.append(Terminal(f"trap : INT; {command}; echo left with $?; sleep 600", columns))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


def test_right_wrong_and_nonsense_guesses_in_a_real_terminal(terminal):
    screen = terminal("attention")
    before = screen.wait(r"Question 1 of")
    assert "launched by" not in before, "the trace is shown before the guess"
    screen.wait(r"\n >")
    screen.type("purple")
    screen.wait("there is no number in it")
    screen.type("7e99")
    screen.wait("that is larger than anything")
    screen.type("?")
    screen.wait("ask of each line whether it computes")
    screen.type("")
    screen.wait("Enter again shows the answer")
    screen.type("6")
    shown = screen.wait("Enter goes on")
    assert "You said 6; the trace says 5." in shown
    assert "elementwise: mul" in shown
    screen.type("masked_fill")
    screen.wait("Nothing is asked yet")
    screen.type("")
    screen.wait(r"Question 2 of")
    screen.type("3) masked_fill")
    shown = screen.wait("Right: aten::masked_fill")
    assert "GPU" in shown
    screen.wait("Enter goes on", 3)
    screen.type("")
    screen.wait(r"Question 3 of")
    screen.type("q")
    last = screen.wait("left with 0")
    assert "begins it again" in last


def test_control_c_and_end_of_input_leave_without_a_traceback(terminal):
    screen = terminal("math")
    screen.wait(r"\n >")
    screen._tmux("send-keys", "C-c")
    assert "Traceback" not in screen.wait("left with")
    other = terminal("math")
    other.wait(r"\n >")
    other._tmux("send-keys", "C-d")
    assert "begins it again" in other.wait("left with 0")


def test_no_line_is_wider_than_the_terminal(terminal):
    screen = terminal("math", "--answers", columns=80)
    shown = screen.wait("left with 0")
    # A line that was too wide is broken by the terminal, and drawings would fall apart.
    gpu = [line for line in shown.splitlines() if line.startswith(" GPU")]
    assert gpu
    for line in gpu:
        assert line[9] in "a·"
    assert "╵" in shown
