"""Types of values in specs, registries and suites: names, arguments, exact numbers.

A failed check raises `refusal(expected, fix)`, which `problems` converts to where · expected · got · fix.
"""

from __future__ import annotations

import contextlib
import difflib
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from regatta.host.units import UNITS
from regatta.host.values.levels import CROSSED, FACTORS, PARAMETERS
from regatta.host.values.template import scalar_text
from regatta.spec.yaml_lines import WrittenFloat, WrittenInt, as_plain, as_text

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
NAME_WORDS = "a name (letters, digits and . _ + -, first a letter or digit, at most 64 characters, no `..`)"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
SHA256 = re.compile(r"[0-9a-f]{64}")

#: maximum length of a list or mapping of a spec, and of a range of heap factors
MAX_ITEMS = 1000
#: of parameters and factors
MAX_PARAMETERS = 32

#: default of a key with inner keys: an empty mapping, so that each inner key has its default
LEFT_OUT: Any = {}


class Strict(BaseModel):
    """Base of all models here: a key that is not described is an error, and "5" is not 5."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        # Defaults are written as in a spec.
        validate_default=True,
        # Build only the models that a command reads: this is most of the start-up time.
        defer_build=True,
    )


def refusal(expected: str, fix: str = "", key: str = "") -> PydanticCustomError:
    """Return the error of an invalid value; `key`: the key of a mapping that causes it."""
    return PydanticCustomError("regatta", "{expected}", {"expected": expected, "fix": fix, "key": key})


#: for an empty value, and for the word null
_OF_NULL = "write a value, or put the word in quotes"


def _written(value: Any) -> Any:
    text = as_text(value)
    if text is None:
        raise refusal("a string", _OF_NULL if value is None else "")
    return text


def one_line(text: str) -> str:
    """Reject text that could end an argument or a line of a file early."""
    if "\0" in text or "\n" in text or "\r" in text:
        raise refusal("a string without NUL and line breaks", "remove them")
    return text


def check_name(text: str) -> str:
    """Reject a name that is invalid as a folder name, or that leads out of the folder."""
    if not NAME.fullmatch(text) or ".." in text:
        raise refusal(NAME_WORDS, _suggest_name(text))
    return text


def _suggest_name(text: str) -> str:
    cleaned = re.sub(r"[^A-Za-z0-9._+-]+", "-", text)
    cleaned = re.sub(r"\.\.+", ".", cleaned).strip("-._+")[:64]
    return f"use `{cleaned}`" if NAME.fullmatch(cleaned) else ""


def _check_modifier(text: str) -> str:
    check_name(text)
    if "+" in text or text == "none":
        raise refusal(
            "a name without `+` and not `none` (`a+b` is the name of a set of modifiers, `none` of the empty set)",
            "rename it" + ("; to use no modifiers, write `[]`" if text == "none" else ""),
        )
    return text


def _check_variable(text: str) -> str:
    if not VARIABLE.fullmatch(text):
        raise refusal("a variable name (letters, digits and _, first not a digit)")
    if text.upper().startswith("REGATTA_"):
        raise refusal(
            "a variable name without the prefix REGATTA_, which the workload protocol reserves", "rename it"
        )
    return text


def _check_parameter(text: str) -> str:
    if not PARAMETER.fullmatch(text):
        raise refusal("a parameter name (letters, digits and _, first not a digit)")
    if text in ("runtime", "iterations", "seed", "output"):
        raise refusal(f"a name other than `{text}`, which is reserved in commands", "rename it")
    return text


def _check_factor(text: str) -> str:
    crossed = text.split(CROSSED)
    for one in crossed:
        is_parameter = one.startswith(PARAMETERS) and PARAMETER.fullmatch(one[len(PARAMETERS) :])
        if one not in FACTORS and not is_parameter:
            raise refusal(f"one of {', '.join(FACTORS)}, {PARAMETERS}NAME", _suggest_factor(one))
    if len(set(crossed)) < len(crossed) or (len(crossed) > 1 and "platform" in crossed):
        raise refusal("a crossing of different factors of one host, such as `runtime*collector`")
    return text


def _suggest_factor(text: str) -> str:
    near = difflib.get_close_matches(text, FACTORS, 1)
    return f"use `{near[0]}`" if near else f"use `{PARAMETERS}{text}`" if PARAMETER.fullmatch(text) else ""


def _check_unit(text: str) -> str:
    if text not in UNITS:
        near = difflib.get_close_matches(text, UNITS, 1)
        raise refusal(f"a unit ({', '.join(UNITS)})", f"use `{near[0]}`" if near else "")
    return text


def _check_sha256(text: str) -> str:
    if not SHA256.fullmatch(text):
        lower = text.lower()
        fix = (
            f"use `{lower}`"
            if SHA256.fullmatch(lower)
            else "copy the first word that `sha256sum FILE` prints"
        )
        raise refusal("a SHA-256 (64 hexadecimal digits in lower case)", fix)
    return text


def _check_program(arguments: list[str]) -> list[str]:
    if not arguments:
        raise refusal("a program and its arguments", "write `[program, argument]`")
    if not one_line(arguments[0]):
        raise refusal("a program before the arguments", "write `[program, argument]`")
    if any("\0" in argument for argument in arguments):
        raise refusal("arguments without NUL", "remove it")
    return arguments


def _check_inside(text: str) -> str:
    one_line(text)
    parts = text.split("/")
    if not text or text.startswith("/") or ".." in parts or "\\" in text:
        raise refusal("a relative path without `..`", "remove the leading `/` and every `..`")
    return text


def _check_absolute(text: str) -> str:
    if not one_line(text).startswith("/"):
        raise refusal("an absolute path", "begin with `/`")
    return text


def _check_file_name(text: str) -> str:
    one_line(text)
    if not text or "/" in text or text in (".", ".."):
        raise refusal("a file name without `/`")
    return text


def _check_input(text: str) -> str:
    if not one_line(text).startswith(("/", "{")) and ("/" in text or text in ("", ".", "..")):
        raise refusal(
            "an absolute path, `{input.name}`, `{file.name}`, or a file name in the working directory",
            "begin with `/`",
        )
    return text


def _check_output(text: str) -> str:
    if not one_line(text).startswith("/") and ("/" in text or text in ("", ".", "..")):
        raise refusal("an absolute path, or a file name in the working directory", "begin with `/`")
    return text


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    if not isinstance(value, bool | int | float):
        raise refusal("a string, a number or a boolean", _OF_NULL if value is None else "")
    plain = as_plain(value)
    if isinstance(plain, float) and not (abs(plain) < float("inf")):
        raise refusal("a finite number")
    return plain


def value_text(value: Any) -> str:
    """Return a text that is the same for equal values of a parameter: 1 and 1.0, although a command shows them as written."""
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(float(value))
    return scalar_text(value)


def _is_quoted_number(value: Any) -> bool:
    with contextlib.suppress(ValueError):
        return isinstance(value, str) and math.isfinite(float(value))
    return False


def _decimal(value: Any) -> Any:
    """Return a number as written, so that 0.1 is exactly one tenth."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise refusal("a number", "remove the quotes" if _is_quoted_number(value) else "")
    text = value.text if isinstance(value, WrittenInt | WrittenFloat) else str(value)
    try:
        number = Decimal(int(value)) if isinstance(value, int) else Decimal(text)
    except InvalidOperation:
        raise refusal("a finite number") from None
    if not number.is_finite():
        raise refusal("a finite number")
    if not -6 <= number.adjusted() <= 9 or len(number.as_tuple().digits) > 12:
        if number == 0:
            return Decimal(0)
        raise refusal("a number from 0.000001 to 10,000,000,000 with at most 12 digits")
    return number


