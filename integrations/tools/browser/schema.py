"""Configuration of the browser: which Chromium, and its profiles."""

from __future__ import annotations

from typing import Any

from hub.config.checked import Config
from hub.config.sections import CheckReport
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Length,
    Match,
    Optional,
    Schema,
    SchemaError,
    boolean,
    program,
    string,
)

DEFAULT_PROFILE, TAB_PROFILE = "default", "chrome"
MANAGED, ATTACH, REMOTE, SANDBOX, TAB = "managed", "attach", "remote", "sandbox", "tab"
PUBLIC, PRIVATE = "public", "private"

_NAME = All(string, Match(r"^[a-z0-9][a-z0-9_-]{0,31}\Z", msg="expected small letters, digits, _ and -"))
_CDP_URL = All(string, Match(r"^(https?|wss?)://[^\s@]+\Z", msg="expected an address such as http://127.0.0.1:9222"))


def _with_address(profile: dict[str, Any]) -> dict[str, Any]:
    port = "cdp_url" in profile
    if (profile["mode"] == REMOTE and not port) or (profile["mode"] in (MANAGED, SANDBOX, TAB) and port):
        expected = (
            f"not for a profile that is {profile['mode']}"
            if "cdp_url" in profile
            else "missing: where the Chrome listens"
        )
        raise SchemaError(expected, path=["cdp_url"])
    if profile["mode"] != SANDBOX and "agent" in profile:
        raise SchemaError("only for a profile with mode: sandbox", path=["agent"])
    return profile


_PROFILE = All(
    {
        Optional(
            "mode",
            default=MANAGED,
            description="managed: a Chromium that the hub starts; attach: a Chrome that runs on this machine; remote: "
            "one on another machine; sandbox: a Chromium in a sandbox of its own; tab: one tab of a Chrome, handed "
            "over with the browser extension.",
        ): In([MANAGED, ATTACH, REMOTE, SANDBOX, TAB]),
        Optional("agent", description="Whose engine and image it has, for sandbox; the default agent without it."): All(
            string, Length(min=1, max=64)
        ),
        Optional(
            "cdp_url", description="Where the debugging port of a Chrome is; attach waits for one without it."
        ): _CDP_URL,
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
            Optional("executable", description="The program; found by itself without it."): program,
            Optional("headless", default=True, description="Whether it shows no window."): boolean,
            Optional(
                "profiles",
                default=dict,
                description="Profiles by name; `default`, and `chrome` for a tab, are always there.",
            ): {_NAME: _PROFILE},
        },
        None,
    )
)


def _refuse_on_machine(config: Config, report: CheckReport) -> None:
    """Refuse browsers on the machine; the default profile is one, unless it is configured otherwise."""
    if "browser" not in config:
        return
    profiles = (config["browser"] or {}).get("profiles") or {}
    modes = {DEFAULT_PROFILE: MANAGED, **{name: each["mode"] for name, each in profiles.items()}}
    for name in (name for name, mode in modes.items() if mode in (MANAGED, ATTACH)):
        report.error(
            ["browser", "profiles", name, "mode"] if name in profiles else ["browser"],
            f"the profile {name} is a browser on the machine itself, and a worker carries other homes too",
            f"set `browser: profiles: {name}: mode: sandbox`",
        )


WORKER_CHECKS = {"machine": _refuse_on_machine}
