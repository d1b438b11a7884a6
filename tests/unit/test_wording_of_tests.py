"""A sentence of the product stands in its source and in a golden file, not in the code of tests (helpers/golden.py)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).parents[1]
#: so many words are a sentence; fewer name what a message is about
SENTENCE = 5
FILES = sorted(TESTS.rglob("test_*.py"))


def expectations(tree: ast.AST) -> Iterator[ast.expr]:
    """What asserts compare, and what `pytest.raises` must match."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield node.test
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "raises"
        ):
            yield from (word.value for word in node.keywords if word.arg == "match")


def sentences(source: str) -> list[str]:
    """Texts of SENTENCE words or more in expectations."""
    constants = (part for whole in expectations(ast.parse(source)) for part in ast.walk(whole))
    texts = (
        part.value for part in constants if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    return [text for text in texts if sum(any(map(str.isalpha, word)) for word in text.split()) >= SENTENCE]


@pytest.mark.parametrize("file", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_test_holds_a_sentence(file: Path) -> None:
    assert sentences(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "file", sorted(TESTS.rglob("golden.yml")), ids=lambda path: str(path.relative_to(TESTS))
)
def test_no_golden_file_has_texts_of_a_module_that_is_gone(file: Path) -> None:
    modules = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert [
        name for name, texts in modules.items() if not texts or not file.with_name(f"{name}.py").is_file()
    ] == []


def test_sentences_are_found() -> None:
    sentence, name = " ".join("abcde"), " ".join("abcd")
    source = f"assert {sentence!r} in text\nwith raises(E, match={name!r}): pass\nwith p.raises(E, match={sentence!r}): pass"
    assert sentences(source) == [sentence, sentence]
    assert sentences(f"assert {name + ' 1 2'!r} == text, {sentence!r}") == []
