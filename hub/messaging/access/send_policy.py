"""Whether replies of a session are sent to its chat: pure rules, from the configuration and the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.messaging.contract import Address


class SendRule(Struct, frozen=True):
    """Replies that match are sent or not; None matches anything."""

    allow: bool
    channel: str | None = None
    chat_type: str | None = None
    key_prefix: str | None = None

    def matches(self, address: Address, session_key: str) -> bool:
        """Whether all conditions match; a prefix is that of the key, with or without `agent:<agent>:`."""
        return (
            self.channel in (None, address.channel)
            and self.chat_type in (None, address.chat_type)
            and (
                self.key_prefix is None
                or session_key.startswith(self.key_prefix)
                or session_key.split(":", 2)[-1].startswith(self.key_prefix)
            )
        )


class SendPolicy(Struct, frozen=True):
    """The rules of `session.send_policy`, in order, and the default."""

    rules: tuple[SendRule, ...] = ()
    default: bool = True

    @classmethod
    def from_config(cls, section: Mapping[str, Any]) -> SendPolicy:
        """Read the validated `session.send_policy`."""
        rules = tuple(SendRule(each["action"] == "allow", **each["match"]) for each in section["rules"])
        return cls(rules, section["default"] == "allow")

    def decide(self, address: Address, session_key: str, chosen: str | None = None) -> tuple[bool, str]:
        """Return whether a reply may be sent, and the deciding rule.

        Args:
            address: The destination.
            session_key: The session that it belongs to.
            chosen: The session's choice: on, off, or None.
        """
        if chosen in ("on", "off"):
            return chosen == "on", f"chosen for the session (/send {chosen})"
        for index, rule in enumerate(self.rules):
            if rule.matches(address, session_key):
                return rule.allow, f"session.send_policy.rules[{index}]"
        return self.default, "session.send_policy.default"
