"""Configuration of players: `mpd:`, or items of `media_player:` with the platform mpd."""

from __future__ import annotations

from hub.core.schema import All, Length, Match, Optional, Required, Schema, as_list, port, secret, string

PLAYER = {
    Required("host", description="The address of the player."): All(
        string, Length(max=255), Match(r"^[A-Za-z0-9.:_-]+$", msg="expected a host name or an address")
    ),
    Optional("port", default=6600, description="Its port."): port,
    Optional("name", description="What it is called."): All(string, Length(min=1, max=128)),
    Optional("password", description="Its password, if it has one."): secret,
}
CONFIG_SCHEMA = Schema(All(as_list, [PLAYER], Length(max=50)))
PLATFORMS = {"media_player": Schema(PLAYER)}
