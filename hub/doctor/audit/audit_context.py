"""The input of the audit: a home, its checked configuration, and what only a running hub knows."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from hub.config.checked import Config
from hub.config.marks import value_at
from hub.config.paths import Key, KeyPath
from hub.core.secret import Secret
from hub.doctor.audit.advisories import Advisories
from hub.doctor.audit.listening import Listener
from hub.gateway.calls.settings import HttpSettings
from hub.integration.catalog import CatalogEntry
from hub.messaging.access.access import ANYBODY, DmPolicy, GroupPolicy
from hub.storage.homedir import Home
from hub.tools.policy import policies_from_config

ALSO_CALLED = {"triggers": "trigger", "conditions": "condition", "actions": "action"}
"""Keys of an automation as they may be written too."""
DEPTH_LIMIT = 40
STRONG = (("exec", "shell"), ("write", "files"), ("call_service", "home"))
"""Tools that change something outside of the conversation, each with its group."""


class Credential(Struct, frozen=True):
    """A token or a device, as its owner sees it.

    Attributes:
        kind: `token` or `device`.
        used_ms: When it was used last; None for never.
    """

    kind: str
    id: str
    name: str
    scopes: frozenset[str]
    created_ms: int
    used_ms: int | None
    expires_ms: int | None = None
    acts_for_owner: bool = False


class LiveFacts(Struct, frozen=True):
    """What only the running hub knows.

    Attributes:
        credentials: The tokens and devices that are valid.
        http: How its gateway listens, which the command that started it may have chosen.
        advisories: What is known of the installed packages; None when nobody was asked.
    """

    http: HttpSettings
    listeners: tuple[Listener, ...] = ()
    credentials: tuple[Credential, ...] = ()
    advisories: Advisories | None = None


class Account(Struct, frozen=True):
    """An account of a channel, and who may write there.

    Attributes:
        keys: Where it is in the configuration.
    """

    channel: str
    keys: KeyPath
    stated: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The channel and the account, for people."""
        return f"{self.channel} ({self.stated.get('account', 'default')})"

    @property
    def open_dm(self) -> bool:
        """Whether everybody may write to it."""
        return bool(self.stated["dm_policy"] == DmPolicy.OPEN)

    @property
    def open_groups(self) -> bool:
        """Whether it answers in every group that somebody puts it in."""
        return bool(self.stated["group_policy"] == GroupPolicy.OPEN)

    @property
    def anybody(self) -> bool:
        """Whether it takes people whom nobody let in at all, neither by name nor by listing their group."""
        return self.open_dm or self.open_groups

    @property
    def group_strangers(self) -> bool:
        """Whether it answers people in groups who are on no list."""
        if self.stated["group_policy"] == GroupPolicy.DISABLED:
            return False
        general = self.stated["group_allow_from"]
        groups = self.stated["groups"].items()
        lists = [each.get("allow_from", general) for key, each in groups if key != ANYBODY and each.get("allow", True)]
        if self.open_groups:
            lists.append(self.stated["groups"].get(ANYBODY, {}).get("allow_from", general))
        return any(not each or ANYBODY in each for each in lists)

    @property
    def strangers(self) -> bool:
        """Whether somebody whom nobody let in by name may talk to it."""
        return self.open_dm or self.group_strangers


class AgentSettings(Struct, frozen=True):
    """An agent as far as the audit looks at it.

    Attributes:
        keys: Where it is in the configuration; None for the agent that is there when none is configured.
        model: As configured; None defers to the default.
    """

    id: str
    keys: KeyPath | None
    stated: Mapping[str, Any]
    model: str | None


