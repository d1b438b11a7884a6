"""Labels of benchmarks say what they are made of, and nothing in a value blurs that."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from regatta.host.values.benchmark_label import LabelParts, benchmark_label, parts_of_label
from regatta.host.values.template import scalar_text

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,9}", fullmatch=True)
PARAMETERS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True)
VALUES = st.one_of(
    st.text(st.characters(blacklist_characters="\0\n\r", blacklist_categories=("Cs",)), max_size=12),
    st.integers(-1000, 1000),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
)


@given(NAMES, NAMES, NAMES, st.dictionaries(PARAMETERS, VALUES, max_size=4))
def test_a_label_can_be_taken_apart_again(
    suite: str, name: str, size: str, chosen: dict[str, object]
) -> None:
    texts = {key: scalar_text(value) for key, value in chosen.items()}
    assert parts_of_label(benchmark_label(suite, name, size, chosen)) == LabelParts(suite, name, size, texts)


def test_labels_of_old_results_and_of_nothing_have_the_parts_that_they_have() -> None:
    assert parts_of_label("h2") == LabelParts("", "h2", "")
    assert parts_of_label("apps/h2") == LabelParts("apps", "h2", "")
    assert parts_of_label("") == LabelParts("", "", "")
