"""Names of people in chat apps: their name here, the one they gave themselves, or their id there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from web.core.formats import title_of


class IdentityNames:
    """The names of identities such as `telegram:user:123`.

    Args:
        access: The access as `pairing.list` returns it with `all`.
        labels: Names of the channels, by channel.
    """

    def __init__(self, access: Mapping[str, Any], labels: Mapping[str, str]) -> None:
        self._labels = labels
        self._given = {str(each["identity"]): str(each["name"]) for each in access["requests"] if each["name"]}
        self._people = {str(each): person for person in access["people"] for each in person.get("identities") or ()}
        self._by_peer = {(_channel(each), _peer(each)): each for each in (*self._given, *self._people)}
        self.known = dict.fromkeys(str(each["identity"]) for each in access["requests"] if each["state"] == "approved")

    def shown(self, identity: str, channel: str = "") -> dict[str, str]:
        """Return `name`, `label`, `place` (the name of its channel) and `identity`.

        The label has the id of whoever is no person of this home: two strangers may call themselves the same.

        Args:
            channel: The channel of an id that does not say it.
        """
        full = identity if identity.count(":") > 1 else self._by_peer.get((channel, identity), identity)
        of = _channel(full) if full.count(":") > 1 else channel
        person = self._people.get(full)
        name = str(person["name"] if person else self._given.get(full) or _peer(full))
        label = name if person or name == _peer(full) else f"{name} ({_peer(full)})"
        return {"name": name, "label": label, "place": self._labels.get(of) or title_of(of), "identity": full}

    def name_of(self, identity: str) -> str:
        """Return how the app knows an identity: the name its owner gave themselves, else the id."""
        return self._given.get(identity) or _peer(identity)

    def free(self) -> list[dict[str, str]]:
        """Return the people who may write and belong to nobody yet."""
        return [self.shown(each) for each in self.known if each not in self._people]


def _channel(identity: str) -> str:
    return identity.partition(":")[0]


def _peer(identity: str) -> str:
    return identity.split(":", 2)[2] if identity.count(":") > 1 else identity
