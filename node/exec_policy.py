"""Judges commands for this node: its own file of rules, and the rules of `node/rules`. Pure but for the file.

The file has OpenClaw's form: `{"version": 1, "defaults": {"security", "ask"}, "agents": {ID: {…, "allowlist": […]}}}`.
`security` is `deny`, `allowlist` (the default) or `full`; `ask` is `off`, `on-miss` (the default) or `always`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from .binding import BoundProgram
from .home import NodeHome, NodeProblem
from .rules.allowed_words import allowed_words, is_allowed
from .rules.command_line import CommandRefused, runs_others
from .rules.harmless import grammar_of, path_operands

SECURITY = ("deny", "allowlist", "full")
ASK = ("off", "on-miss", "always")
RULES_LIMIT = 500
ANYONE = "*"
"""The agent whose rules are for all of them."""


class RunVerdict(StrEnum):
    """The decision about a command."""

    RUN = "run"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class RunJudgement:
    """A verdict and the reason for a refusal; `may_persist` says whether exactly this can be allowed for good."""

    verdict: RunVerdict
    why: str = ""
    may_persist: bool = False


@dataclass(frozen=True, slots=True)
class ExecPolicy:
    """The rules for one agent."""

    security: str = "allowlist"
    ask: str = "on-miss"
    allowlist: tuple[Mapping[str, Any], ...] = ()

    def judge(self, bound: BoundProgram, *, plain: bool) -> RunJudgement:
        """Return the decision about a command; `plain` means that it sets no environment."""
        if self.security == "deny":
            return RunJudgement(RunVerdict.DENY, "this node runs no commands (security: deny)")
        missed = RunVerdict.DENY if self.ask == "off" else RunVerdict.ASK
        if self.security == "full":
            return RunJudgement(RunVerdict.ASK if self.ask == "always" else RunVerdict.RUN, "this node asks about each")
        words = bound.command.words
        other = runs_others(words) or runs_others((bound.path,)) if words else "it is shell text"
        if other is not None:
            return RunJudgement(missed, f"{other}, which is asked about each time")
        if not plain:
            return RunJudgement(missed, "it has an environment of its own")
        if self.ask == "always":
            return RunJudgement(RunVerdict.ASK, "this node asks about each", may_persist=True)
        if any(_fits(rule, bound) for rule in self.allowlist) or _is_harmless(bound):
            return RunJudgement(RunVerdict.RUN)
        return RunJudgement(missed, "it is not known to be harmless", may_persist=True)


def policy_for(home: NodeHome, agent_id: str | None) -> ExecPolicy:
    """Read the rules for an agent: its own before those for all, before the defaults.

    Raises:
        NodeProblem: The file is not valid; nothing runs until it is.
    """
    file, where = home.read(home.approvals_file), home.approvals_file
    agents = _object(file, "agents", where)
    sections = [_object(agents, name, where) for name in (agent_id or ANYONE, ANYONE)]
    sections.append(_object(file, "defaults", where))
    found = {}
    for key, choices in (("security", SECURITY), ("ask", ASK)):
        value = next((each[key] for each in sections if key in each), None)
        if value is not None and value not in choices:
            raise NodeProblem(f"{where}: {key}: expected {', '.join(choices)}, got {value!r:.40}")
        if value is not None:
            found[key] = value
    rules: list[Mapping[str, Any]] = []
    for each in sections:
        listed = each.get("allowlist", [])
        if not isinstance(listed, list) or not all(_is_rule(rule) for rule in listed):
            raise NodeProblem(
                f"{where}: allowlist: expected a list of "
                '{"command": "systemctl status *"} or of {"pattern": "/usr/bin/uptime", "argPattern": "…"}'
            )
        rules += listed
    return ExecPolicy(**found, allowlist=tuple(rules))


def allow_always(home: NodeHome, agent_id: str | None, bound: BoundProgram) -> None:
    """Allow exactly this command, in this folder, by this program, for good.

    Raises:
        NodeProblem: There are too many rules, or the file is not valid.
    """
    file = home.read(home.approvals_file) or {"version": 1, "defaults": {}, "agents": {}}
    section = file.setdefault("agents", {}).setdefault(agent_id or ANYONE, {})
    rules = section.setdefault("allowlist", [])
    if len(rules) >= RULES_LIMIT:
        raise NodeProblem(f"{home.approvals_file} has {RULES_LIMIT} rules already; remove some")
    rules.append({**exactly(bound), "commandText": bound.command.text, "addedAtMs": int(time.time() * 1000)})
    home.write(home.approvals_file, file)


def exactly(bound: BoundProgram) -> dict[str, str]:
    """Return the rule that allows this command alone."""
    files = (f"{path}={digest}" for path, digest in bound.files.items())
    said = "\0".join((bound.cwd, bound.name, *bound.command.words[1:], *files))
    return {
        "pattern": bound.path,
        "argPattern": f"sha256:cwd-argv:v1:{sha256(said.encode()).hexdigest()}",
        "sha256": bound.digest,
    }


def _fits(rule: Mapping[str, Any], bound: BoundProgram) -> bool:
    if "command" in rule:
        try:
            return bound.system and is_allowed(bound.command.words, allowed_words(rule["command"]))
        except CommandRefused:
            return False
    return all(rule.get(key) == value for key, value in exactly(bound).items())


def _is_harmless(bound: BoundProgram) -> bool:
    """Whether it only looks at the machine: programs of the system that print nothing of the content of files."""
    words = bound.command.words
    grammar = grammar_of(words)
    is_known = grammar is not None and grammar.lists and not path_operands(words, grammar)
    return is_known and bound.system and PurePath(bound.path).name == words[0]


def _is_rule(rule: object) -> bool:
    if not isinstance(rule, dict):
        return False
    return isinstance(rule.get("command"), str) or (
        isinstance(rule.get("pattern"), str) and isinstance(rule.get("argPattern"), str)
    )


def _object(data: Mapping[str, Any], key: str, where: object) -> dict[str, Any]:
    found = data.get(key, {})
    if not isinstance(found, dict):
        raise NodeProblem(f"{where}: {key}: expected an object")
    return found
