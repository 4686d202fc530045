"""What a home may not ask for in a worker, where other homes are beside it: programs outside of a sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from hub.config.checked import Config
from hub.config.labels import PLATFORM_SECTIONS
from hub.config.paths import KeyPath
from hub.config.sections import CheckReport, CrossCheck
from hub.core.errors import HubError
from hub.extensions.custom_integrations import WAITING_FOLDER
from hub.integration.catalog import CatalogEntry
from hub.sandbox.schema import ENGINES
from hub.storage.homedir import Home

HOOKS = "hooks"
COMMAND = "command"
AUTOMATED = ("automation", "script")
"""Sections where a command is mostly one for a device."""
NOT_HERE = "a worker carries other homes too"


class HomeRefused(HubError):
    """A home asks for what a worker does not give."""

    code = "HOME_REFUSED"
    http_status = 409


def policy_checks(catalog: Mapping[str, CatalogEntry]) -> Mapping[str, CrossCheck]:
    """Return the checks of the configuration of a home in a worker, by name.

    Args:
        catalog: The integrations; their manifests say which start programs.
    """
    starting = frozenset(domain for domain, found in catalog.items() if found.manifest and found.manifest.programs)
    return {"what a worker allows": partial(_check, starting=starting)}


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


def _check(config: Config, report: CheckReport, *, starting: frozenset[str]) -> None:
    if config.get("storage"):
        report.error(["storage"], f"the worker says where its homes are kept: {NOT_HERE}", "take `storage:` out")
    _check_agents(config, report)
    for index, each in enumerate((config.get("memory") or {}).get("extra_paths") or ()):
        if not _inside(each if isinstance(each, str) else each["path"]):
            report.error(
                ["memory", "extra_paths", index], f"it lies outside of the home, and {NOT_HERE}", "take it out"
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
    for name in config:
        if name in starting:
            report.error([name], f"it starts programs on the machine, and {NOT_HERE}", f"take `{name}:` out")
        elif name not in PLATFORM_SECTIONS:
            for keys in _commands(config[name], (name,), automated=name in AUTOMATED):
                report.error(keys, f"a program would run on the machine itself, and {NOT_HERE}", "take it out")


def _check_agents(config: Config, report: CheckReport) -> None:
    for index, agent in enumerate(config.get("agents") or ()):
        sandbox = agent.get("sandbox") or {}
        if sandbox and sandbox["mode"] != "all":
            report.error(
                ["agents", index, "sandbox", "mode"],
                f"programs would run on the machine itself, and {NOT_HERE}",
                "set mode: all, or take it out: programs run in a sandbox here by themselves",
            )
        if not _inside(agent.get("workspace")):
            report.error(
                ["agents", index, "workspace"],
                f"it lies outside of the home, and {NOT_HERE}",
                "name a folder in the home",
            )
        for engine in ENGINES:
            if (sandbox.get(engine) or {}).get("binds"):
                report.error(
                    ["agents", index, "sandbox", engine, "binds"],
                    f"they would show directories of the machine, and {NOT_HERE}",
                    "take them out",
                )


def _commands(value: Any, keys: KeyPath, *, automated: bool) -> Iterator[KeyPath]:
    """Yield the places of programs: of servers and the like, and of triggers that start one."""
    if isinstance(value, Mapping):
        starts = not automated or COMMAND in (value.get("trigger"), value.get("platform"))
        for key, each in value.items():
            if starts and key == COMMAND and isinstance(each, str | list):
                yield (*keys, key)
            else:
                yield from _commands(each, (*keys, key), automated=automated)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _commands(each, (*keys, index), automated=automated)


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _inside(path: Any) -> bool:
    """Whether a configured path is one below the home."""
    named = PurePath(str(path or "."))
    return not (named.is_absolute() or ".." in named.parts or str(named).startswith("~"))
