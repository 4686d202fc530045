"""`homarus integration install` and what follows: from a folder, a URL and a repository to code that runs, and back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import Terminal
from tests.extensions.makes import SCHEMA, SETUP, rain
from tests.servers.hub_process import HubProcess


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with an integration."""
    made = tmp_path / "homarus-rain"
    made.mkdir()
    manifest = {
        "domain": "rain",
        "name": "Rain",
        "version": "1.0.0",
        "default": True,
        "description": "Tells \x1b[31mrain.",
    }
    (made / "manifest.json").write_text(json.dumps(manifest))
    (made / "schema.py").write_text(SCHEMA)
    (made / "__init__.py").write_text(f"import socket\n\n\n{SETUP}")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "rain"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(made), *identity, *command], check=True)
    return made


def state(hub: HubProcess, domain: str = "rain") -> str:
    listed = hub.rpc("integration.list")
    there = {each["domain"]: each["state"] for each in listed["integrations"]}
    return "waiting" if domain in listed["waiting"] else str(there.get(domain))


def test_one_is_installed_looked_at_enabled_updated_and_removed(hub: HubProcess, ask: Terminal, folder: Path) -> None:
    installed = ask("integration", "install", f"git+file://{folder}")
    assert (installed.code, state(hub)) == (0, "waiting")
    assert "rain 1.0.0: Tells �[31mrain." in installed.out
    assert "it runs inside the hub, with all its rights" in installed.out
    assert "Reaches the network: __init__.py:1 socket" in installed.out
    assert ".git" not in installed.out.replace(f"git+file://{folder}", "")
    assert "homarus integration enable rain" in ask("integration", "list").out
    assert "import socket" in ask("integration", "info", "rain", "--text").out

    enabled = ask("integration", "enable", "rain", "--yes")
    assert (enabled.code, enabled.out, state(hub)) == (0, "rain is set_up.\n", "set_up")
    assert hub.rpc("integration.info", {"domain": "rain"})["origin"]["kind"] == "git"

    (folder / "__init__.py").write_text(SETUP.replace("'1'", "'2'"))
    subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.org", "commit", "-qam", "x"], check=True
    )
    assert "rain changed; look at it" in ask("integration", "update").out
    enabled = ask("integration", "enable", "rain", "--yes")
    assert "Not as it is now: __init__.py" in enabled.err
    assert ask("integration", "update", "rain").out == "rain is current\n"

    (hub.home / "custom_integrations" / "rain" / "more.py").write_text("import os\n")
    audited = ask("doctor", "--security", "--json")
    assert "outside.changed_code" in audited.out
    assert "is in use" in ask("integration", "remove", "rain").err
    assert ask("integration", "disable", "rain").code == 0
    assert ask("integration", "remove", "rain").out == "rain is removed.\n"
    assert not (hub.home / "custom_integrations" / "rain").exists()


@pytest.mark.parametrize(
    ("code", "manifest", "told"),
    [
        ("exec('x')", {}, "shows signs of harm: __init__.py line 1 makes code"),
        (SETUP, {"requirements": ["evil-package"]}, "neither installed nor in the lock"),
    ],
)
def test_what_is_not_enabled_says_why(
    hub: HubProcess, ask: Terminal, tmp_path: Path, code: str, manifest: dict[str, Any], told: str
) -> None:
    (tmp_path / "rain.zip").write_bytes(rain(code, **manifest))
    assert ask("integration", "install", str(tmp_path / "rain.zip")).code == 0

    ran = ask("integration", "enable", "rain", "--yes")

    assert (ran.code, state(hub)) == (1, "waiting")
    assert told in ran.err
    assert ask("integration", "remove", "rain").out == "rain does not wait any more.\n"


def test_a_token_that_is_not_an_owners_enables_nothing(hub: HubProcess, ask: Terminal, tmp_path: Path) -> None:
    (tmp_path / "rain.zip").write_bytes(rain())
    ask("integration", "install", str(tmp_path / "rain.zip"))
    digest = hub.rpc("integration.info", {"domain": "rain"})["digest"]
    token = hub.rpc("token.create", {"name": "tablet", "scopes": ["operator.write"]})["token"]

    body = {"method": "integration.enable", "params": {"domain": "rain", "digest": digest}}
    status, answer = hub.post("/api/rpc", body, headers={"Authorization": f"Bearer {token}"})

    assert (status, answer["error"]["code"]) == (403, "FORBIDDEN")
    assert state(hub) == "waiting"
    ask("integration", "remove", "rain")


def test_a_name_in_a_registry_is_none_of_an_integration(ask: Terminal) -> None:
    assert "there is none of integrations" in ask("integration", "install", "clawhub:rain").err