class AuditContext:
    """One home, and how it may be reached.

    Args:
        home: Its paths.
        config: Its configuration, without its broken parts.
        catalog: The integrations there are.
        used: Those that are set up.
        now_ms: Milliseconds since the epoch.
        live: What the running hub knows; None when none runs.
    """

    def __init__(
        self,
        home: Home,
        config: Config,
        catalog: Mapping[str, CatalogEntry],
        used: frozenset[str],
        now_ms: int,
        live: LiveFacts | None = None,
    ) -> None:
        self.home = home
        self.config = config
        self.catalog = catalog
        self.used = used
        self.now_ms = now_ms
        self.live = live

    @cached_property
    def http(self) -> HttpSettings:
        """How the gateway listens: as the running hub does, or as the configuration says."""
        return HttpSettings.from_config(self.section("http"), self.home.path) if self.live is None else self.live.http

    def section(self, name: str) -> Any:
        """Return a section, or its default; empty when it is not there."""
        return self.config.or_default(name) or {}

    @cached_property
    def accounts(self) -> tuple[Account, ...]:
        """The accounts of channels in use: every mapping that took in the keys of access."""
        found = []
        for name in sorted(self.config.present & self.config.sections.keys()):
            if name in self.catalog and name not in self.used:
                continue
            section = self.config[name]
            for keys, each in self._items(name, section):
                if isinstance(each, Mapping) and "dm_policy" in each and "group_allow_from" in each:
                    found.append(Account(name, self.written(keys), each))
        return tuple(found)

    @cached_property
    def agents(self) -> tuple[AgentSettings, ...]:
        """The agents; the one that is there when none is configured, too."""
        stated = self.section("agents") or []
        if not stated:
            return (AgentSettings("main", None, {}, None),)
        return tuple(
            AgentSettings(each["id"], self.written(("agents", at)), each, each.get("model"))
            for at, each in enumerate(stated)
        )

    @property
    def open_to_strangers(self) -> tuple[Account, ...]:
        """The accounts where somebody whom nobody let in by name may talk."""
        return tuple(each for each in self.accounts if each.strangers)

    def strong(self, agent: AgentSettings) -> list[str]:
        """Return the tools of an agent that change something outside of the conversation."""
        rules = [
            *policies_from_config(self.section("tools"), "tools"),
            *policies_from_config(agent.stated.get("tools"), "agents"),
        ]
        no_commands = self.of_agent(agent, "exec", "mode")[0] == "deny"
        return [
            name
            for name, group in STRONG
            if all(rule.permits(name, group) for rule in rules) and not (name == "exec" and no_commands)
        ]

    def of_agent(self, agent: AgentSettings, section: str, key: str) -> tuple[Any, KeyPath]:
        """Return a value that an agent states for itself, or else its section does, and where it is written."""
        own = agent.stated.get(section) or {}
        if agent.keys is not None and key in own:
            return own[key], (*agent.keys, section, key)
        return self.section(section).get(key), self.written((section, key))

    def written(self, keys: KeyPath) -> KeyPath:
        """Return the path of a checked value as the files have it: items may be left out, or stand without a list."""
        found: list[Key] = []
        at: Any = self.config.raw
        kept = self.config.kept_items.get(str(keys[0]), ()) if keys else ()
        for place, checked in enumerate(keys):
            key = kept[checked] if place == 1 and isinstance(checked, int) and checked < len(kept) else checked
            if isinstance(at, Mapping) and isinstance(key, int):
                continue  # one item that was written without a list
            if isinstance(at, Mapping) and key not in at and ALSO_CALLED.get(str(key)) in at:
                key = ALSO_CALLED[str(key)]
            found.append(key)
            at = value_at(at, (key,))
        return tuple(found)

    def stated(self, keys: KeyPath) -> Any:
        """Return what the files say at a path; None where they say nothing."""
        return value_at(self.config.raw, keys)

    @cached_property
    def secrets(self) -> tuple[tuple[KeyPath, Secret], ...]:
        """Every secret in the configuration, with its place."""
        found = []
        for name in sorted(self.config.present & self.config.sections.keys()):
            found += [
                (self.written(keys), value)
                for keys, value in leaves(self.config[name], (name,))
                if isinstance(value, Secret)
            ]
        return tuple(found)

    def shown(self, path: Path) -> str:
        """Return a file as it is named in a finding: relative to the home, where it is in it."""
        return str(path.relative_to(self.home.path)) if path.is_relative_to(self.home.path) else str(path)

    def _items(self, name: str, section: Any) -> Iterator[tuple[KeyPath, Any]]:
        if isinstance(section, list):
            yield from (((name, at), each) for at, each in enumerate(section))
        else:
            yield (name,), section


def leaves(value: Any, keys: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every value below a place that is neither a mapping nor a list, with its path."""
    if len(keys) > DEPTH_LIMIT:
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from leaves(each, (*keys, key if isinstance(key, int) else str(key)))
    elif isinstance(value, (list, tuple)):
        for at, each in enumerate(value):
            yield from leaves(each, (*keys, at))
    else:
        yield keys, value


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine's own."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def in_clear(url: Any) -> str | None:
    """Return the host of an address that is reached over the network without encryption; None for others."""
    if not isinstance(url, str) or not url.lower().startswith(("http://", "ws://")):
        return None
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return None
    return None if not host or is_loopback(host) else host
