"""Which agents write to each other: off at first, and errors that name what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.agent.exchanges.settings import ExchangeSettings
from hub.config.check import check
from hub.core.errors import Forbidden
from hub.sections import all_sections

AGENTS = "agents: [{id: main}, {id: cook}]\n"


def checked(home: Path, stated: str) -> tuple[ExchangeSettings, str]:
    """Return the settings of a configuration, and its errors as text."""
    (home / "configuration.yaml").write_text(f"{AGENTS}tools:\n  agent_to_agent: {stated}\n")
    found = check(home, all_sections())
    return ExchangeSettings.from_config(found.config.or_default("tools")), "\n".join(map(str, found.errors))


def test_agents_do_not_write_to_each_other_at_first(tmp_path: Path) -> None:
    settings, _ = checked(tmp_path, "{}")

    assert settings == ExchangeSettings(enabled=False, allow=("*",), max_turns=5)
    settings.check("main", "main")
    with pytest.raises(Forbidden, match="enabled is false"):
        settings.check("main", "cook")


def test_both_sides_have_to_be_allowed(tmp_path: Path) -> None:
    settings, _ = checked(tmp_path, "{enabled: true, allow: [main, cook], max_turns: 2}")

    settings.check("main", "cook")
    with pytest.raises(Forbidden, match="guard is not in"):
        settings.check("main", "guard")
    assert settings.max_turns == 2


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ("{enabled: true, allow: [kook]}", "there is no agent 'kook'"),
        ("{enable: true}", "enabled"),
        ("{max_turns: 6}", "5"),
        ("{max_turns: -1}", "0"),
        ("{enabled: maybe}", "enabled"),
        ("{allow: ['No Agent']}", "allow"),
    ],
)
def test_what_is_wrong_is_named_and_allows_nothing(tmp_path: Path, stated: str, told: str) -> None:
    settings, errors = checked(tmp_path, stated)

    assert "tools" in errors
    assert told in errors
    assert not settings.enabled
