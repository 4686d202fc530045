"""Configuration of messaging: `bindings:` and `messages:`, and what every channel account may say about access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hub.agent.schema import MENTION_PATTERNS_LIMIT
from hub.config.sections import CheckReport, CrossCheck, Section
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    AnyOf,
    Described,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Schema,
    as_list,
    boolean,
    ensure_list,
    integer,
    slug,
    string,
)
from hub.messaging.access import routing_schema
from hub.messaging.access.access import ANYBODY, AccessPolicy, Activation, DmPolicy, GroupPolicy, GroupSettings
from hub.messaging.access.routing_schema import ids_as_keys, platform_id
from hub.messaging.outbox.outbound_policy import MESSAGE_SENDING_KEYS
from hub.messaging.queue.queue_policy import INBOUND_SCHEMA, QUEUE_SCHEMA
from hub.models.schema import model_ref
from hub.security.people import identity
from hub.skills.schema import skill_names
from hub.template.searching import caseless_pattern
from hub.tools.policy import policies_from_config
from hub.tools.schema import POLICY_KEYS

TEXT_LIMIT = 100_000
PARALLEL_RUNS = 16
KEEP_DAYS = 90
SENDERS_LIMIT = 1_000
GROUPS_LIMIT = 1_000
SYSTEM_PROMPT_LIMIT = 20_000

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
        ): model_ref,
    }
)

MESSAGES_SCHEMA = Schema(
    {
        Optional("queue", default=dict, description="How messages that arrive while it is busy are handled."): (
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
    *routing_schema.SECTIONS,
    Section(
        "messages",
        MESSAGES_SCHEMA,
        default={},
        description="Bounds on messages and on how many are answered at once",
    ),
)


def _accounts(config: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """Yield every account of every channel, and where it is: each mapping that took in `ACCESS_KEYS`."""
    for name, section in config.items():
        places = enumerate(section) if isinstance(section, list) else [(None, section)]
        for index, account in places:
            if isinstance(account, Mapping) and "dm_policy" in account and "group_allow_from" in account:
                yield (name,) if index is None else (name, index), account


def _open_is_meant(config: Mapping[str, Any], report: CheckReport) -> None:
    for keys, account in _accounts(config):
        is_open = account["dm_policy"] == DmPolicy.OPEN
        if is_open is not (ANYBODY in account["allow_from"]):
            report.error(
                (*keys, "dm_policy" if is_open else "allow_from"),
                phrase('everybody may write only where both are stated: dm_policy: open and allow_from: ["*"]'),
                phrase('Add allow_from: ["*"] if that is meant; else choose dm_policy: pairing.')
                if is_open
                else phrase("Set dm_policy: open if that is meant; else list identities such as telegram:user:123."),
            )


def _agents_of_groups_exist(config: Mapping[str, Any], report: CheckReport) -> None:
    for keys, account in _accounts(config):
        for group, stated in account["groups"].items():
            if "agent" in stated:
                routing_schema.check_agent(config, report, (*keys, "groups", group, "agent"), stated["agent"])


def _names_of_accounts_differ(config: Mapping[str, Any], report: CheckReport) -> None:
    seen: set[tuple[Any, Any]] = set()
    for keys, account in _accounts(config):
        name = (keys[0], account.get("account"))
        if name in seen:
            report.error(
                (*keys, "account"),
                phrase("there is another account called {name}", name=repr(name[1])),
                phrase("Give each its name."),
            )
        seen.add(name)


CROSS_CHECKS: Mapping[str, CrossCheck] = {
    **routing_schema.CROSS_CHECKS,
    "open access": _open_is_meant,
    "names of accounts": _names_of_accounts_differ,
    "agents of groups": _agents_of_groups_exist,
}


def _anybody(value: Any) -> str:
    if value == ANYBODY:
        return ANYBODY
    raise Invalid(phrase("expected an identity such as telegram:user:123456789 (channel:kind:id), or *"))


_sender = AnyOf(Described(_anybody, {"const": ANYBODY}, "*"), identity)


def _senders(limit: int = SENDERS_LIMIT) -> All:
    return All(ensure_list(_sender), Length(max=limit))


def _one_activation(group: dict[str, Any]) -> dict[str, Any]:
    if "activation" in group and "require_mention" in group:
        raise Invalid(phrase("use either activation or require_mention; they mean the same"), path=["activation"])
    return group


def _or_empty(value: Any) -> Any:
    return {} if value is None else value


as_mapping = Described(_or_empty, {}, "mapping")

GROUP_SCHEMA = Schema(
    All(
        as_mapping,
        {
            Optional("allow", description="Whether it is answered; true for a group that is named."): boolean,
            Optional("require_mention", description="Whether a message must address the assistant."): boolean,
            Optional("activation", description="mention or always: the same as require_mention, in another word."): In(
                [each.value for each in Activation]
            ),
            Optional("mention_patterns", description="Regular expressions that count as a mention."): All(
                ensure_list(caseless_pattern), Length(max=MENTION_PATTERNS_LIMIT)
            ),
            Optional("tools", description="Which tools there are in this group, within those of the agent."): All(
                as_mapping, POLICY_KEYS
            ),
            Optional("skills", description="Only these skills in this group, within those of the agent."): skill_names,
            Optional("agent", description="Id of the agent that answers, whatever the bindings say."): slug,
            Optional("system_prompt", description="Added to the agent's own prompt."): All(
                string, Length(max=SYSTEM_PROMPT_LIMIT)
            ),
            Optional("history_limit", description="Messages since its last answer that are given as context."): All(
                integer, Range(min=0, max=1_000)
            ),
            Optional("allow_from", description="Who is answered in it; without it, group_allow_from."): _senders(),
        },
        _one_activation,
    )
)


def _groups(value: Any) -> Any:
    """Take a list of ids as a mapping that allows each."""
    if value is None or isinstance(value, dict):
        return value or {}
    return {platform_id(each): {"allow": True} for each in as_list(value)}


ACCESS_KEYS: Mapping[Any, Any] = {
    Optional(
        "dm_policy",
        default=DmPolicy.PAIRING.value,
        description="Direct messages are accepted from: pairing (a stranger gets a code that the owner approves), "
        'allowlist, open (needs allow_from: ["*"]) or disabled.',
    ): In([each.value for each in DmPolicy]),
    Optional("allow_from", default=list, description="Who may, beside owners, such as telegram:user:123."): _senders(),
    Optional(
        "group_policy",
        default=GroupPolicy.ALLOWLIST.value,
        description="Which groups are answered: allowlist (those under groups), open or disabled.",
    ): In([each.value for each in GroupPolicy]),
    Optional(
        "groups",
        default=dict,
        description="Groups by the platform's id, by space, or <space>/<group>; * holds for all. A list of ids is "
        "accepted too.",
    ): All(Described(_groups, {}, "groups"), ids_as_keys, {string: GROUP_SCHEMA}, Length(max=GROUPS_LIMIT)),
    Optional("group_allow_from", default=list, description="Who is answered in groups; all members without it."): (
        _senders()
    ),
    Optional("require_mention", default=True, description="Whether a group message must address it."): boolean,
}
"""Keys that every channel's account schema takes in, so that access reads the same everywhere."""


