"""A home directory with sections of its own, so that these tests stand on the reader and the checker alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from hub.config.check import Checked, Config, check
from hub.config.hub_section import SECTIONS as HUB
from hub.config.sections import CheckReport, NoIntegrations, SchemaProblem, Section, Sections
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    ensure_list,
    integer,
    number,
    port,
    secret,
    slug,
    string,
    url,
)

HTTP = Schema(
    {
        Optional("host", default="127.0.0.1"): string,
        Optional("port", default=18789): port,
        Optional("auth", default=dict): Schema(
            {Optional("mode", default="token"): In(["token", "password", "trusted_proxy", "none"])}
        ),
        Optional("compress"): boolean,
    }
)
MODELS = Schema(
    {
        Optional("default", default="auto"): string,
        Optional("providers", default=dict): {
            slug: Schema({Optional("api_key"): secret, Optional("base_url"): url, Optional("retries"): integer})
        },
    }
)
AGENTS = Schema([Schema({Required("id"): slug, Optional("model"): string, Optional("temperature"): number})])
ROUTINES = Schema(
    [
        Schema(
            {
                Required("id"): slug,
                Optional("mode", default="single"): In(["single", "restart", "queued", "parallel"]),
                Optional("max", default=10): All(integer, Range(min=1, max=100)),
                Required("triggers"): All(
                    [
                        AnyOf(
                            Schema({Required("type"): "time", Required("at"): string}),
                            Schema({Required("type"): "event", Required("event_type"): All(string, Length(max=20))}),
                        )
                    ],
                    Length(min=1),
                ),
            }
        )
    ]
)
LAMP = Schema({Required("host"): string, Optional("pin"): string, Optional("token"): secret})


def agents_exist(config: Config, report: CheckReport) -> None:
    """Every binding names an agent."""
    agents = {agent["id"] for agent in config.get("agents") or ()}
    for index, binding in enumerate(config.get("bindings") or ()):
        if binding["agent"] not in agents:
            report.error(("bindings", index, "agent"), f"there is no agent {binding['agent']}")


class Integrations(NoIntegrations):
    """Three integrations, one with a schema that cannot be used."""

    def domains(self) -> Iterable[str]:
        return ("lamp", "routine", "damaged")

    def section(self, domain: str) -> Section:
        if domain == "damaged":
            raise SchemaProblem("damaged/schema.py line 3: SyntaxError: invalid syntax")
        if domain == "routine":
            return Section("routine", ROUTINES, each_item=True)
        return Section("lamp", LAMP)


@pytest.fixture
def sections() -> Sections:
    core = [
        *HUB,
        Section("people", Schema(ensure_list({Required("id"): slug, Optional("owner"): boolean})), True, []),
        Section("http", HTTP, True, {}, restart_keys=frozenset({"host", "port"})),
        Section("models", MODELS, True, {}),
        Section("agents", AGENTS, True, [{"id": "main"}]),
        Section("bindings", Schema([{Required("agent"): slug}]), False, [], each_item=True),
    ]
    return Sections(core, Integrations(), {"agents exist": agents_exist})


Check = Callable[..., Checked]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Write files into the home directory."""

    def write(files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return write


@pytest.fixture
def checked(write: Callable[[Mapping[str, str | bytes]], Path], sections: Sections) -> Check:
    """Write files and check them; a text alone is the root file."""

    def run(files: Mapping[str, str | bytes] | str | bytes, environment: Mapping[str, str] | None = None) -> Checked:
        given = files if isinstance(files, Mapping) else {"configuration.yaml": files}
        return check(write(given), sections, environment=environment or {})

    return run
