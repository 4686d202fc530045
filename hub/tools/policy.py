"""Tool policy: pure rules over configuration, authority and the annotations of a tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from hub.core.context import Authority, ToolPolicy
from hub.tools.contract import Tool
from hub.tools.profiles import PROFILES

_ANYTHING = ToolPolicy()
_MINIMAL = ToolPolicy(allow=PROFILES["minimal"])


class ToolRules(Struct, frozen=True):
    """What the configuration says of tools.

    Attributes:
        policies: All must permit a tool.
        tainted: Must permit it too while the authority is tainted.
        strangers: Must permit it too for those who do not belong to this home.
        timeout_s: Upper bound over each tool's own.
        output_limit: Upper bound over each tool's own.
    """

    policies: tuple[ToolPolicy, ...] = ()
    tainted: ToolPolicy = _ANYTHING
    strangers: ToolPolicy = _MINIMAL
    timeout_s: float | None = None
    output_limit: int | None = None

    @classmethod
    def from_config(cls, section: Mapping[str, Any]) -> ToolRules:
        """Read the validated section `tools:`."""
        return cls(
            policies=policies_from_config(section),
            tainted=_policy(section.get("tainted") or {}),
            strangers=profile_policy(section.get("strangers", "minimal")),
            timeout_s=section.get("timeout"),
            output_limit=section.get("output_limit"),
        )


def profile_policy(name: str) -> ToolPolicy:
    """Return what a profile allows.

    Raises:
        KeyError: There is no such profile; schemas let none in.
    """
    return ToolPolicy(allow=PROFILES[name])


def policies_from_config(section: Mapping[str, Any] | None) -> tuple[ToolPolicy, ...]:
    """Return the policies that a validated `tools:` states, at the top level or of an agent; they meet."""
    if not section:
        return ()
    stated = []
    if section.get("profile", "full") != "full":
        stated.append(profile_policy(section["profile"]))
    own = _policy(section)
    if own != _ANYTHING:
        stated.append(own)
    return tuple(stated)


def belongs_here(authority: Authority) -> bool:
    """Return whether the caller belongs to this home: an owner, a person, or the holder of a token that may write."""
    return authority.owner or authority.person is not None or authority.has("operator.write")


def listed(tool: Tool, authority: Authority, policies: Iterable[ToolPolicy], rules: ToolRules) -> bool:
    """Whether a tool is shown to an authority at all.

    Taint does not count: it changes within a session, and the list is in the stable head of the prompt.
    """
    return _hidden(tool, authority, policies, rules) is None


def refusal(tool: Tool, authority: Authority, policies: Iterable[ToolPolicy], rules: ToolRules) -> str | None:
    """Return why an authority may not use a tool, even with approval; None when it may, or may ask."""
    why_not = _hidden(tool, authority, policies, rules)
    if why_not is None and authority.tainted and not rules.tainted.permits(tool.name, tool.group):
        return f"{tool.name} is switched off while words from outside are in this conversation (tools.tainted)"
    return why_not


def needs_approval(tool: Tool, arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why the owner has to approve a call, or None.

    An allow-list: in a session with words from outside, only what reads and cannot carry data out is not asked about,
    and what the tool itself lets through.
    """
    if tool.approval is not None:
        return tool.approval(arguments, authority)
    if not authority.tainted or (tool.annotations.read_only and not tool.annotations.egress):
        return None
    return f"words from outside are in this conversation, and {tool.name} may do what they say"


def _hidden(tool: Tool, authority: Authority, policies: Iterable[ToolPolicy], rules: ToolRules) -> str | None:
    if tool.annotations.owner_only and not authority.owner:
        return f"{tool.name} is for the owner of this home only"
    if not authority.permits_tool(tool.name, tool.group):
        return f"{tool.name} is not allowed here"
    if not all(policy.permits(tool.name, tool.group) for policy in (*rules.policies, *policies)):
        return f"{tool.name} is switched off in the configuration (tools)"
    if not belongs_here(authority) and not rules.strangers.permits(tool.name, tool.group):
        return f"{tool.name} is for the people of this home only"
    return None


def _policy(section: Mapping[str, Any]) -> ToolPolicy:
    allow = section.get("allow")
    return ToolPolicy(
        allow=None if allow is None else frozenset(allow),
        deny=frozenset(section.get("deny") or ()),
    )
