"""Configuration of sessions: `session:`."""

from __future__ import annotations

from typing import Any

from hub.config.sections import Section
from hub.core.schema import All, Described, In, Length, Optional, Range, Required, Schema, ensure_list, integer, string

DM_SCOPES = ("auto", "main", "per-peer", "per-channel-peer", "per-account-channel-peer")
OPEN_TRANSCRIPTS = 256
SEND_RULES_LIMIT = 200

_ACTION = In(["allow", "deny"])
_TEXT = All(string, Length(min=1, max=512))
SEND_POLICY_SCHEMA = Schema(
    {
        Optional("default", default="allow", description="What holds where no rule matches."): _ACTION,
        Optional("rules", default=list, description="In order; the first that matches decides."): All(
            ensure_list(
                {
                    Required("action", description="allow or deny."): _ACTION,
                    Optional("match", default=dict, description="All that is stated must fit."): {
                        Optional("channel", description="Name of a channel."): _TEXT,
                        Optional("chat_type", description="direct, group or channel."): In(
                            ["direct", "group", "channel"]
                        ),
                        Optional(
                            "key_prefix", description="How the session key begins, with or without agent:<agent>:."
                        ): _TEXT,
                    },
                }
            ),
            Length(max=SEND_RULES_LIMIT),
        ),
    }
)


def _with_hyphens(value: Any) -> Any:
    return value.replace("_", "-") if isinstance(value, str) else value


_hyphens = Described(_with_hyphens, {}, "text")

SESSION_SCHEMA = Schema(
    {
        Optional(
            "dm_scope",
            default="auto",
            description="How direct conversations are separated; auto: an owner's share the main session, everyone "
            "else has one per channel and peer; main: all people of this home share it.",
        ): All(_hyphens, In(list(DM_SCOPES))),
        Optional(
            "send_policy", default=dict, description="Whether replies are sent to their chat, by session."
        ): SEND_POLICY_SCHEMA,
        Optional(
            "open_transcripts",
            default=OPEN_TRANSCRIPTS,
            description="Transcripts kept in memory; the others are read again when they are needed.",
        ): All(integer, Range(min=4, max=10_000)),
    }
)

SECTIONS = (Section("session", SESSION_SCHEMA, default={}, description="How conversations are separated and kept."),)
