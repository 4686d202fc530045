"""What is asked when an account is added: every channel's credentials are secrets."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import integrations.channels
from hub.core.json_schema import to_json_schema

CHANNELS = sorted(
    path.name
    for path in Path(integrations.channels.__path__[0]).iterdir()
    if (path / "manifest.json").is_file() and path.name != "webchat"
)


@pytest.mark.parametrize("channel", CHANNELS)
def test_credentials_of_a_channel_are_secrets(channel: str) -> None:
    schema = to_json_schema(import_module(f"integrations.channels.{channel}.schema").CONFIG_SCHEMA)
    (fields,) = (each["items"]["properties"] for each in schema["anyOf"] if each.get("type") == "array")

    named = {name for name in fields if name.endswith(("token", "secret", "password"))}
    assert {name for name, field in fields.items() if field.get("writeOnly")} >= named
