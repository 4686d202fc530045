"""`exec.approvals.get|set`: which commands run without asking, `exec:` of the configuration in the protocol's shape.

Its `security` and `ask` together are our mode; its patterns are whole commands here, with `*` for one word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hub.config import edit
from hub.config.methods import ROOT_FILE
from hub.config.paths import KeyPath
from hub.config.store import ConfigStore
from hub.core.errors import InvalidRequest, NotFound
from hub.core.schema import REMOVE_EXTRA, All, AnyOf, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.tools.exec_rules import ALLOW_LIMIT

OWNER = "gateway"
ALL = "*"
"""The agent that stands for all of them."""
MODES = {
    "deny": ("deny", "off"),
    "allowlist": ("allowlist", "off"),
    "ask": ("allowlist", "on-miss"),
    "full": ("full", "off"),
}
_COMMAND = All(string, Length(min=1, max=1_000))
_ENTRY = Schema({Required("pattern"): _COMMAND, Optional("commandText"): _COMMAND}, extra=REMOVE_EXTRA)
_RULES = {
    Optional("security"): In(("deny", "allowlist", "full")),
    Optional("ask"): In(("off", "on-miss")),
    Optional("askFallback"): In(("deny",)),
    Optional("autoAllowSkills"): In((False,)),
}
_SET = Schema(
    {
        Required("file"): {
            Required("version"): In((1,)),
            Optional("socket"): dict,
            Optional("defaults", default=dict): _RULES,
            Optional("agents", default=dict): {
                All(string, Length(min=1, max=64)): {
                    **_RULES,
                    Optional("allowlist"): All([_ENTRY], Length(max=ALLOW_LIMIT)),
                }
            },
        },
        Required("baseHash"): AnyOf(None, All(string, Length(max=128))),
    }
)


class ExecPolicyMethods:
    """The methods.

    Args:
        config: Has the rules.
    """

    def __init__(self, config: ConfigStore) -> None:
        self._config = config

    def methods(self) -> list[Method]:
        """Return the methods."""
        return [
            Method("exec.approvals.get", self._get, OWNER, Schema({}), ADMIN),
            Method("exec.approvals.set", self._set, OWNER, _SET, ADMIN, acts=True),
        ]

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        _, hash = await asyncio.to_thread(self._config.read_file, ROOT_FILE, admin=True)
        return self._shown(hash)

    def _shown(self, hash: str) -> dict[str, Any]:
        places = self._places()
        agents = {name: _allowlist(rules) for name, (_, rules) in places.items()}
        for name, (_, rules) in places.items():
            if name != ALL and "mode" in rules:
                agents[name] |= dict(zip(("security", "ask"), MODES[rules["mode"]], strict=True))
        security, ask = MODES[places[ALL][1].get("mode", "ask")]
        defaults = {"security": security, "ask": ask, "askFallback": "deny", "autoAllowSkills": False}
        return {
            "path": str(self._config.home / ROOT_FILE),
            "exists": True,
            "hash": hash,
            "file": {
                "version": 1,
                "defaults": defaults,
                "agents": {name: rules for name, rules in agents.items() if rules},
            },
            "resolvedDefaults": defaults,
        }

    async def _set(self, call: MethodCall) -> Mapping[str, Any]:
        file = call.params["file"]
        places = self._places()
        text, _ = await asyncio.to_thread(self._config.read_file, ROOT_FILE, admin=True)
        wanted = {name: dict(rules) for name, rules in file["agents"].items()}
        wanted.setdefault(ALL, {}).update(file["defaults"])
        if unknown := sorted(wanted.keys() - places.keys()):
            raise NotFound(f"exec.approvals.set: file.agents: there is no agent {unknown[0]!r}")
        for name, (keys, now) in places.items():
            rules = wanted.get(name, {})
            values = {"mode": _mode(name, rules), "allow": _lines(rules)}
            for key, value in values.items():
                if value and value != now.get(key):
                    text = edit.set_value(text, (*keys, key), value)
                elif not value and key in now:
                    text = edit.remove(text, (*keys, key))
        saved = await asyncio.to_thread(
            self._config.write_file, ROOT_FILE, text, call.params["baseHash"], must_be_valid=True
        )
        return {"ok": True, "hash": saved.hash, "path": str(self._config.home / ROOT_FILE)}

    def _places(self) -> dict[str, tuple[KeyPath, Mapping[str, Any]]]:
        """Return the configured commands and places, for all agents and for each."""
        current = self._config.current.raw
        found: dict[str, tuple[KeyPath, Mapping[str, Any]]] = {ALL: (("exec",), current.get("exec") or {})}
        for index, agent in enumerate(current.get("agents") or ()):
            if isinstance(agent, Mapping) and "id" in agent:
                found[str(agent["id"])] = (("agents", index, "exec"), agent.get("exec") or {})
        return found


def _allowlist(rules: Mapping[str, Any]) -> dict[str, Any]:
    lines = rules.get("allow") or []
    lines = [lines] if isinstance(lines, str) else lines
    return {"allowlist": [{"pattern": line, "commandText": line} for line in lines]} if lines else {}


def _lines(rules: Mapping[str, Any]) -> list[str]:
    return [each.get("commandText") or each["pattern"] for each in rules.get("allowlist", ())]


def _mode(name: str, rules: Mapping[str, Any]) -> str | None:
    if "security" not in rules and "ask" not in rules:
        return None
    wanted = (rules.get("security", "allowlist"), rules.get("ask", "off"))
    found = next((mode for mode, words in MODES.items() if words == wanted), None)
    if found is None:
        known = "; ".join(f"security {security} with ask {ask}" for security, ask in MODES.values())
        raise InvalidRequest(f"exec.approvals.set: {name}: expected one of: {known}")
    return found