def listed(value: Any) -> Any:
    """Convert a single value to a list of one."""
    return value if isinstance(value, list) else [value]


class OneOrList:
    """Describe the input of `listed` in the JSON Schema, for a list of mappings."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        several = handler(schema)
        return {"anyOf": [several["items"], several]}


_TEXT_SCHEMA: dict[str, Any] = {"type": ["string", "number", "boolean"]}
_FACTOR = rf"({'|'.join(FACTORS)}|{re.escape(PARAMETERS)}{PARAMETER.pattern})"
_FACTOR_SCHEMA: dict[str, Any] = {"type": "string", "pattern": rf"^{_FACTOR}(\*{_FACTOR})*$"}
_NAME_SCHEMA: dict[str, Any] = _TEXT_SCHEMA | {"pattern": f"^{NAME.pattern}$"}


def one_or_list(schema: dict[str, Any]) -> WithJsonSchema:
    """Return the schema for input of `listed`."""
    return WithJsonSchema({"anyOf": [schema, {"type": "array", "items": schema}]})


#: text; a plain number or `true` keeps its text
Text = Annotated[str, BeforeValidator(_written), WithJsonSchema(_TEXT_SCHEMA)]
Line = Annotated[Text, AfterValidator(one_line)]
Name = Annotated[Text, AfterValidator(check_name), WithJsonSchema(_NAME_SCHEMA)]
ModifierName = Annotated[Text, AfterValidator(_check_modifier), WithJsonSchema(_NAME_SCHEMA)]
Variable = Annotated[Text, AfterValidator(_check_variable)]
FactorName = Annotated[Text, AfterValidator(_check_factor), WithJsonSchema(_FACTOR_SCHEMA)]
UnitName = Annotated[Text, AfterValidator(_check_unit), WithJsonSchema({"enum": list(UNITS)})]
ParameterName = Annotated[str, AfterValidator(_check_parameter)]
Sha256 = Annotated[Text, AfterValidator(_check_sha256)]
InsidePath = Annotated[Text, AfterValidator(_check_inside)]
AbsolutePath = Annotated[Text, AfterValidator(_check_absolute)]
FileName = Annotated[str, AfterValidator(_check_file_name)]
InputFile = Annotated[Text, AfterValidator(_check_input)]
OutputFile = Annotated[Text, AfterValidator(_check_output)]
#: An argument may have several lines, such as a script after `sh -c`.
Command = Annotated[list[Text], AfterValidator(_check_program), Field(max_length=MAX_ITEMS)]
Flags = Annotated[list[Line], Field(max_length=MAX_ITEMS)]
Environment = dict[Variable, Line]
ScalarValue = Annotated[Any, BeforeValidator(_scalar), WithJsonSchema(_TEXT_SCHEMA)]
Scalars = Annotated[
    list[ScalarValue],
    BeforeValidator(listed),
    Field(min_length=1, max_length=MAX_ITEMS),
    one_or_list(_TEXT_SCHEMA),
]
Exact = Annotated[Decimal, BeforeValidator(_decimal), WithJsonSchema({"type": "number"})]
Names = Annotated[list[Name], BeforeValidator(listed), Field(max_length=MAX_ITEMS), one_or_list(_NAME_SCHEMA)]
ModifierNames = Annotated[
    list[ModifierName], BeforeValidator(listed), Field(max_length=MAX_ITEMS), one_or_list(_NAME_SCHEMA)
]
Lines = Annotated[list[Line], BeforeValidator(listed), Field(max_length=MAX_ITEMS), one_or_list(_TEXT_SCHEMA)]
