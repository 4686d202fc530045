"""Tool policy: pure rules over configuration, authority and the annotations of a tool."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hub.core.context import Authority, ToolPolicy
from hub.core.phrases import phrase
from hub.tools.contract import Tool
from hub.tools.profiles import PROFILES

_MINIMAL = ToolPolicy(allow=PROFILES["minimal"])

ModelPolicies = Mapping[str, tuple[ToolPolicy, ...]]
"""Policies by provider or `provider/model`."""


class ToolRules(Struct, frozen=True):
    """The configured rules for tools.

    Attributes:
        policies: All must permit a tool.
        by_provider: Must permit it too while a model of that name answers.
        tainted: Must permit it too while the authority is tainted.
        strangers: Must permit it too for those who do not belong to this home.
        timeout_s: Upper bound over each tool's own.
        output_limit: Upper bound over each tool's own.
    """

    policies: tuple[ToolPolicy, ...] = ()
    by_provider: ModelPolicies = field(default_factory=dict)
    tainted: ToolPolicy = ToolPolicy()
    strangers: ToolPolicy = _MINIMAL
    timeout_s: float | None = None
    output_limit: int | None = None

    @classmethod
    def from_config(cls, section: Mapping[str, Any]) -> ToolRules:
        """Read the validated section `tools:`."""
        return cls(
            policies=policies_from_config(section, "tools"),
            by_provider=model_policies_from_config(section, "tools"),
            tainted=_policy(section.get("tainted") or {}, "tools.tainted"),
            strangers=profile_policy(section.get("strangers", "minimal"), "tools.strangers"),
            timeout_s=section.get("timeout"),
            output_limit=section.get("output_limit"),
        )


class LayerVerdict(Struct, frozen=True):
    """The verdict of one layer of the rules on a tool.

    Attributes:
        layer: The rule, by its place in the configuration where it has one.
        permits: Whether it permits the tool.
        reason: Why not, for people and models.
    """

    layer: str
    permits: bool
    reason: str


def profile_policy(name: str, source: str = "") -> ToolPolicy:
    """Return the policy of a profile.

    Raises:
        KeyError: There is no such profile; schemas let none in.
    """
    return ToolPolicy(allow=PROFILES[name], source=source)


def policies_from_config(section: Mapping[str, Any] | None, source: str) -> tuple[ToolPolicy, ...]:
    """Return the policies in validated rules for tools; all must permit a tool.

    Args:
        section: The rules, of the hub, an agent, a provider or a group.
        source: Where they are configured.
    """
    if not section:
        return ()
    profile = profile_policy(section.get("profile", "full"), f"{source}.profile")
    own = _policy(section, source)
    also = frozenset(section.get("also_allow") or ())
    if named := also | frozenset(section.get("allow") or ()):
        own = replace(own, named=named)
    if also:
        profile, own = (
            each if each.allow is None else replace(each, allow=each.allow | also) for each in (profile, own)
        )
    return tuple(each for each in (profile, own) if each.allow is not None or each.deny or each.named)


def model_policies_from_config(section: Mapping[str, Any] | None, source: str) -> ModelPolicies:
    """Return the policies of `by_provider` in validated rules for tools."""
    stated = (section or {}).get("by_provider") or {}
    return {name: policies_from_config(rules, f"{source}.by_provider.{name}") for name, rules in stated.items()}


def policies_for_model(by_provider: ModelPolicies, ref: str | None) -> tuple[ToolPolicy, ...]:
    """Return the policies for a model, or else for its provider.

    Args:
        ref: `provider/model`; None while it is not known.
    """
    if not by_provider or ref is None:
        return ()
    return by_provider.get(ref) or by_provider.get(ref.partition("/")[0], ())


def belongs_here(authority: Authority) -> bool:
    """Return whether the caller belongs to this home: an owner, a person, or the holder of a token that may write."""
    return authority.owner or authority.person is not None or authority.has("operator.write")


def is_listed(tool: Tool, authority: Authority, policies: Iterable[ToolPolicy], rules: ToolRules) -> bool:
    """Whether a tool is shown to an authority at all.

    Taint does not count: it changes within a session, and the list is in the stable head of the prompt.
    """
    return all(verdict.permits for verdict in _standing_layers(tool, authority, policies, rules))


def refusal(tool: Tool, authority: Authority, policies: Iterable[ToolPolicy], rules: ToolRules) -> str | None:
    """Return why an authority may not use a tool, even with approval; None when it may, or may ask."""
    for verdict in explain_tool(tool, authority, policies, rules):
        if not verdict.permits:
            return verdict.reason
    return None


def explain_tool(
    tool: Tool, authority: Authority, policies: Iterable[ToolPolicy], rules: ToolRules
) -> Iterator[LayerVerdict]:
    """Yield the verdict of each layer of the rules on a tool; the first refusal decides."""
    yield from _standing_layers(tool, authority, policies, rules)
    if authority.tainted:
        yield LayerVerdict(
            "tools.tainted",
            rules.tainted.permits(tool.name, tool.group),
            f"{tool.name} is switched off while text that others wrote is in this conversation (tools.tainted)",
        )


def needs_approval(
    tool: Tool, arguments: Mapping[str, Any], authority: Authority, secrets: Collection[str] = ()
) -> str | None:
    """Return why the owner has to approve a call, or None.

    An allow-list: in a session with words from outside, only what reads and cannot carry data out is not asked about,
    and what the tool itself lets through without a secret.

    Args:
        secrets: Names of those that the call is given.
    """
    if tool.approval is not None and (reason := tool.approval(arguments, authority)) is not None:
        return reason
    if authority.tainted and secrets:
        return phrase(
            "text that others wrote is in this conversation, and {tool} is given {secrets}",
            tool=tool.name,
            secrets=sorted(secrets),
        )
    if tool.approval is not None:
        return None
    if not authority.tainted or (tool.annotations.read_only and not tool.annotations.egress):
        return None
    return phrase("text that others wrote is in this conversation, and {tool} may do what it says", tool=tool.name)


def _standing_layers(
    tool: Tool, authority: Authority, policies: Iterable[ToolPolicy], rules: ToolRules
) -> Iterator[LayerVerdict]:
    name, group = tool.name, tool.group
    policies = tuple(policies)
    # What an authority carries only narrows, so it switches nothing on.
    if tool.optional and not any(policy.names(name, group) for policy in (*rules.policies, *policies)):
        yield LayerVerdict("optional", False, f"{name} is optional: it is off unless tools: also_allow: names it")
    if tool.annotations.owner_only:
        yield LayerVerdict("owner", authority.owner, f"{name} is for the owner of this home only")
    for policy in (*rules.policies, *policies):
        where = policy.source or "tools"
        reason = f"{name} is switched off in the configuration ({where})"
        yield LayerVerdict(where, policy.permits(name, group), reason)
    for policy in authority.tool_policies:
        yield LayerVerdict(policy.source or "caller", policy.permits(name, group), f"{name} is not allowed here")
    if not belongs_here(authority):
        reason = f"{name} is for the people of this home only"
        yield LayerVerdict("tools.strangers", rules.strangers.permits(name, group), reason)


def _policy(section: Mapping[str, Any], source: str) -> ToolPolicy:
    allow = section.get("allow")
    return ToolPolicy(None if allow is None else frozenset(allow), frozenset(section.get("deny") or ()), source)
