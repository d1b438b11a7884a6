"""What `regatta time` adds to its answer."""

from __future__ import annotations

from dataclasses import replace

from helpers.golden import Golden
from helpers.synthetic_answers import java_answer
from regatta.answers.topics.stopping.compute import StoppedGroup, StoppedPair
from regatta.cli.time_answer import undecided_words

OPEN = StoppedPair("b", "a", "", 17, 0.1, 17, 6.0, "hopeless", "undecided", 240)
GROUP = StoppedGroup(
    "local", "command", "decide", 2.0, 5, 30, 17, 17, 26, 6.0, False, (), (OPEN,), OPEN.reason, ""
)


def test_an_undecided_comparison_says_how_many_runs_would_be_enough(golden: Golden) -> None:
    clear = replace(OPEN, outcome="less", expected=None)
    # Modes or dependence: no number is known to be enough.
    unknown = replace(OPEN, expected=None)
    answer = replace(
        java_answer(),
        topics={"stopping": (replace(GROUP, pairs=(clear, OPEN)), replace(GROUP, pairs=(unknown,)))},
    )
    (line,) = undecided_words(answer)
    golden("enough", line)
    assert undecided_words(java_answer()) == []
