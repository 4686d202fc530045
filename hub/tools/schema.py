"""Configuration of tools: `tools:`, and the same keys where an agent narrows them."""

from __future__ import annotations

import re
from typing import Any

from hub.config.sections import Section
from hub.core.schema import (
    All,
    AnyOf,
    Described,
    In,
    Invalid,
    Length,
    Match,
    Optional,
    Range,
    Schema,
    boolean,
    ensure_list,
    integer,
    positive_seconds,
    slug,
)
from hub.models.schema import model_ref
from hub.security.people import identity
from hub.tools.profiles import GROUP_ALIASES, PROFILES, TOOL_ALIASES

MEDIA_LIMIT_BYTES = 8 * 1024 * 1024

_NAME = re.compile(r"(group:)?[a-z*?][a-z0-9_*?-]{0,63}")


def _tool_name(value: Any) -> str:
    """Return the normalised name of a tool or group: in lower case, with our name for a group."""
    name = value.lower() if isinstance(value, str) else ""
    if not _NAME.fullmatch(name):
        raise Invalid("expected the name of a tool, or group:<group>; * and ? stand for any characters")
    return GROUP_ALIASES.get(name) or TOOL_ALIASES.get(name, name)


_name = Described(_tool_name, {"type": "string"}, "text")
_names = ensure_list(_name)

POLICY_KEYS = {
    Optional("profile", description="Which tools there are at all, before allow and deny."): In(sorted(PROFILES)),
    Optional("allow", description="Only these of them: names, or group:<group>."): _names,
    Optional("also_allow", default=list, description="These too, beside what profile and allow say here."): _names,
    Optional("deny", default=list, description="Not these of them: names, or group:<group>."): _names,
}
"""Rules for tools as a group of a channel has them; all that is stated must permit a tool."""

TOOL_KEYS = {
    **POLICY_KEYS,
    Optional(
        "by_provider",
        default=dict,
        description="Further rules while a model of this provider (anthropic), or this model (openai/gpt-5), answers.",
    ): {All(str, Match(r"^[^/\s]+(/\S+)?$", msg="expected a provider, or provider/model")): POLICY_KEYS},
}
"""Rules for tools at the top level and of an agent."""

TOOLS_SCHEMA = Schema(
    {
        **TOOL_KEYS,
        Optional(
            "tainted",
            default=dict,
            description="Narrower rules while text that others wrote is in a session, beside the built-in ones.",
        ): {
            Optional("allow", description="Only these: names, or group:<group>."): _names,
            Optional("deny", default=list, description="Not these: names, or group:<group>."): _names,
        },
        Optional(
            "strangers",
            default="minimal",
            description="Profile for those who are neither people of this home nor hold a token of it.",
        ): In(sorted(PROFILES)),
        Optional(
            "agent_to_agent", default=dict, description="Messages of agents to other agents, by the tool sessions_send."
        ): {
            Optional("enabled", default=False, description="Whether agents write to each other."): boolean,
            Optional(
                "allow", default=lambda: ["*"], description="Agents that may write and be written to; * is every one."
            ): All(ensure_list(AnyOf("*", slug)), Length(max=100)),
            Optional("max_turns", default=5, description="Turns to and fro behind the first answer."): All(
                integer, Range(min=0, max=5)
            ),
        },
        Optional(
            "image_model", description="Model that looks at pictures for the tool image; without it the agent's own."
        ): model_ref,
        Optional(
            "elevated",
            default=True,
            description="Whether an owner may let commands of a conversation run on the hub's machine by /elevated.",
        ): boolean,
        Optional(
            "elevated_from",
            description="Identities of owners that may do so in chat apps, such as telegram:user:123; without it all.",
        ): All(ensure_list(identity), Length(max=100)),
        Optional("timeout", description="Upper bound on one call of any tool, over the tool's own."): positive_seconds,
        Optional("output_limit", description="Upper bound on the characters of one result, over the tool's own."): All(
            integer, Range(min=500, max=1_000_000)
        ),
    }
)

SECTIONS = (Section("tools", TOOLS_SCHEMA, default={}, description="Which tools agents may use."),)
