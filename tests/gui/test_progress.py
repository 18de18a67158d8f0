# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a command is, and that Ctrl-C is never lost."""

import contextlib
import gc
import signal

import pytest

from bacsim_gui.progress import Progress, in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (89, "89 s"), (95, "2 min"), (3000, "50 min"), (7500, "2 h 5 min")],
)
def test_durations_are_for_people(seconds, words):
    assert in_words(seconds) == words


def test_ctrl_c_interrupts_at_once_and_the_old_handler_comes_back():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Progress():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_in_a_callback_of_the_collector_is_raised_afterwards():
    def callback(*_):
        gc.callbacks.remove(callback)
        signal.raise_signal(signal.SIGINT)

    with Progress() as progress:
        progress.update(0.1, "working")
        gc.callbacks.append(callback)
        with contextlib.suppress(KeyboardInterrupt):
            gc.collect()
        with pytest.raises(KeyboardInterrupt):
            progress.update(0.2, "working")


def test_lines_where_there_is_no_terminal(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("bacsim_gui.progress.time.monotonic", lambda: now[0])
    with Progress() as progress:
        now[0] = 5.0
        progress.begin()
        for now[0], share in ((14.0, 0.1), (15.0, 0.2), (26.0, 0.5), (27.0, 0.6)):
            progress.update(share, "drawing")
    said = capsys.readouterr().err.splitlines()
    assert said == [" 10%  drawing, about 81 s left", " 50%  drawing, about 21 s left"]
