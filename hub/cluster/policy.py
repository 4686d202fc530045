"""What a home may not ask for in a worker, where other homes are beside it: programs outside of a sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import cache, partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from hub.config.checked import Config
from hub.config.labels import PLATFORM_SECTIONS
from hub.config.marks import value_at
from hub.config.paths import KeyPath
from hub.config.schema_walk import places_of_format
from hub.config.sections import CheckReport, CrossCheck, Sections
from hub.core.errors import HubError
from hub.core.json_schema import JsonSchema, to_json_schema
from hub.core.schema import PATH, PROGRAM
from hub.extensions.custom_integrations import WAITING_FOLDER
from hub.integration.catalog import CatalogEntry
from hub.sandbox.schema import ENGINES
from hub.storage.homedir import Home

HOOKS = "hooks"
COMMAND = "command"
AUTOMATED = ("automation", "script")
"""Sections where a command is mostly one for a device."""
NOT_HERE = "a worker carries other homes too"
LOCAL_NAMES = ("localhost", "ip6-localhost", "ip6-loopback")
KEPT_VARIABLES = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM", "VIRTUAL_ENV"),
        *("RUNTIME_DIRECTORY", "NOTIFY_SOCKET", "WATCHDOG_USEC", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("LD_LIBRARY_PATH", "LD_PRELOAD", "WATCHFILES_FORCE_POLLING"),
    }
)
KEPT_BEGINNINGS = ("LC_", "XDG_", "PG", "PYTHON", "OTEL_", "MALLOC_")
"""Variables that a worker itself needs; keys, tokens and addresses among the others are no home's."""
PROGRAM_HERE = f"a program would run on the machine itself, and {NOT_HERE}"


class HomeRefused(HubError):
    """A home asks for what a worker does not give."""

    code = "HOME_REFUSED"
    http_status = 409


def policy_checks(catalog: Mapping[str, CatalogEntry], sections: Sections) -> Mapping[str, CrossCheck]:
    """Return the checks of the configuration of a home in a worker, by name.

    Args:
        catalog: The integrations; their manifests say which start programs.
        sections: Their schemas say which keys name a place or a program of the machine.
    """
    starting = frozenset(domain for domain, found in catalog.items() if found.manifest and found.manifest.programs)
    return {"what a worker allows": partial(_check, starting=starting, sections=sections, schema_of=_schemas(sections))}


def hide_environment(environment: MutableMapping[str, str]) -> None:
    """Take out what a worker does not need itself, so that neither homes nor programs of theirs inherit it."""
    for name in [*environment]:
        if name not in KEPT_VARIABLES and not name.startswith(KEPT_BEGINNINGS):
            del environment[name]


def refuse(home: Home) -> None:
    """Refuse a home that has program code of its own: it would run in the worker itself.

    Raises:
        HomeRefused: It has; the error names the folder.
    """
    for folder in (home.custom_integrations, home.path / HOOKS, home.path / WAITING_FOLDER):
        if _has_files(folder):
            raise HomeRefused(
                f"{folder} holds program code, which would run in the worker itself: {NOT_HERE}. Move the folder away, "
                "or give the home a hub of its own: homarus start"
            )


def _schemas(sections: Sections) -> Callable[[str, str], JsonSchema]:
    """Return a function that returns the schema of a section, or of its items of a platform, and keeps it."""

    @cache
    def schema_of(name: str, platform: str) -> JsonSchema:
        if platform:
            return to_json_schema(sections.integrations.platform(name, platform))
        section = sections.get(name)
        return {} if section is None else to_json_schema(section.schema)

    return schema_of


