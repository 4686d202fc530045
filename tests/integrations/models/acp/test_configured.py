"""Agent programs in a home's configuration: its errors name the key, and the doctor looks for programs and folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hub.cli.configured import check_home
from hub.core.errors import Unavailable
from hub.core.schema import SchemaError, describe_error
from hub.doctor.check_context import CheckContext
from hub.doctor.examination import examine
from hub.doctor.registry import checks_for
from hub.sections import needed_domains
from hub.storage.homedir import Home
from integrations.models.acp.schema import CONFIG_SCHEMA

GOOD: dict[str, Any] = {"command": ["claude-code-acp"], "folder": "/srv/project"}


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ({"folder": "/srv/project"}, "command"),
        ({**GOOD, "command": []}, "command"),
        ({**GOOD, "command": "claude-code-acp --quiet"}, "command"),
        ({**GOOD, "folder": "project"}, "expected a folder such as /home/me/projects/site"),
        ({**GOOD, "environment": {"A=B": "x"}}, "environment"),
        ({**GOOD, "timeout_s": 0}, "timeout_s"),
        ({**GOOD, "idle_minutes": -1}, "idle_minutes"),
    ],
)
def test_what_is_wrong_is_named(program: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        CONFIG_SCHEMA({"agents": {"claude": program}})

    assert words in describe_error(caught.value)


def test_there_are_none_unless_they_are_configured() -> None:
    with pytest.raises(SchemaError):
        CONFIG_SCHEMA({})


def test_the_doctor_names_programs_and_folders_that_are_missing(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    (project := tmp_path / "project").mkdir()
    home.configuration.write_text(
        "hub: {name: Home}\n"
        "agents: [{id: coder, default: true, model: acp/fine}]\n"
        "acp:\n"
        "  agents:\n"
        f"    fine: {{command: [sh], folder: {project}}}\n"
        f"    absent: {{command: [no-such-program], folder: {project}}}\n"
        f"    inside: {{command: [sh], folder: {tmp_path}}}\n",
        encoding="utf-8",
    )
    context = CheckContext(home, lambda: check_home(home.path), needed_domains, _nobody)

    checks = [check for check in checks_for(context) if check.name == "acp.programs"]
    found = {finding.where: finding.what for _, finding in examine(context, tuple(checks)).findings}

    assert found.keys() == {"acp.agents.absent", "acp.agents.inside"}
    assert "there is no program no-such-program" in found["acp.agents.absent"]
    assert "overlaps with" in found["acp.agents.inside"]
    assert not [warning for warning in context.checked.warnings if "acp" in str(warning)]


def _nobody(method: str) -> Any:
    raise Unavailable(f"nobody answers {method}")
