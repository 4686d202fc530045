"""Configuration of messaging: `bindings:` and `messages:`, and what every channel account may say about access."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from hub.config.sections import CheckReport, CrossCheck, Section
from hub.core.schema import All, In, Optional, Range, Required, Schema, boolean, ensure_list, integer, slug, string
from hub.messaging.access import AccessPolicy, DmPolicy, GroupPolicy
from hub.messaging.contract import ChatType
from hub.messaging.outbound_policy import MESSAGE_SENDING_KEYS
from hub.messaging.queue_policy import INBOUND_SCHEMA, QUEUE_SCHEMA
from hub.sessions.keys import DEFAULT_AGENT

TEXT_LIMIT = 100_000
PARALLEL_RUNS = 16
KEEP_DAYS = 90

MEDIA_SCHEMA = Schema(
    {
        Optional("file_mb", default=20, description="Megabytes of one attachment that are fetched."): All(
            integer, Range(min=1, max=2_000)
        ),
        Optional("keep_days", default=30, description="Days for which attachments are kept."): All(
            integer, Range(min=1, max=36_500)
        ),
        Optional(
            "transcription_model",
            description="Model that turns voice messages into text, such as groq/whisper-large-v3.",
        ): string,
    }
)

BINDING_SCHEMA = Schema(
    {
        Required("agent", description="Id of the agent that answers."): slug,
        Required("match", description="All that is stated must fit; the most specific binding wins."): {
            Optional("channel", description="Name of a channel, for example telegram."): slug,
            Optional("account", description="Account of that channel."): string,
            Optional("peer", description="The platform's id of a person or group."): string,
            Optional("chat_type", description="direct, group or channel."): In([each.value for each in ChatType]),
        },
    }
)
BINDINGS_SCHEMA = Schema([BINDING_SCHEMA])

MESSAGES_SCHEMA = Schema(
    {
        Optional("queue", default=dict, description="What becomes of messages that arrive while it is busy."): (
            QUEUE_SCHEMA
        ),
        Optional("inbound", default=dict, description="How messages in chat apps come in."): INBOUND_SCHEMA,
        Optional(
            "parallel_runs", default=PARALLEL_RUNS, description="Runs that go on at once, over all sessions."
        ): All(integer, Range(min=1, max=256)),
        Optional(
            "keep_days",
            default=KEEP_DAYS,
            description="Days for which messages that were answered, refused or sent are kept beside the transcripts.",
        ): All(integer, Range(min=1, max=36_500)),
        Optional("media", default=dict, description="Attachments."): MEDIA_SCHEMA,
        **MESSAGE_SENDING_KEYS,
        Optional("text_limit", default=TEXT_LIMIT, description="Characters of one message that are read."): All(
            integer, Range(min=1_000, max=1_000_000)
        ),
    }
)

SECTIONS = (
    Section(
        "bindings",
        BINDINGS_SCHEMA,
        default=[],
        description="Which agent answers where; the default agent where nothing is said",
        each_item=True,
    ),
    Section(
        "messages",
        MESSAGES_SCHEMA,
        default={},
        description="Bounds on messages and on how many are answered at once",
    ),
)


def _bound_agents_exist(config: Mapping[str, Any], report: CheckReport) -> None:
    stated = config.get("agents")
    if stated is None:
        return  # they are broken and have their own errors
    agents = [agent["id"] for agent in stated] or [DEFAULT_AGENT]
    for index, binding in enumerate(config.get("bindings") or ()):
        if binding["agent"] not in agents:
            near = get_close_matches(binding["agent"], agents, n=1)
            report.error(
                ("bindings", index, "agent"),
                f"there is no agent {binding['agent']!r}",
                f"Did you mean {near[0]}?" if near else f"There are: {', '.join(agents)}.",
            )


CROSS_CHECKS: Mapping[str, CrossCheck] = {"bindings": _bound_agents_exist}

ACCESS_KEYS: Mapping[Any, Any] = {
    Optional(
        "dm_policy", default="owner", description="Direct messages are accepted from: owner, people, allowlist or open."
    ): In([each.value for each in DmPolicy]),
    Optional("allow_from", default=list, description="Further identities that may, such as telegram:user:123."): (
        ensure_list(string)
    ),
    Optional("group_policy", default="disabled", description="Which groups are answered: disabled or allowlist."): In(
        [each.value for each in GroupPolicy]
    ),
    Optional("groups", default=list, description="Ids of the groups on the allow-list."): ensure_list(string),
    Optional("require_mention", default=True, description="Whether a group message must address it."): boolean,
}
"""Keys that every channel's account schema takes in, so that access reads the same everywhere."""


def access_policy(account: Mapping[str, Any]) -> AccessPolicy:
    """Return the policy that a validated account states."""
    return AccessPolicy(
        dm=DmPolicy(account["dm_policy"]),
        allow_from=frozenset(account["allow_from"]),
        group=GroupPolicy(account["group_policy"]),
        groups=frozenset(account["groups"]),
        require_mention=account["require_mention"],
    )