def _check(
    config: Config,
    report: CheckReport,
    *,
    starting: frozenset[str],
    sections: Sections,
    schema_of: Callable[[str, str], JsonSchema],
) -> None:
    if config.get("storage"):
        report.error(["storage"], f"the worker says where its homes are kept: {NOT_HERE}", "take `storage:` out")
    _check_agents(config, report)
    for index, target in enumerate((config.get("network") or {}).get("allow_private") or ()):
        if _is_local(target.rpartition(":")[0].strip("[]")):
            report.error(
                ["network", "allow_private", index], f"it is this machine itself or its link: {NOT_HERE}", "take it out"
            )
    mode = ((config.get("http") or {}).get("auth") or {}).get("mode")
    if mode == "trusted_proxy":
        report.error(["http", "auth", "mode"], f"no proxy names people to a worker: {NOT_HERE}", "use mode: token")
    if (config.get("hub") or {}).get("install") != "never":
        report.error(
            ["hub", "install"], f"packages would be installed for all homes: {NOT_HERE}", "set `hub: install: never`"
        )
    for section in PLATFORM_SECTIONS:
        for index, item in enumerate(config.get(section) or ()):
            if item["platform"] in starting:
                report.error([section, index, "platform"], f"it starts programs on the machine, and {NOT_HERE}")
            _check_named(config, (section, index), item, schema_of(section, str(item["platform"])), report)
    for name in config:
        if name in starting:
            report.error([name], f"it starts programs on the machine, and {NOT_HERE}", f"take `{name}:` out")
        elif name not in PLATFORM_SECTIONS:
            if name not in AUTOMATED:
                _check_named(config, (name,), config[name], schema_of(name, ""), report)
            for keys in _commands(config[name], (name,)):
                report.error(keys, PROGRAM_HERE, "take it out")
    for check in sections.integrations.worker_checks.values():
        check(config, report)


def _check_named(config: Config, start: KeyPath, value: Any, schema: JsonSchema, report: CheckReport) -> None:
    """Refuse programs, and files, folders and sockets outside of the home, by what the schema says of each key."""
    programs: dict[KeyPath, None] = {}
    for keys, each in places_of_format(schema, value, (PATH, PROGRAM)):
        named = value_at(value, keys)
        if each["format"] == PROGRAM:  # of a program and its arguments, the list
            programs[(*start, *(keys[:-1] if isinstance(keys[-1], int) else keys))] = None
        elif named != each.get("default") and not _inside(named, config.home):
            report.error(
                (*start, *keys),
                f"it lies outside of the home, and {NOT_HERE}",
                "name a place in the home, or take it out",
            )
    for at in programs:
        report.error(at, PROGRAM_HERE, "take it out")


def _check_agents(config: Config, report: CheckReport) -> None:
    for index, agent in enumerate(config.get("agents") or ()):
        sandbox = agent.get("sandbox") or {}
        if sandbox and sandbox["mode"] != "all":
            report.error(
                ["agents", index, "sandbox", "mode"],
                f"programs would run on the machine itself, and {NOT_HERE}",
                "set mode: all, or take it out: programs run in a sandbox here by themselves",
            )
        for engine in ENGINES:
            if (sandbox.get(engine) or {}).get("binds"):
                report.error(
                    ["agents", index, "sandbox", engine, "binds"],
                    f"they would show directories of the machine, and {NOT_HERE}",
                    "take them out",
                )


def _commands(value: Any, keys: KeyPath) -> Iterator[KeyPath]:
    """Yield the commands of triggers that start a program, wherever triggers are."""
    if isinstance(value, Mapping):
        starts = COMMAND in (value.get("trigger"), value.get("platform"))
        for key, each in value.items():
            if starts and key == COMMAND and isinstance(each, str | list):
                yield (*keys, key)
            else:
                yield from _commands(each, (*keys, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _commands(each, (*keys, index))


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _inside(path: str, home: Path | None) -> bool:
    """Whether a configured path is one below the home, and no link on it leads out."""
    named = Path(path)
    if named.is_absolute() or ".." in named.parts or path.startswith("~"):
        return False
    return home is None or (home / named).resolve().is_relative_to(home.resolve())


def _is_local(host: str) -> bool:
    if host.rstrip(".") in LOCAL_NAMES or host.rstrip(".").endswith(".localhost"):
        return True
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_link_local
