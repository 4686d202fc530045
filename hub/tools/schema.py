"""Configuration of tools: `tools:`, and the same keys where an agent narrows them."""

from __future__ import annotations

from hub.config.sections import Section
from hub.core.schema import All, In, Match, Optional, Range, Schema, ensure_list, integer, positive_seconds
from hub.tools.profiles import PROFILES

MEDIA_LIMIT_BYTES = 8 * 1024 * 1024

_name = All(str, Match(r"^(group:)?[a-z][a-z0-9_-]{0,63}$", msg="expected the name of a tool, or group:<group>"))

POLICY_KEYS = {
    Optional("profile", description="Which tools there are at all, before allow and deny."): In(sorted(PROFILES)),
    Optional("allow", description="Only these of them: names, or group:<group>."): ensure_list(_name),
    Optional("deny", default=list, description="Not these of them: names, or group:<group>."): ensure_list(_name),
}
"""Keys of `tools:` at the top level and of `tools:` of an agent; all that is stated must permit a tool."""

TOOLS_SCHEMA = Schema(
    {
        **POLICY_KEYS,
        Optional(
            "tainted",
            default=dict,
            description="Narrower rules while words from outside are in a session, beside the built-in ones.",
        ): {
            Optional("allow", description="Only these: names, or group:<group>."): ensure_list(_name),
            Optional("deny", default=list, description="Not these: names, or group:<group>."): ensure_list(_name),
        },
        Optional(
            "strangers",
            default="minimal",
            description="Profile for those who are neither people of this home nor hold a token of it.",
        ): In(sorted(PROFILES)),
        Optional("timeout", description="Upper bound on one call of any tool, over the tool's own."): positive_seconds,
        Optional("output_limit", description="Upper bound on the characters of one result, over the tool's own."): All(
            integer, Range(min=500, max=1_000_000)
        ),
    }
)

SECTIONS = (Section("tools", TOOLS_SCHEMA, default={}, description="Which tools agents may use."),)
