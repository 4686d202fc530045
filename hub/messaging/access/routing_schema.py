"""Configuration of routing: `bindings:` and `broadcast:`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from hub.config.checked import Config
from hub.config.sections import CheckReport, CrossCheck, Section
from hub.config.suggest import did_you_mean
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    AnyOf,
    Described,
    In,
    Invalid,
    Length,
    Optional,
    Required,
    Schema,
    ensure_list,
    show,
    slug,
    string,
)
from hub.messaging.contract import ChatType
from hub.messaging.places import ChannelPlace
from hub.sessions.keys import DEFAULT_AGENT

BROADCAST_AGENTS_LIMIT = 10
BROADCASTS_LIMIT = 200

ANY_ACCOUNT = "*"

_CHAT_TYPES = [each.value for each in ChatType]
_text = All(string, Length(min=1, max=512))


def _platform_id(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and 0 < len(value) <= 512:
        return str(value)
    raise Invalid(phrase("expected a platform's id of a person, group or space, got {value}", value=show(value)))


platform_id = Described(_platform_id, {"type": ["string", "integer"]}, "id")
"""Accepts the id of a person, group or space, which YAML may read as a number."""


def _roles_have_a_guild(match: dict[str, Any]) -> dict[str, Any]:
    if match.get("roles") and "guild" not in match:
        raise Invalid(phrase("roles belong to a guild: name the guild too"), path=["roles"])
    return match


_MATCH = All(
    {
        Optional("channel", description="Name of a channel, for example telegram."): slug,
        Optional("account", description="Account of that channel; * is any."): _text,
        Optional(
            "peer", description="The platform's id of a person or group, or {kind: direct|group|channel, id}."
        ): AnyOf(platform_id, {Required("kind"): In(_CHAT_TYPES), Required("id"): platform_id}),
        Optional("chat_type", description="direct, group or channel."): In(_CHAT_TYPES),
        Optional("guild", description="The platform's id of a server, as Discord has them."): platform_id,
        Optional("roles", description="Ids of roles in the guild, of which the sender has one."): All(
            ensure_list(platform_id), Length(min=1, max=100)
        ),
        Optional("team", description="The platform's id of a workspace, as Slack has them."): platform_id,
    },
    _roles_have_a_guild,
)
BINDING_SCHEMA = Schema(
    {
        Required("agent", description="Id of the agent that answers."): slug,
        Required("match", description="All that is stated must fit; the most specific binding wins."): _MATCH,
    }
)


def _with_text_keys(value: Any) -> Any:
    return {_platform_id(key): entry for key, entry in value.items()} if isinstance(value, dict) else value


ids_as_keys = Described(_with_text_keys, {}, "mapping")
"""Turns the keys of a mapping, which are platforms' ids, into text."""


BROADCAST_SCHEMA = Schema(
    All(
        ids_as_keys,
        {string: All(ensure_list(slug), Length(min=1, max=BROADCAST_AGENTS_LIMIT))},
        Length(max=BROADCASTS_LIMIT),
    )
)

SECTIONS = (
    Section(
        "bindings",
        Schema([BINDING_SCHEMA]),
        default=[],
        description="Which agent answers where; the default agent where nothing is said",
        each_item=True,
    ),
    Section(
        "broadcast",
        BROADCAST_SCHEMA,
        default={},
        description="Groups (or people), by the platform's id, that several agents answer",
    ),
)


def _named_agents(config: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield each place that names an agent, and the agent."""
    for index, binding in enumerate(config.get("bindings") or ()):
        yield ("bindings", index, "agent"), binding["agent"]
    for peer, together in (config.get("broadcast") or {}).items():
        for index, agent in enumerate(together):
            yield ("broadcast", peer, index), agent


def _named_agents_exist(config: Mapping[str, Any], report: CheckReport) -> None:
    for keys, agent in _named_agents(config):
        check_agent(config, report, keys, agent)


def check_agent(config: Mapping[str, Any], report: CheckReport, keys: tuple[Any, ...], agent: str) -> None:
    """Report an agent that does not exist, at the place that names it."""
    stated = config.get("agents")
    if stated is None:
        return  # they are broken and have their own errors
    agents = [each["id"] for each in stated] or [DEFAULT_AGENT]
    if agent not in agents:
        hint = did_you_mean(agent, agents, known=phrase("there are"))
        report.error(keys, phrase("there is no agent {agent}", agent=repr(agent)), hint)


def bindings_can_match(places: Callable[[Config], Collection[ChannelPlace]]) -> CrossCheck:
    """Return the check that the channels and accounts of bindings exist.

    Args:
        places: Returns the channels and accounts there are.
    """

    def check(config: Config, report: CheckReport) -> None:
        known = places(config)
        for index, binding in enumerate(config.get("bindings") or ()):
            channel, account = binding["match"].get("channel"), binding["match"].get("account", ANY_ACCOUNT)
            keys = ("bindings", index, "match")
            channels = {name for name, _ in known}
            accounts = {each for name, each in known if channel in (None, name)}
            if channel is not None and channel not in channels:
                told = phrase("there is no channel {channel}", channel=channel)
                report.warning((*keys, "channel"), told, did_you_mean(channel, channels, known=phrase("there are")))
            elif account not in {ANY_ACCOUNT, *accounts}:
                told = phrase("{channel} has no account {account}", channel=channel, account=account)
                if channel is None:
                    told = phrase("no channel has an account {account}", account=account)
                report.warning((*keys, "account"), told, did_you_mean(account, accounts, known=phrase("there are")))

    return check


CROSS_CHECKS: Mapping[str, CrossCheck] = {"bindings": _named_agents_exist}
