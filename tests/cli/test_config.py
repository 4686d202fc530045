"""`homarus config` without a hub: values, edits that keep comments, history."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.terminal import Terminal


def configuration(home: Path) -> str:
    return (home / "configuration.yaml").read_text(encoding="utf-8")


def test_a_value_is_printed_as_it_is(type_: Terminal) -> None:
    assert type_("config", "get", "http.port").out == "18789\n"
    assert type_("config", "get", "hub.time_zone").out == "Europe/Berlin\n"
    assert type_("config", "get", "agents[0].default").out == "true\n"


def test_what_is_not_written_has_its_default(type_: Terminal) -> None:
    ran = type_("config", "get", "session.dm_scope", "--json")

    assert ran.json == "auto"


def test_a_mapping_is_printed_as_yaml(type_: Terminal) -> None:
    ran = type_("config", "get", "http.auth")

    assert "mode: token" in ran.out.splitlines()


def test_secrets_are_shown_by_name(type_: Terminal) -> None:
    (type_.home / "secrets.yaml").write_text("a_key: sesame-open-now\n", encoding="utf-8")
    (type_.home / "configuration.yaml").write_text(
        "models: {providers: {openai: {api_key: !secret a_key}, xai: {api_key: plain-and-written}}}\n", encoding="utf-8"
    )

    ran = type_("config", "get", "models.providers")

    assert "!secret a_key" in ran.out
    assert "sesame" not in ran.out
    assert "plain-and-written" not in ran.out


@pytest.mark.parametrize(
    ("path", "hint"), [("http.prot", "Did you mean port?"), ("nothing.here", ""), ("people[7]", "")]
)
def test_what_is_not_there_is_said_to_be_missing(type_: Terminal, path: str, hint: str) -> None:
    ran = type_("config", "get", path)

    assert ran.code == 1
    assert "is not set" in ran.err
    assert hint in ran.err


def test_a_broken_section_has_no_value(type_: Terminal) -> None:
    (type_.home / "configuration.yaml").write_text("http: {port: x}\n", encoding="utf-8")

    ran = type_("config", "get", "http.host")

    assert ran.code == 3
    assert "http.port" in ran.err


@pytest.mark.parametrize("command", [["get"], ["get", "hub.name"], ["set", "hub.name", "House"]])
def test_a_file_that_cannot_be_read_is_left_to_a_person(type_: Terminal, command: list[str]) -> None:
    (type_.home / "configuration.yaml").write_text("hub: [\n", encoding="utf-8")

    ran = type_("config", *command)

    assert ran.code == 3
    assert "configuration.yaml:" in ran.err
    assert configuration(type_.home) == "hub: [\n"


def test_setting_a_value_changes_nothing_else(type_: Terminal) -> None:
    before = configuration(type_.home)

    ran = type_("config", "set", "http.port", "8080")

    assert ran.code == 0
    assert configuration(type_.home) == before.replace("port: 18789", "port: 8080")
    assert type_("config", "get", "http.port").out == "8080\n"


def test_a_secret_is_set_by_its_name(type_: Terminal) -> None:
    (type_.home / "secrets.yaml").write_text("anthropic_key: sesame-open-now\n", encoding="utf-8")

    ran = type_("config", "set", "models.providers.anthropic", "{api_key: !secret anthropic_key}")

    assert ran.code == 0
    assert "api_key: !secret anthropic_key" in configuration(type_.home)
    assert type_("check").code == 0


def test_what_would_not_be_valid_is_refused_and_nothing_is_written(type_: Terminal) -> None:
    before = configuration(type_.home)

    ran = type_("config", "set", "http.port", "99999", "--json")

    assert ran.code == 3
    assert ran.json["error"]["errors"][0]["path"] == "http.port"
    assert configuration(type_.home) == before
    assert type_("config", "history", "--json").json == []


def test_a_mistake_that_was_there_before_does_not_stop_another_change(type_: Terminal) -> None:
    with (type_.home / "configuration.yaml").open("a", encoding="utf-8") as file:
        file.write("\nsession: {dm_scope: everyone}\n")

    ran = type_("config", "set", "hub.name", "House")

    assert ran.code == 0
    assert "Still wrong: configuration.yaml" in ran.err


def test_a_value_in_an_included_file_is_set_there(type_: Terminal) -> None:
    (type_.home / "session.yaml").write_text("dm_scope: main  # mine\n", encoding="utf-8")
    with (type_.home / "configuration.yaml").open("a", encoding="utf-8") as file:
        file.write("\nsession: !include session.yaml\n")

    ran = type_("config", "set", "session.dm_scope", "per-peer")

    assert ran.code == 0
    assert "in session.yaml" in ran.out
    assert (type_.home / "session.yaml").read_text(encoding="utf-8") == "dm_scope: per-peer  # mine\n"


def test_earlier_versions_are_listed_compared_and_restored(type_: Terminal) -> None:
    first = configuration(type_.home)
    type_("config", "set", "hub.name", "House")
    type_("config", "set", "hub.name", "Castle")

    listed = type_("config", "history", "--json").json
    diff = type_("config", "history", "configuration.yaml", "--diff", "2")
    restored = type_("config", "history", "--restore", "2")

    assert len(listed) == 2
    assert "-  name: Home" in diff.out
    assert "+  name: Castle" in diff.out
    assert restored.code == 0
    assert configuration(type_.home) == first
    assert len(type_("config", "history", "--json").json) == 3


def test_a_version_is_found_by_its_id_too(type_: Terminal) -> None:
    type_("config", "set", "hub.name", "House")
    (version,) = type_("config", "history", "--json").json

    ran = type_("config", "history", "--diff", version["id"], "--json")

    assert ran.json["version"] == version
    assert "+  name: House" in ran.json["diff"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--diff", "1"], 1),
        (["--restore", "nonsense"], 1),
        (["--diff", "1", "--restore", "1"], 2),
        (["../outside.yaml", "--diff", "1"], 1),
    ],
)
def test_a_version_that_is_not_there_cannot_be_used(type_: Terminal, arguments: list[str], code: int) -> None:
    assert type_("config", "history", *arguments).code == code


def test_the_schema_knows_integrations_of_ones_own(type_: Terminal) -> None:
    folder = type_.home / "custom_integrations" / "doorbell"
    folder.mkdir(parents=True)
    manifest = '{"domain": "doorbell", "name": "Doorbell", "kind": "tool", "version": "1.0.0"}'
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    (folder / "__init__.py").write_text("", encoding="utf-8")

    schema = type_("config", "schema").json

    assert {"hub", "http", "doorbell"} <= schema["properties"].keys()
    assert "### doorbell" in type_("config", "reference").out


@pytest.mark.parametrize("command", [["get"], ["set", "hub.name", "x"], ["history"]])
def test_without_a_home_it_says_so_and_makes_none(type_: Terminal, tmp_path: Path, command: list[str]) -> None:
    ran = type_("config", *command, "--config", str(tmp_path / "none"))

    assert ran.code == 3
    assert str(tmp_path / "none") in ran.err
    assert not (tmp_path / "none").exists()
