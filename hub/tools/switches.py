"""Tools as switches: which of them rules leave on, and the rules with some of them switched. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from hub.core.context import ToolPolicy
from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.tools.policy import policies_from_config

GROUP = "group:"

Named = Sequence[tuple[str, str]]
"""Tools as (name, group)."""


def enabled_tools(tools: Named, rules: Mapping[str, Any]) -> set[str]:
    """Return the names of the tools that rules leave on.

    Args:
        rules: Validated, as `tools:` and `agents[].tools` have them.
    """
    policies = policies_from_config(rules, "")
    return {name for name, group in tools if all(each.permits(name, group) for each in policies)}


def named_tools(tools: Named, rules: Mapping[str, Any]) -> set[str]:
    """Return the names of the tools that rules name, themselves or by their group: optional ones are on by that."""
    policies = policies_from_config(rules, "")
    return {name for name, group in tools if any(each.names(name, group) for each in policies)}


def switch_tools(
    tools: Named, rules: Mapping[str, Any], switches: Mapping[str, bool], optional: Collection[str] = ()
) -> dict[str, Any]:
    """Return rules with tools switched on or off; those for other tools stay.

    Args:
        rules: Validated; the returned ones are to be written.
        switches: By the name of a tool, or `group:<group>`.
        optional: Names of the tools that are off unless they are named.

    Raises:
        InvalidRequest: There is no such tool, or a pattern of the rules switches it off.
    """
    groups: dict[str, list[str]] = {}
    for name, group in tools:
        groups.setdefault(group, []).append(name)
    group_of = dict(tools)
    denied, also = list(rules.get("deny") or ()), list(rules.get("also_allow") or ())
    for key, on in switches.items():
        group = key.removeprefix(GROUP) if key.startswith(GROUP) else group_of.get(key, "")
        if group not in groups:
            raise InvalidRequest(phrase("There is no tool {name}.", name=key[:64]), details={"field": "tools"})
        members = groups[group] if key.startswith(GROUP) else [key]
        whole = f"{GROUP}{group}"
        gone = {key, *members}
        also = [each for each in also if each not in gone]
        if not on:
            denied = [*(each for each in denied if each not in gone), key]
            continue
        if whole in denied and key != whole:  # the others of its group stay off
            others = [name for name in groups[group] if name != key]
            denied = [each for each in denied if each != whole] + [each for each in others if each not in denied]
        denied = [each for each in denied if each not in gone]
        _refuse_patterns(denied, members, group)
        base = policies_from_config({**rules, "deny": [], "also_allow": also}, "")
        unnamed = any(name in optional and not any(each.names(name, group) for each in base) for name in members)
        if unnamed or not all(each.permits(name, group) for name in members for each in base):
            also = [*also, key]
    kept = {key: value for key, value in rules.items() if key not in ("deny", "also_allow") and value not in ({}, None)}
    return kept | ({"also_allow": also} if also else {}) | ({"deny": denied} if denied else {})


def _refuse_patterns(denied: Iterable[str], members: Iterable[str], group: str) -> None:
    for pattern in denied:
        for name in members:
            if not ToolPolicy(deny=frozenset({pattern})).permits(name, group):
                raise InvalidRequest(
                    phrase("{name} is switched off by {pattern}; change that in the file.", name=name, pattern=pattern),
                    details={"field": "tools"},
                )
