"""A call beside the caller's: what it returns or raises arrives where it is asked for."""

import threading

import pytest

from foretrace.trace.beside import Beside


def test_it_runs_in_another_thread_and_hands_over_its_value():
    here = threading.get_ident()
    call = Beside(threading.get_ident)
    assert call.result() != here
    assert call.result() == call.result()


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_what_it_raises_is_raised_where_the_result_is_asked_for(error):
    def fail():
        raise error

    call = Beside(fail)
    call.wait()
    with pytest.raises(type(error)) as raised:
        call.result()
    assert raised.value is error


def test_it_begins_at_once():
    begun, go_on = threading.Event(), threading.Event()

    def wait():
        begun.set()
        return go_on.wait(10)

    call = Beside(wait)
    assert begun.wait(10)
    go_on.set()
    assert call.result() is True