def access_policy(account: Mapping[str, Any]) -> AccessPolicy:
    """Return the policy that a validated account states."""
    return AccessPolicy(
        dm=DmPolicy(account["dm_policy"]),
        allow_from=frozenset(account["allow_from"]) - {ANYBODY},
        group=GroupPolicy(account["group_policy"]),
        groups={str(key): _group_settings(str(key), stated) for key, stated in account["groups"].items()},
        group_allow_from=frozenset(account["group_allow_from"]),
        require_mention=account["require_mention"],
    )


def _group_settings(name: str, stated: Mapping[str, Any]) -> GroupSettings:
    activation = stated.get("activation")
    if "require_mention" in stated:
        activation = Activation.MENTION if stated["require_mention"] else Activation.ALWAYS
    return GroupSettings(
        allow=stated.get("allow"),
        activation=Activation(activation) if activation else None,
        mention_patterns=tuple(stated.get("mention_patterns", ())),
        tools=policies_from_config(stated.get("tools"), f"groups.{name}.tools"),
        agent=stated.get("agent"),
        system_prompt=stated.get("system_prompt"),
        history_limit=stated.get("history_limit"),
        allow_from=frozenset(stated["allow_from"]) if "allow_from" in stated else None,
        skills=tuple(stated["skills"]) if "skills" in stated else None,
    )
