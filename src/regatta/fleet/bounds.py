"""How much a host may send. A host may be broken, or somebody else's: beyond these it is told so, and nothing here fills up."""

from __future__ import annotations

#: of an answer on standard output
MAXIMUM_ANSWER_BYTES = 64 << 20
#: of messages on standard error beside an answer; of these the end is kept
MAXIMUM_TOLD_BYTES = 64 << 20
KEPT_TOLD_BYTES = 65_536
#: of a line of a journal: a record holds two capped outputs and its iterations
LONGEST_LINE_BYTES = 64 << 20
#: of what a runner says of itself
LONGEST_STATE_BYTES = 65_536
#: of a journal file that is fetched whole
LARGEST_JOURNAL_BYTES = 16 << 30
#: of a file that a suite keeps, and of all of them that one segment's end fetches
LARGEST_KEPT_BYTES = 1 << 30
MOST_KEPT_BYTES = 64 << 30
MOST_ATTEMPTS = 100_000
#: lines that are no records, after which no more are read
MOST_REFUSED_LINES = 1000
