"""The starter configuration, the sections of the real hub, and the JSON Schema of all of it."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hub.config.check import check
from hub.config.document import whole_schema
from hub.config.loader import load
from hub.config.marks import plain
from hub.config.seed import local_time_zone, seed
from hub.integration.catalog import find
from hub.integration.schemas import schemas
from hub.sections import all_sections, core_sections, needed_domains

DESIGN = """
hub: {name: Home, time_zone: Europe/Berlin, language: en}
people:
  - {id: me, name: Me, owner: true, identities: ["telegram:user:123456789"]}
http: {host: 127.0.0.1, port: 18789, auth: {mode: token}}
session: {dm_scope: auto}
models:
  default: auto
  aliases: {opus: anthropic/claude-opus-4-6}
  fallbacks: [openai/gpt-5-mini]
  providers:
    anthropic: {api_key: !secret anthropic_key}
    my_server: {api: openai, base_url: "http://127.0.0.1:8000/v1", models: [{id: qwen3, context_window: 32768}]}
agents:
  - {id: main, default: true, model: auto, workspace: workspace, tools: {profile: full, deny: [browser]}}
bindings:
  - {agent: main, match: {channel: telegram, account: default}}
"""


def test_the_starter_configuration_is_valid_without_any_key(tmp_path: Path) -> None:
    seed(tmp_path)

    checked = check(tmp_path, all_sections(schemas(find(tmp_path))), environment={})

    assert checked.as_dict() == {"valid": True, "errors": [], "warnings": []}
    assert checked.config["http"]["port"] == 18789
    assert not checked.config.recovery


def test_an_empty_configuration_is_valid_too(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text("")

    checked = check(tmp_path, all_sections(), environment={})

    assert checked.errors == []
    assert checked.config["http"]["host"] == "127.0.0.1"


def test_the_configuration_of_the_design_is_valid(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text(DESIGN)
    (tmp_path / "secrets.yaml").write_text("anthropic_key: sk-ant-0123456789\n")

    checked = check(tmp_path, all_sections(schemas(find(tmp_path))), environment={})

    assert [str(error) for error in checked.errors] == []


def test_seeding_writes_private_files_and_the_time_zone_and_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "secrets.yaml").write_text("mine: yes\n")

    written = seed(tmp_path, zone="Europe/Berlin")
    again = seed(tmp_path, zone="Asia/Tokyo")

    assert written == ["automations.yaml", "configuration.yaml", "scripts.yaml"]
    assert again == []
    assert (tmp_path / "secrets.yaml").read_text() == "mine: yes\n"
    assert "  time_zone: Europe/Berlin\n" in (tmp_path / "configuration.yaml").read_text()
    assert stat.S_IMODE((tmp_path / "configuration.yaml").stat().st_mode) == 0o600


def test_the_time_zone_of_this_machine_is_one() -> None:
    assert ZoneInfo(local_time_zone()).key == local_time_zone()


def test_the_schema_of_everything_is_json_schema_and_accepts_the_starter_configuration(tmp_path: Path) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    seed(tmp_path)
    schema = whole_schema(all_sections(schemas(find(tmp_path))))

    validator.check_schema(schema)
    starter = plain(load(tmp_path).data)

    assert list(validator(schema).iter_errors(starter)) == []
    assert [each.message for each in validator(schema).iter_errors({"http": {"port": "x"}})] != []


def test_every_key_of_the_core_sections_is_described() -> None:
    undescribed = [section.name for section in core_sections() if not section.description]

    assert undescribed == []


def test_sections_are_known_without_the_network_stack() -> None:
    code = "import sys, hub.sections; print([n for n in ('aiohttp', 'watchfiles', 'litellm') if n in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_providers_need_the_integrations_that_speak_their_api(tmp_path: Path) -> None:
    models = {"providers": {"mine": {"api": "openai", "base_url": "http://x/v1"}, "cloud": {"api": "bedrock"}}}

    assert {"openai_compatible", "litellm"} <= needed_domains({"models": models}, find(None), {})
    assert "litellm" not in needed_domains({"models": {"providers": {}}}, find(None), {})
    assert needed_domains({}, find(None), {}) == set()
