"""The `models:` section and the agents' models as `homarus check` sees them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub.config.check import Checked, check
from hub.core.json_schema import to_json_schema
from hub.integration.catalog import find
from hub.integration.schemas import IntegrationSchemas
from hub.models.schema import PLACES, model_ref
from hub.sections import all_sections

ROOT = """\
models:
  default: anthropic/claude-sonnet-5-5
  fallbacks: [offline/homarus]
  providers:
    anthropic: {api_key: !secret anthropic_key}
    mine: {base_url: "http://127.0.0.1:8000/v1", models: [{id: small}]}
"""


def checked(home: Path, text: str) -> Checked:
    (home / "configuration.yaml").write_text(text, encoding="utf-8")
    return check(home, all_sections())


def test_a_missing_secret_disables_its_provider_alone(tmp_path: Path) -> None:
    found = checked(tmp_path, ROOT)

    assert [(error.line, error.path) for error in found.errors] == [(5, "models.providers.anthropic.api_key")]
    assert not found.config.recovery
    assert list(found.config["models"]["providers"]) == ["mine"]


def test_a_wrong_key_of_a_provider_disables_it_alone(tmp_path: Path) -> None:
    found = checked(tmp_path, ROOT.replace("{api_key: !secret anthropic_key}", "{base_url: 5}"))

    assert [error.path for error in found.errors] == ["models.providers.anthropic.base_url"]
    assert list(found.config["models"]["providers"]) == ["mine"]


def test_what_is_wrong_beside_the_providers_is_recovery_mode(tmp_path: Path) -> None:
    assert checked(tmp_path, ROOT.replace("[offline/homarus]", "7")).config.recovery


@pytest.mark.parametrize(
    ("model", "warned"), [("nosuch/model-x", True), ("mine/small", False), ("openai/gpt-x", False), ("auto", False)]
)
def test_the_model_of_an_agent_is_looked_up(tmp_path: Path, model: str, warned: bool) -> None:
    found = checked(tmp_path, f"agents:\n  - {{id: main, model: {model}}}\n{ROOT}")

    assert ([each.path for each in found.warnings] == ["agents[0].model"]) is warned


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("agents: [{id: main, model: nosuch/model-x}]\n", "agents[0].model", 1),
        ("agents:\n  - id: main\n    subagents: {model: nosuch/x}\n", "agents[0].subagents.model", 3),
        ("budgets:\n  - {per: day, calls: 5, then: degrade, model: nosuch/x}\n", "budgets[0].model", 2),
        ("tools: {image_model: nosuch/x}\n", "tools.image_model", 1),
        ("messages:\n  media: {transcription_model: nosuch/x}\n", "messages.media.transcription_model", 2),
        ("speech: {model: nosuch/x, voice: alloy}\n", "speech.model", 1),
        ("models:\n  fallbacks: [offline, nosuch/x]\n", "models.fallbacks[1]", 2),
        ("models:\n  aliases:\n    good: nosuch/x\n", "models.aliases.good", 3),
        (
            "automation:\n  - alias: A\n    triggers: [{trigger: hub, event: start}]\n    actions:\n"
            "      - action: agent.run\n        data: {message: hi, model: nosuch/x}\n",
            "automation[0].actions[0].data.model",
            6,
        ),
        (
            "script:\n  a:\n    sequence:\n      - repeat:\n          count: 2\n          sequence:\n"
            "            - {action: agent.heartbeat, data: {model: nosuch/x}}\n",
            "script.a.sequence[0].repeat.sequence[0].data.model",
            7,
        ),
    ],
)
def test_an_unknown_model_is_warned_of_wherever_one_is_named(tmp_path: Path, text: str, path: str, line: int) -> None:
    (tmp_path / "configuration.yaml").write_text(text, encoding="utf-8")

    found = check(tmp_path, all_sections(IntegrationSchemas(find(None))))

    assert [(each.path, each.line) for each in (*found.errors, *found.warnings)] == [(path, line)]
    assert "nosuch is neither a provider nor an alias" in found.warnings[0].message


def test_a_server_that_names_its_models_has_no_others(tmp_path: Path) -> None:
    found = checked(tmp_path, f"agents:\n  - {{id: main, model: mine/smal}}\n{ROOT}")

    assert [each.message for each in found.warnings] == ["mine lists no model smal. Did you mean mine/small?"]


def test_every_place_that_names_a_model_is_looked_at() -> None:
    sections = all_sections(IntegrationSchemas(find(None)))
    named = {
        tuple(key for key in place if key != "*")
        for section in (*sections.core(), *(sections.get(name) for name in ("speech",)))
        if section is not None
        for place in places(to_json_schema(section.schema), (section.name,))
        if place[0] != "models"
    }

    assert named == {tuple(key for key in place if key != "*") for place in (*PLACES, ("speech", "model"))}


def places(schema: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield where a schema takes the reference of a model."""
    if isinstance(schema, list):
        for each in schema:
            yield from places(each, keys)
    if not isinstance(schema, dict):
        return
    if schema.get("pattern") == model_ref.json_schema["pattern"]:
        yield keys
    for name, each in schema.get("properties", {}).items():
        yield from places(each, (*keys, name))
    for kind in ("anyOf", "allOf"):
        yield from places(schema.get(kind), keys)
    if isinstance(schema.get("items"), dict):
        yield from places(schema["items"], (*keys, "*"))
