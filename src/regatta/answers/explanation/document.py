"""The explanation as JSON, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regatta.answers.explanation.result import Explanation
from regatta.answers.explanation.words import headline, notes
from regatta.answers.kit.plain import plain


def explanation_document(found: Sequence[Explanation]) -> dict[str, Any]:
    """Return explanations, one per host, as JSON values, without their stacks; NaN becomes null."""
    return {
        "explanations": [
            {
                "headline": headline(one),
                **{key: value for key, value in plain(one).items() if key != "stacks"},
                "notes": notes(one),
            }
            for one in found
        ]
    }
