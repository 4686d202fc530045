"""Configuration of sessions: `session:`."""

from __future__ import annotations

from typing import Any

from hub.config.sections import Section
from hub.core.schema import (
    All,
    Described,
    In,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    SchemaError,
    ensure_list,
    integer,
    number,
    slug,
    string,
)
from hub.sessions.reset import AT_HOUR, ResetMode

DM_SCOPES = ("auto", "main", "per-peer", "per-channel-peer", "per-account-channel-peer")
OPEN_TRANSCRIPTS = 256
SEND_RULES_LIMIT = 200
IDLE_MINUTES_LIMIT = 525_600
TRIGGERS_LIMIT = 20
ARCHIVE_DAYS_LIMIT = 3_650
PRUNE_DAYS_LIMIT = 3_650
BUDGET_MB_LIMIT = 10_000_000
CHANNELS_LIMIT = 100
BINDING_HOURS_LIMIT = 8_760

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


def _fits_mode(policy: dict[str, Any]) -> dict[str, Any]:
    mode = policy["mode"]
    if mode == ResetMode.IDLE and "idle_minutes" not in policy:
        raise SchemaError("mode: idle needs idle_minutes, such as idle_minutes: 120", path=["idle_minutes"])
    if mode == ResetMode.NONE and "idle_minutes" in policy:
        raise SchemaError("idle_minutes needs mode: idle, or mode: daily for both", path=["mode"])
    if mode != ResetMode.DAILY and "at_hour" in policy:
        raise SchemaError("at_hour needs mode: daily", path=["mode"])
    return policy


RESET_SCHEMA = All(
    {
        Optional(
            "mode",
            default=ResetMode.NONE.value,
            description="none: never; daily: when at_hour has passed since the last message; idle: after idle_minutes "
            "without one. Judged when a message comes.",
        ): In([each.value for each in ResetMode]),
        Optional(
            "at_hour", description=f"For daily: hour of the day in the time zone of the home; {AT_HOUR} without it."
        ): All(integer, Range(min=0, max=23)),
        Optional("idle_minutes", description="For idle; with daily, whichever comes first."): All(
            integer, Range(min=1, max=IDLE_MINUTES_LIMIT)
        ),
    },
    _fits_mode,
)


_HOURS = All(number, Range(min=0, max=BINDING_HOURS_LIMIT))
THREAD_BINDINGS_SCHEMA = {
    Optional("idle_hours", default=24, description="Hours without anything new in it; 0: no limit."): _HOURS,
    Optional("max_age_hours", default=0, description="Hours since it was bound; 0: no limit."): _HOURS,
}


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
        Optional("reset", default=dict, description="When a message begins a new conversation."): RESET_SCHEMA,
        Optional("reset_by_type", default=dict, description="In place of reset, by kind of conversation."): {
            Optional(kind, description=f"For {kind} conversations."): RESET_SCHEMA
            for kind in ("direct", "group", "thread")
        },
        Optional("reset_by_channel", default=dict, description="In place of both, by channel."): All(
            {slug: RESET_SCHEMA}, Length(max=CHANNELS_LIMIT)
        ),
        Optional(
            "reset_triggers",
            default=list,
            description="Words at the beginning of a message that begin a new conversation, as /new and /reset do.",
        ): All(ensure_list(All(string, Length(min=2, max=64))), Length(max=TRIGGERS_LIMIT)),
        Optional(
            "thread_bindings",
            default=dict,
            description="How long a thread stays with a subagent, or with what /focus bound it to.",
        ): THREAD_BINDINGS_SCHEMA,
        Optional(
            "archive_after",
            default=0,
            description="Days without anything new after which a conversation is left out of lists; 0: never. Nothing "
            "is deleted.",
        ): All(integer, Range(min=0, max=ARCHIVE_DAYS_LIMIT)),
        Optional(
            "prune_after",
            default=0,
            description="Days after which transcripts of deleted and archived conversations, and those from before a "
            "reset, are deleted for good; 0: never.",
        ): All(integer, Range(min=0, max=PRUNE_DAYS_LIMIT)),
        Optional(
            "disk_budget",
            default=0,
            description="Megabytes that conversations and long results of tools may take; beyond it, what is deleted, "
            "past or archived goes, the oldest first; 0: no limit.",
        ): All(integer, Range(min=0, max=BUDGET_MB_LIMIT)),
        Optional(
            "open_transcripts",
            default=OPEN_TRANSCRIPTS,
            description="Transcripts kept in memory; the others are read again when they are needed.",
        ): All(integer, Range(min=4, max=10_000)),
    }
)

SECTIONS = (Section("session", SESSION_SCHEMA, default={}, description="How conversations are separated and kept."),)
