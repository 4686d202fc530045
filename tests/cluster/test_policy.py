"""What a home in a worker may not ask for is refused where it stands; whatever else there is works on."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.cluster.policy import HomeRefused, policy_checks, refuse
from hub.config.check import check
from hub.config.errors import ConfigError
from hub.integration.catalog import find
from hub.integration.schemas import IntegrationSchemas
from hub.sections import all_sections
from hub.storage.homedir import Home

SETTLED = "hub: {install: never}\n"
OFF = "agents: [{id: main, default: true, sandbox: {mode: off}}]\n"
BINDS = "agents: [{id: main, default: true, sandbox: {mode: all, bubblewrap: {binds: ['/srv:/data']}}}]\n"
COMMAND = "automation: [{alias: a, triggers: [{trigger: command, command: [df]}], actions: [{action: x.y}]}]\n"
NODE = (
    "automation: [{alias: a, triggers: [{trigger: time, at: '07:00'}],"
    " actions: [{action: node.invoke, data: {node: n, command: camera.snap}}]}]\n"
)


def refused(folder: Path, text: str) -> list[ConfigError]:
    """Check a configuration as in a worker."""
    (folder / "configuration.yaml").write_text(text)
    sections = all_sections(IntegrationSchemas(find(None)))
    sections.cross_checks.update(policy_checks(find(None)))
    return [each for each in check(folder, sections).errors if "carries other homes" in each.message]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("{}\n", "hub.install"),
        ("hub: {install: auto}\n", "hub.install"),
        (SETTLED + OFF, "agents.0.sandbox.mode"),
        (SETTLED + OFF.replace("off", "non_main"), "agents.0.sandbox.mode"),
        (SETTLED + BINDS, "agents.0.sandbox.bubblewrap.binds"),
        (SETTLED + "mcp: {servers: {files: {command: npx, args: [x]}}}\n", "mcp.servers.files.command"),
        (SETTLED + "acp: {agents: {claude: {command: [claude], folder: /srv}}}\n", "acp"),
        (SETTLED + "storage: {postgresql: 'postgresql://x'}\n", "storage"),
        (SETTLED + "http: {auth: {mode: trusted_proxy}}\n", "http.auth.mode"),
        (SETTLED + COMMAND, "automation.0.triggers.0.command"),
        (SETTLED + "agents: [{id: main, default: true, workspace: /srv}]\n", "agents.0.workspace"),
        (SETTLED + "agents: [{id: main, default: true, workspace: ../oak/workspace}]\n", "agents.0.workspace"),
        (SETTLED + "memory: {extra_paths: [notes, {path: ~/all}]}\n", "memory.extra_paths.1"),
        (SETTLED + "camera: [{platform: ffmpeg, name: x, input: 'rtsp://x/y'}]\n", "camera.0.platform"),
    ],
)
def test_what_would_run_beside_other_homes_is_refused_by_its_key(tmp_path: Path, text: str, keys: str) -> None:
    found = refused(tmp_path, text)

    assert [".".join(map(str, each.keys)) for each in found][:1] == [keys]


@pytest.mark.parametrize("text", [SETTLED, SETTLED + NODE, SETTLED + OFF.replace("off", "all")])
def test_what_is_harmless_is_not(tmp_path: Path, text: str) -> None:
    assert refused(tmp_path, text) == []


@pytest.mark.parametrize("name", ["custom_integrations", "hooks", "waiting_integrations"])
def test_code_of_a_homes_own_is_refused_by_its_folder(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path)
    refuse(home)
    (tmp_path / name).mkdir()
    refuse(home)
    (tmp_path / name / "mine").mkdir()

    with pytest.raises(HomeRefused, match=f"{name} holds program code"):
        refuse(home)
