"""The `models:` section and the agents' models as `homarus check` sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.config.check import Checked, check
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
