"""What a home in a worker may not ask for is refused where it stands; whatever else there is works on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hub.cluster.policy import HomeRefused, hide_environment, policy_checks, refuse
from hub.config.check import check
from hub.config.errors import ConfigError
from hub.config.labels import PLATFORM_SECTIONS
from hub.core.clock import ALWAYS, Clock
from hub.core.json_schema import to_json_schema
from hub.core.lanes import Lanes
from hub.core.schema import PATH, PROGRAM
from hub.core.tasks import TaskOwner
from hub.foundation import Share, read_home
from hub.integration.catalog import find
from hub.integration.schemas import IntegrationSchemas
from hub.sections import all_sections
from hub.security.redaction import Redactor
from hub.storage.database import Database
from hub.storage.homedir import Home

AUTOMATED = ("automation", "script", "triggers", "conditions", "actions", "wait_for_trigger")
NAMED_LIKE = re.compile(
    r"^(?:\w+_)?(path|file|folder|dirs?|directory|socket|executable|program|binary|certificate|command)s?\b"
    r"|^(ca|key|cert)\b.*\bfile\b|\b(an? (file|folder|director[iy]|program|socket)|directories|on this machine)\b",
    re.IGNORECASE,
)
NAMES_NONE = {
    "http.auth.mode": "a choice",
    "agents.sandbox.docker.setup_command": "runs in the sandbox",
    "agents.sandbox.docker.disk": "a size",
    "agents.sandbox.docker.binds": "refused by itself",
    "agents.sandbox.bubblewrap.disk": "a size",
    "agents.sandbox.bubblewrap.binds": "refused by itself",
    "browser.profiles.mode": "a choice, refused by itself",
    "calendar.calendars.url": "an address",
    "email.folder": "one of the mail server",
    "rest.sensor.json_attributes_path": "a place in JSON",
    "sensor.rest.json_attributes_path": "a place in JSON",
    "template.use_blueprint.path": "below the folder of blueprints",
    "voice.speech_model": "a model",
    "voice.satellites.speech_model": "a model",
    "voice.people.speech_model": "a model",
    "voice_call.speech_model": "a model",
    "voice_call.transcription_model": "a model",
}
"""Keys that read like it and name nothing of the machine, and what they name."""
SETTLED = "hub: {install: never}\n"
OFF = "agents: [{id: main, default: true, sandbox: {mode: off}}]\n"
BINDS = "agents: [{id: main, default: true, sandbox: {mode: all, bubblewrap: {binds: ['/srv:/data']}}}]\n"
COMMAND = "automation: [{alias: a, triggers: [{trigger: command, command: [df]}], actions: [{action: x.y}]}]\n"
BOXED = "browser:\n  profiles:\n    default: {mode: sandbox}\n"
NODE = (
    "automation: [{alias: a, triggers: [{trigger: time, at: '07:00'}],"
    " actions: [{action: node.invoke, data: {node: n, command: camera.snap}}]}]\n"
)


def refused(folder: Path, text: str) -> list[ConfigError]:
    """Check a configuration as in a worker."""
    (folder / "configuration.yaml").write_text(text)
    sections = all_sections(IntegrationSchemas(find(None)))
    sections.cross_checks.update(policy_checks(find(None), sections))
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
        (SETTLED + "memory: {extra_paths: [notes, {path: ~/all}]}\n", "memory.extra_paths.1.path"),
        (SETTLED + "memory: {extra_paths: [../oak]}\n", "memory.extra_paths.0"),
        (SETTLED + "backup: {to: {folder: ../oak/backups}}\n", "backup.to.folder"),
        (SETTLED + "backup: {to: {folder: link/backups}}\n", "backup.to.folder"),
        (SETTLED + "skills: {extra_dirs: [mine, /srv/skills]}\n", "skills.extra_dirs.1"),
        (SETTLED + "http: {tls: {certificate: /etc/x.pem, key: key.pem}}\n", "http.tls.certificate"),
        (SETTLED + "mqtt: {broker: mqtt.example.org, tls: {ca: /etc/x.pem}}\n", "mqtt.tls.ca"),
        (SETTLED + "docker: {socket: /srv/docker.sock}\n", "docker.socket"),
        (SETTLED + "speech: {command: [say, '{voice}'], voice: x}\n", "speech.command"),
        (SETTLED + BOXED + "  executable: /bin/sh\n", "browser.executable"),
        (SETTLED + "browser:\n", "browser"),
        (SETTLED + BOXED + "    own: {}\n", "browser.profiles.own.mode"),
        (SETTLED + BOXED + "    own: {mode: attach}\n", "browser.profiles.own.mode"),
        (SETTLED + "network: {allow_private: ['nas.lan:80', '127.0.0.1:5432']}\n", "network.allow_private.1"),
        (SETTLED + "network: {allow_private: ['[::1]:80']}\n", "network.allow_private.0"),
        (SETTLED + "network: {allow_private: ['db.localhost:80']}\n", "network.allow_private.0"),
        (SETTLED + "network: {allow_private: ['169.254.1.2:80']}\n", "network.allow_private.0"),
        (SETTLED + "camera: [{platform: ffmpeg, name: x, input: 'rtsp://x/y'}]\n", "camera.0.platform"),
    ],
)
def test_what_would_run_beside_other_homes_is_refused_by_its_key(tmp_path: Path, text: str, keys: str) -> None:
    (tmp_path / "link").symlink_to("/srv")

    found = refused(tmp_path, text)

    assert [".".join(map(str, each.keys)) for each in found][:1] == [keys]


@pytest.mark.parametrize(
    "text",
    [
        SETTLED,
        SETTLED + NODE,
        SETTLED + OFF.replace("off", "all"),
        SETTLED + BOXED,
        SETTLED + "docker:\n",
        SETTLED + "backup: {to: {folder: kept/backups}}\nskills: {extra_dirs: [mine]}\n",
        SETTLED + "network: {allow_private: ['nas.lan:80', '192.168.1.20:8080']}\n",
    ],
)
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


def keys_of(schema: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every key of a schema with its own schema, but those inside of automations."""
    for name, each in schema.get("properties", {}).items():
        if name not in AUTOMATED:
            yield ".".join((*keys, name)), each
            yield from keys_of(each, (*keys, name))
    for name in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(name), dict):
            yield from keys_of(inner, keys)
    for inner in (*schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from keys_of(inner, keys)


def starts_programs(domain: str) -> bool:
    """Whether an integration is refused for that."""
    manifest = found.manifest if (found := find(None).get(domain)) else None
    return manifest is not None and bool(manifest.programs)


def every_key() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every key of the configuration, but of the integrations that are refused whole."""
    integrations = IntegrationSchemas(find(None))
    sections = all_sections(integrations)
    for name in sections.names():
        section = sections.get(name)
        if section is not None and name not in AUTOMATED and not starts_programs(name):
            yield from keys_of(to_json_schema(section.schema), (name,))
    for name in PLATFORM_SECTIONS:
        for domain in integrations.platforms(name):
            schema = None if starts_programs(domain) else integrations.platform(name, domain)
            yield from keys_of({} if schema is None else to_json_schema(schema), (name, domain))


def formats(schema: dict[str, Any]) -> set[str]:
    """Return the formats of a key, in a list and among alternatives too."""
    inner = [*filter(None, [schema.get("items")]), *schema.get("anyOf", ()), *schema.get("allOf", ())]
    return {str(schema.get("format")), *(found for each in inner for found in formats(each))}


def test_each_key_that_names_a_place_or_a_program_of_the_machine_says_so_in_its_schema() -> None:
    unmarked = {
        key
        for key, schema in every_key()
        if NAMED_LIKE.search(f"{key.rpartition('.')[2]} {schema.get('description', '')}")
        and schema.get("type") not in ("boolean", "integer", "number", "object")
        and schema.get("properties") is None
        and not formats(schema) & {PATH, PROGRAM, "uri"}
    }

    assert unmarked - NAMES_NONE.keys() == set()


def test_a_worker_hides_its_variables_from_what_it_carries() -> None:
    kept = {"PATH": "/bin", "LC_ALL": "C", "PGPASSFILE": "/x"}
    environment = {**kept, "HOMARUS_DATABASE": "postgresql://u:p@h/d", "OPENAI_API_KEY": "k"}

    hide_environment(environment)

    assert environment == kept


async def test_a_home_in_a_worker_reads_no_variable_of_it(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text(
        "hub: {name: !env_var PATH}\nnetwork: {allow_private: [!env_var PATH x:1]}\n"
    )
    tasks = TaskOwner("worker")
    database = partial(Database, migrations=[])
    share = Share(ALWAYS, database, Lanes(), {}, tmp_path / "cache", tasks, {}, nullcontext)

    config = read_home(Home(tmp_path), Clock(), Redactor(), share).config

    (error,) = config.errors
    assert (error.keys, error.hint) == (("hub", "name"), "write !secret path, and its value in secrets.yaml")
    assert "PATH is a variable of the worker" in error.message
    assert config.current["network"]["allow_private"] == ["x:1"]
