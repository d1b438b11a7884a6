"""The reference and the editors' schema say what the models say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from regatta.cli.schema import schema
from regatta.host.adapters import ADAPTERS
from regatta.spec.flow import flow_yaml
from regatta.spec.schema_docs import KINDS, schema_of, spec_markdown
from regatta.spec.suite_schema import KNOWN_ADAPTERS
from regatta.spec.yaml_lines import parse_yaml, read_yaml

ROOT = Path(__file__).resolve().parents[3]
FILES = [
    *(("spec", path) for path in sorted((ROOT / "configs/experiments").glob("*.yml"))),
    *(("suite", path) for path in sorted((ROOT / "configs/suites").glob("*.yml"))),
    *(("reference", path) for path in sorted((ROOT / "configs/suites/reference").glob("*.yml"))),
    *(("minheap", path) for path in sorted((ROOT / "configs/suites/minheap").glob("*.yml"))),
    ("runtimes", ROOT / "configs/runtimes.yml"),
    ("collectors", ROOT / "configs/collectors.yml"),
    ("modifiers", ROOT / "configs/modifiers.yml"),
]


def models(model: type[BaseModel]) -> set[type[BaseModel]]:
    from regatta.spec.schema_docs import _models

    found = {model}
    for field in model.model_fields.values():
        for _, inner in _models(field.annotation):
            found |= models(inner)
    return found


def test_the_committed_reference_is_what_the_schema_makes() -> None:
    committed = (ROOT / "docs/spec.md").read_text(encoding="utf-8")
    assert committed == spec_markdown(), "run: regatta schema --markdown > docs/spec.md"


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_has_a_description(kind: Any) -> None:
    for model in models(KINDS[kind]):
        assert model.__doc__
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_schema_is_json_schema_with_only_known_keys(kind: Any) -> None:
    made = schema_of(kind)
    jsonschema.Draft202012Validator.check_schema(made)
    assert made["additionalProperties"] is False


@pytest.mark.parametrize(("kind", "path"), FILES, ids=[path.stem for _, path in FILES])
def test_the_files_of_the_repository_fit_their_schema(kind: Any, path: Path) -> None:
    jsonschema.Draft202012Validator(schema_of(kind)).validate(read_yaml(path).value)


def test_the_schema_tells_editors_of_mistakes() -> None:
    validator = jsonschema.Draft202012Validator(schema_of("spec"))
    right = {"name": "x", "benchmarks": [{"suite": "s", "benchmark": "b"}], "invocations": {"fixed": 1}}
    assert validator.is_valid(right)
    assert validator.is_valid(
        right | {"heap": {"factors": {"from": 1, "to": 6, "step": 0.25}}, "runtimes": "jdk"}
    )
    for wrong in (
        {"name": "../x"},
        {"sede": 1},
        {"order": "random"},
        {"heap": {"factors": "x"}},
        {"seed": -1},
    ):
        assert not validator.is_valid(right | wrong), wrong


def test_every_example_fits_its_key() -> None:
    for kind in KINDS:
        made = schema_of(kind)
        defs = {"$defs": made.get("$defs", {})}
        owners = [made, *defs["$defs"].values()]
        for owner in owners:
            for key, value in owner.get("properties", {}).items():
                for shown in value.get("examples", []):
                    jsonschema.Draft202012Validator(value | defs).validate(shown)
                    assert parse_yaml(flow_yaml(shown).encode(), key).value == shown


def test_the_known_adapters_are_those_that_exist() -> None:
    assert set(KNOWN_ADAPTERS) == set(ADAPTERS)


def test_the_command_prints_each_schema_and_the_reference() -> None:
    for kind in KINDS:
        result = CliRunner().invoke(schema, ["--kind", kind])
        assert result.exit_code == 0
        assert json.loads(result.stdout) == schema_of(kind)
    assert CliRunner().invoke(schema, ["--markdown"]).stdout == spec_markdown()
    assert CliRunner().invoke(schema, ["--kind", "nothing"]).exit_code == 2
