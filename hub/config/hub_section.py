"""The section `hub:`: what belongs to the hub as a whole."""

from __future__ import annotations

from hub.config.sections import Section
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Inclusive,
    Length,
    Optional,
    Range,
    Schema,
    ensure_list,
    language_tag,
    number,
    slug,
    string,
    time_zone,
    url,
)
from hub.storage.schema import HISTORY_SCHEMA

NAME_LENGTH_LIMIT = 100
DISABLED_LIMIT = 200
RELOAD_MODES = ("hot", "hybrid", "restart", "off")
INSTALL_MODES = ("auto", "ask", "never")
TIME_FORMATS = ("auto", "12h", "24h")
UPDATE_CHECKS = ("never", "daily")

HUB_SCHEMA = Schema(
    {
        Optional("name", default="Home", description="The name of this home"): All(
            string, Length(min=1, max=NAME_LENGTH_LIMIT)
        ),
        Optional("time_zone", default="UTC", description="IANA time zone, such as Europe/Berlin"): time_zone,
        Optional(
            "language", default="en", description="Language of the assistant and the dashboard, such as en"
        ): language_tag,
        Optional(
            "time_format",
            default="auto",
            description="How times are written in the dashboard, and by models: 24h (15:30), 12h (3:30 pm), or auto, "
            "which is 12h where language is en-US, en-CA, en-AU or en-NZ",
        ): In(TIME_FORMATS),
        Inclusive("latitude", "location", description="Where the home is, in degrees; for the sun"): All(
            number, Range(min=-90, max=90)
        ),
        Inclusive("longitude", "location", description="Where the home is, in degrees; for the sun"): All(
            number, Range(min=-180, max=180)
        ),
        Optional("elevation", default=0, description="How high the home lies, in metres; for the sun"): All(
            number, Range(min=-500, max=9_000)
        ),
        Optional(
            "reload",
            default="hot",
            description="What the hub does with a changed file: it applies at once what it can (hot), and restarts for "
            "what it cannot (hybrid); it restarts for every change (restart); it waits for a restart (off)",
        ): In(RELOAD_MODES),
        Optional("disabled", default=list, description="Integrations that are not set up, though they would be"): All(
            ensure_list(slug), Length(max=DISABLED_LIMIT)
        ),
        Optional(
            "install",
            default="auto",
            description="What the hub does when an integration needs packages that are not installed: it installs them "
            "from its lock (auto), when you say so (ask), or not (never)",
        ): In(INSTALL_MODES),
        Optional("update", default=dict, description="New versions of Homarus"): {
            Optional(
                "check",
                default="never",
                description="When the hub asks by itself whether there is one: never or daily. It asks the git clone's "
                "remote, or the package index, and nobody else; nothing is installed by itself",
            ): In(UPDATE_CHECKS),
            Optional(
                "advisories",
                default="https://api.osv.dev",
                description="Whom `homarus doctor --security --deep` asks for known weaknesses of the installed "
                "packages, by their names and versions; null: nobody. It speaks OSV's API",
            ): AnyOf(url, None),
        },
        Optional("packages", description="Pieces of configuration, by name, that are merged into the rest"): dict,
        Optional("history", default=dict, description="How long events, states and usage are kept"): HISTORY_SCHEMA,
    }
)

SECTIONS = (Section("hub", HUB_SCHEMA, critical=True, default={}, description="The hub as a whole"),)
