"""The fields of accounts: every channel's credentials are secrets, and each account has its name."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

import integrations.channels
from hub.config.checked import Config
from hub.core.json_schema import to_json_schema
from hub.core.schema import Invalid, Schema
from hub.messaging.account_fields import OneWay, Way, account_form
from hub.messaging.schema import ACCESS_KEYS, CROSS_CHECKS

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


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_channel_is_set_up_by_one_of_its_ways(channel: str) -> None:
    form = account_form(import_module(f"integrations.channels.{channel}.schema").CONFIG_SCHEMA)
    fields = {field["name"]: field for field in form.fields}
    ways = [Way(way["label"], tuple(way["needs"]), tuple(way["may"])) for way in form.ways]
    one_way = OneWay(*ways)

    assert all(fields[name]["asked"] for way in ways for name in way.needs)
    for way in ways:
        given: dict[str, Any] = dict.fromkeys(way.fields, "given")
        assert one_way(given) is given
        for other in (each for each in ways if each is not way and each.needs and way.needs):
            with pytest.raises(Invalid):
                one_way(given | dict.fromkeys(other.needs, "given"))
            for name in other.may:
                with pytest.raises(Invalid):
                    one_way(given | {name: "given"})
    if ways and all(way.needs for way in ways):
        with pytest.raises(Invalid):
            one_way({})


class Report:
    """Keeps what is wrong."""

    def __init__(self) -> None:
        self.errors: list[tuple[tuple[Any, ...], str]] = []

    def error(self, keys: Iterable[Any], message: str, hint: str = "") -> None:
        self.errors.append((tuple(keys), message))

    def warning(self, keys: Iterable[Any], message: str, hint: str = "") -> None:
        raise AssertionError(message)


def test_two_accounts_of_a_channel_with_one_name_are_an_error() -> None:
    access = Schema(dict(ACCESS_KEYS))({})
    home, work = ({"account": name, **access} for name in ("home", "work"))
    report = Report()

    CROSS_CHECKS["names of accounts"](cast(Config, {"one": [home, work, home], "another": [home]}), report)

    assert report.errors == [(("one", 2, "account"), "there is another account called 'home'")]
