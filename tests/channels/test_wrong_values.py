"""What a person is told of a value of a wrong form: for each field of each channel, its own validator's reason."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hub.config.check import check
from hub.core.json_schema import to_json_schema
from hub.core.schema import SchemaError, each_error
from hub.core.secret import Secret, SecretText
from hub.integration.catalog import find
from hub.integration.schemas import schemas
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS
from hub.sections import all_sections
from tests.channels.test_account_fields import CHANNELS

WRONG = ("\u20ac wr0ng of-form", "7 wr0ng of-form" * 400, "77777777")
"""Texts that most fields refuse; none is part of what an error says."""
AT_ONCE = 6


def reason_of(schema: Any, name: str, value: Any) -> str | None:
    """Return what a field's validator says of a value, without the value; None if it takes it."""
    try:
        schema([{name: value}])
    except SchemaError as error:
        said = [str(each.msg) for each in each_error(error) if [str(part) for part in each.path] == ["0", name]]
        return said[0].partition(", got ")[0] if said else None
    return None


def parts_of(reason: str) -> list[str]:
    """Return what of a reason must be told: of a choice, each of its values."""
    return re.findall("'([^']+)'", reason) if reason.startswith("value must be one of") else [reason]


def refused(channel: str) -> dict[str, tuple[str, str]]:
    """Return each field of a channel with a text that it refuses, and its reason; not those that take any text."""
    schema = import_module(f"integrations.channels.{channel}.schema").CONFIG_SCHEMA
    (fields,) = (each["items"]["properties"] for each in to_json_schema(schema)["anyOf"] if each.get("type") == "array")
    shared = {str(key) for key in {**ACCESS_KEYS, **OUTBOUND_KEYS}}
    found = {}
    for name, field in fields.items():
        if name in shared or field.get("type") in ("array", "object"):
            continue
        for text in WRONG:
            reason = reason_of(schema, name, (Secret if field.get("writeOnly") else SecretText)(text))
            if reason is not None and not reason.startswith("expected a secret, best"):
                found[name] = (text, reason)
                break
    return found


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("written", ["by name", "in place"])
def test_a_wrong_value_is_told_by_its_validators_reason_and_never_shown(
    channel: str, written: str, tmp_path: Path
) -> None:
    sections = all_sections(schemas(find(tmp_path)))
    fields = list(refused(channel).items())

    for start in range(0, len(fields), AT_ONCE):
        some = dict(fields[start : start + AT_ONCE])
        texts = {name: f'"{text}"' for name, (text, _) in some.items()}
        lines = [f"    {name}: {f'!secret {name}' if written == 'by name' else texts[name]}\n" for name in some]
        (tmp_path / "configuration.yaml").write_text(f"{channel}:\n  -\n{''.join(lines)}", encoding="utf-8")
        (tmp_path / "secrets.yaml").write_text("".join(f"{name}: {text}\n" for name, text in texts.items()))

        told = {error.path: error for error in check(tmp_path, sections, environment={}).errors}

        for line, (name, (text, reason)) in enumerate(some.items(), 3):
            error = told[f"{channel}[0].{name}"]
            assert (error.file, error.line) == ("configuration.yaml", line)
            assert [part for part in parts_of(reason) if part not in error.message] == [], error
            if written == "by name":
                assert f"!secret {name} is not valid here" in error.message
                assert error.hint == "change it in secrets.yaml"
                assert text[:6] not in str(error)
