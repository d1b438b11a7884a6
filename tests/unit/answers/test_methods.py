from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from typing import Any

from helpers.rich_experiment import write_rich_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.report.page import render
from regatta.answers.spine.methods import method_name

#: modules with constants that are methods
_STATISTICS = (
    "anova", "bca", "differences", "factorial", "hosts", "median", "overhead", "proportion", "ratios", "stein",
    "suite_mean", "tukey",
)  # fmt: skip


def methods_in(value: Any) -> Iterator[str]:
    """Yield the members `method` of a document."""
    if isinstance(value, dict):
        yield from (item for key, item in value.items() if key == "method" and isinstance(item, str))
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from methods_in(item)


def test_every_method_of_the_statistics_has_a_name() -> None:
    modules = [importlib.import_module(f"regatta.stats.{name}") for name in _STATISTICS]
    constants = {
        value
        for module in modules
        for name, value in vars(module).items()
        if name.isupper() and name[0] != "_" and isinstance(value, str) and " " not in value
    }
    assert {"paired-log-t", "block-anova", "tukey"} <= constants
    assert [one for one in sorted(constants) if method_name(one) == one] == []


def test_a_page_names_the_methods_of_its_document_in_words(tmp_path) -> None:
    folder = write_rich_experiment(tmp_path)
    for way in ("regatta", "georges2007"):
        answer = answer_experiment(folder, method=way)
        found = set(methods_in(json.loads(json.dumps(document_of(answer))))) - {way, ""}
        shown = re.sub("<script.*?</script>", "", render(answer), flags=re.DOTALL)
        assert len(found) > 2
        assert [one for one in sorted(found) if method_name(one) == one] == []
        assert [one for one in sorted(found) if f">{one}<" in shown or ("-" in one and one in shown)] == []


def test_a_remark_stays_after_the_name() -> None:
    assert method_name("t, log scale") == "Student's t, log scale"
    assert method_name("of another tool") == "of another tool"
