"""`homarus backup` as people type it, with a hub and without one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from hub.backup.restore import stage
from hub.backup.swap import commit
from hub.storage.homedir import Home
from tests.backup.homes import PASSPHRASE, made_home
from tests.servers.forked import run
from tests.servers.hub_process import HubProcess
from tests.until import until

LIMIT_S = 120.0


def homarus(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(
        "hub", "backup", *arguments, "--config", str(home), environment={**os.environ, **environment}, timeout_s=LIMIT_S
    )


def answered(home: Path, *arguments: str, **environment: str) -> Any:
    done = homarus(home, *arguments, "--json", **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_home_goes_to_an_empty_machine_and_back(tmp_path: Path) -> None:
    home, fresh = made_home(tmp_path / "home"), tmp_path / "fresh"

    made = homarus(home.path, "create")
    (archive,) = (home.path / "backups").glob("homarus-elm_street-*.tar.gz")
    restored = homarus(fresh, "restore", str(archive), "--yes")

    assert "holds the keys and tokens of the home in the clear" in made.stdout
    assert "indexes and caches" in made.stdout
    assert "Elm Street" in restored.stdout
    assert "Devices and tokens are restored as they were" in restored.stdout
    assert (fresh / "secrets.yaml").read_text() == (home.path / "secrets.yaml").read_text()

    (home.path / "configuration.yaml").write_text("hub: {name: Changed}\n")
    answered(home.path, "restore", str(archive), "--yes")
    assert "Elm Street" in (home.path / "configuration.yaml").read_text()
    answered(home.path, "undo", "--yes")
    assert "Changed" in (home.path / "configuration.yaml").read_text()


def test_a_broken_configuration_is_no_obstacle(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    answered(home.path, "create", "--to", str(tmp_path / "stick"))
    (home.path / "configuration.yaml").write_text("hub: [")

    (archive,) = (tmp_path / "stick").iterdir()
    answered(home.path, "restore", str(archive), "--yes")

    assert "Elm Street" in (home.path / "configuration.yaml").read_text()


def test_an_encrypted_one_takes_its_passphrase_from_outside(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    (home.path / "configuration.yaml").write_text(f"backup: {{passphrase: {PASSPHRASE}}}\n")
    name = answered(home.path, "create")["name"]
    archive = tmp_path / name
    (home.path / "backups" / name).rename(archive)

    refused = homarus(tmp_path / "fresh", "verify", str(archive))
    checked = answered(tmp_path / "fresh", "verify", str(archive), HOMARUS_BACKUP_PASSPHRASE=PASSPHRASE)

    assert (refused.returncode, "give its passphrase" in refused.stderr) == (1, True)
    assert checked["encrypted"]


def test_a_question_can_be_answered_with_no(tmp_path: Path) -> None:
    home = made_home(tmp_path / "home")
    name = answered(home.path, "create")["name"]
    (home.path / "later.yaml").write_text("x")

    done = homarus(home.path, "restore", name)

    assert done.returncode == 1
    assert (home.path / "later.yaml").exists()


async def test_a_running_hub_makes_them_and_restarts_on_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text("hub: {name: Elm Street}\nmemory: {embeddings: {provider: none}}\n")
    with HubProcess(home) as hub:
        name = answered(home, "create")["name"]
        assert [each["name"] for each in answered(home, "list")["backups"]] == [name]
        answered(home, "schedule", "week", "--weekday", "sat")
        assert "weekday: sat" in (home / "configuration.yaml").read_text()

        answered(home, "restore", name, "--yes")
        await until(lambda: list((home / ".storage").glob("replaced-*")))
        hub.wait_ready()

        assert "weekday" not in (home / "configuration.yaml").read_text()
        assert hub.rpc("backup.status")["schedule"]["every"] == "never"
        answered(home, "delete", name, "--yes")
        assert answered(home, "list")["backups"] == []


def test_a_hub_that_was_killed_before_it_restarted_starts_on_the_restored_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "configuration.yaml").write_text("hub: {name: Elm Street}\nmemory: {embeddings: {provider: none}}\n")
    with HubProcess(home) as hub:
        name = answered(home, "create")["name"]
        (home / "configuration.yaml").write_text("hub: {name: Later}\nmemory: {embeddings: {provider: none}}\n")
        stage(Home(home), home / "backups" / name, "", 1)
        commit(Home(home), "1", ("backups",))
        hub.kill()
        hub.start()

        assert "Elm Street" in (home / "configuration.yaml").read_text()
        assert "Later" in (home / ".storage" / "replaced-1" / "configuration.yaml").read_text()
