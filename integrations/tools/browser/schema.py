"""Configuration of the browser: which Chromium, and its profiles."""

from __future__ import annotations

from typing import Any

from hub.core.schema import All, AnyOf, In, Length, Match, Optional, Schema, SchemaError, boolean, string

DEFAULT_PROFILE = "default"
MANAGED, ATTACH, REMOTE = "managed", "attach", "remote"
PUBLIC, PRIVATE = "public", "private"

_NAME = All(string, Match(r"^[a-z0-9][a-z0-9_-]{0,31}\Z", msg="expected small letters, digits, _ and -"))
_CDP_URL = All(string, Match(r"^(https?|wss?)://[^\s@]+\Z", msg="expected an address such as http://127.0.0.1:9222"))


def _with_address(profile: dict[str, Any]) -> dict[str, Any]:
    if (profile["mode"] == MANAGED) is ("cdp_url" in profile):
        expected = "not for a managed profile" if "cdp_url" in profile else "missing: where the Chrome listens"
        raise SchemaError(expected, path=["cdp_url"])
    return profile


_PROFILE = All(
    {
        Optional(
            "mode",
            default=MANAGED,
            description="managed: a Chromium that the hub starts; attach: a Chrome that runs on this machine; remote: "
            "one on another machine.",
        ): In([MANAGED, ATTACH, REMOTE]),
        Optional("cdp_url", description="Where the debugging port of a Chrome is, for attach and remote."): _CDP_URL,
        Optional(
            "network",
            default=PUBLIC,
            description="public: only public addresses are reached; private: only those in network.allow_private.",
        ): In([PUBLIC, PRIVATE]),
    },
    _with_address,
)
CONFIG_SCHEMA = Schema(
    AnyOf(
        {
            Optional("executable", description="The program; found by itself without it."): All(string, Length(min=1)),
            Optional("headless", default=True, description="Whether it shows no window."): boolean,
            Optional("profiles", default=dict, description="Profiles by name; `default` is always there."): {
                _NAME: _PROFILE
            },
        },
        None,
    )
)
