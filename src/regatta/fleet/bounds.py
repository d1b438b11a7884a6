"""Limits on data from a host, which may be broken or untrusted. Larger data is refused, so that it cannot fill this machine."""

from __future__ import annotations

#: answer on standard output
MAXIMUM_ANSWER_BYTES = 64 << 20
#: messages on standard error besides an answer; the end is kept
MAXIMUM_TOLD_BYTES = 64 << 20
KEPT_TOLD_BYTES = 65_536
#: line of a journal: a record holds two capped outputs and its iterations
LONGEST_LINE_BYTES = 64 << 20
#: state of a runner
LONGEST_STATE_BYTES = 65_536
#: journal file that is fetched as a whole
LARGEST_JOURNAL_BYTES = 16 << 30
#: one file that a suite keeps, and all files fetched at the end of one segment
LARGEST_KEPT_BYTES = 1 << 30
MOST_KEPT_BYTES = 64 << 30
MOST_ATTEMPTS = 100_000
#: maximum number of invalid lines before reading stops
MOST_REFUSED_LINES = 1000
