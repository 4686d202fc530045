"""Resolves addresses: channels, accounts, and their short forms. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hub.config.checked import Config
from hub.config.paths import KeyPath
from hub.config.suggest import did_you_mean
from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import as_list
from hub.integration.catalog import CatalogEntry

KIND = "channel"
"""What the manifest of an integration with a channel says that it is."""
DEFAULT_ACCOUNT = "default"

ChannelPlace = tuple[str, str]
"""A channel and an account of it, by their names in the configuration."""


def channel_and_peer(channel: str | None, to: str) -> tuple[str, str]:
    """Return the channel and the peer of an address, which may be one word: `telegram:123456`.

    Raises:
        InvalidRequest: It names no channel.
    """
    if channel is not None:
        return channel, to
    name, _, peer = to.partition(":")
    if not (name and peer):
        raise InvalidRequest("to: the channel is missing; give channel, or an address such as telegram:123456")
    return name, peer


def chat_or_last(channel: str | None, to: str | None) -> tuple[str, str] | None:
    """Return the channel and the peer of an address; None for `last`, the default.

    Raises:
        InvalidRequest: It names no channel or no peer, or `last` beside one.
    """
    if "last" in (channel, to) or not (channel or to):
        if {channel or "last", to or "last"} != {"last"}:
            raise InvalidRequest("to: give last, or channel and to, but not both")
        return None
    if not to:
        raise InvalidRequest("to: name the recipient on that channel")
    return channel_and_peer(channel or None, to)


def account_in(places: Collection[ChannelPlace], name: str, account: str = DEFAULT_ACCOUNT) -> str:
    """Return the account of an address: `default` is the only one of a channel, whatever its name.

    Args:
        places: Channel and account of all that something can be sent to.

    Raises:
        NotFound: There is no such channel, or it has no such account.
    """
    if (name, account) in places:
        return account
    accounts = sorted(each for channel, each in places if channel == name)
    if account == DEFAULT_ACCOUNT and len(accounts) == 1:
        return accounts[0]
    if accounts:
        hint = did_you_mean(account, accounts) or phrase("it has: {names}", names=accounts)
        raise NotFound(
            phrase("{channel} has no account {account}; {hint}", channel=name, account=account[:80], hint=hint)
        )
    channels = sorted({channel for channel, _ in places})
    hint = did_you_mean(name, channels) or phrase("there are: {names}", names=channels)
    raise NotFound(phrase("there is no channel {channel}; {hint}", channel=name[:80], hint=hint))


def written_accounts(config: Config, channel: str) -> dict[str, tuple[KeyPath, Mapping[str, Any]]]:
    """Return the configured accounts of a channel by name: the place and the value of each."""
    raw = config.raw.get(channel)
    found: dict[str, tuple[KeyPath, Mapping[str, Any]]] = {}
    for index, each in enumerate(as_list(raw)):
        if isinstance(each, Mapping):
            place = (channel,) if isinstance(raw, Mapping) else (channel, index)
            found.setdefault(str(each.get("account", DEFAULT_ACCOUNT)), (place, each))
    return found


def configured_places(
    config: Config, catalog: Mapping[str, CatalogEntry], used: Collection[str]
) -> frozenset[ChannelPlace]:
    """Return the channels and accounts of a configuration.

    Args:
        used: The integrations that are set up with it.
    """
    manifests = [manifest for domain in used if (manifest := catalog[domain].manifest) is not None]
    own = {
        (each.domain, account)
        for each in manifests
        if each.kind == KIND
        for account in ([DEFAULT_ACCOUNT] if each.default else written_accounts(config, each.domain))
    }
    return frozenset(own | {(name, DEFAULT_ACCOUNT) for each in manifests for name in each.channels})
