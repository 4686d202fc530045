"""Configuration of what players play: radio stations, and further names of what speaks."""

from __future__ import annotations

from hub.core.schema import All, AnyOf, Length, Match, Optional, Required, Schema, slug, string

_URL = All(
    string, Length(max=2_048), Match(r"^https?://\S+$", msg="expected an address that begins with http:// or https://")
)
CONFIG_SCHEMA = Schema(
    AnyOf(
        {
            Optional("radio", default=list, description="Radio stations."): All(
                [
                    {
                        Required("name", description="What it is called."): All(string, Length(min=1, max=100)),
                        Required("url", description="The address of its stream."): _URL,
                    }
                ],
                Length(max=500),
            ),
            Optional(
                "engines", default=list, description="Further names of what speaks: tts.NAME and tts.NAME_say."
            ): All([slug], Length(max=20)),
        },
        None,
    )
)
