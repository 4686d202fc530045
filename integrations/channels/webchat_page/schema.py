"""Configuration of web chat pages: a list of pages, each with its own visitors."""

from __future__ import annotations

from hub.core.schema import All, In, Length, Match, Optional, Schema, ensure_list, string
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS, DraftStreaming
from hub.messaging.schema import ACCESS_KEYS

ANCESTORS_LIMIT = 20

_ORIGIN = r"^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?$"

CONFIG_SCHEMA = Schema(
    ensure_list(
        {
            Optional("account", default="default", description="A name; it is the end of the address."): All(
                string, Match(r"^[a-z0-9][a-z0-9_-]{0,63}$", msg="expected lower-case letters, digits, - and _")
            ),
            Optional("title", default="Chat", description="The page's heading."): All(string, Length(min=1, max=60)),
            Optional("greeting", default="", description="What the page says before anything was written."): All(
                string, Length(max=1_000)
            ),
            Optional(
                "frame_ancestors",
                default=list,
                description="Origins whose pages may show it in a frame, such as http://192.168.1.20:8123.",
            ): All(
                ensure_list(All(string, Match(_ORIGIN, msg="expected an origin such as http://192.168.1.20:8123"))),
                Length(max=ANCESTORS_LIMIT),
            ),
            **ACCESS_KEYS,
            **{key: value for key, value in OUTBOUND_KEYS.items() if str(key) != "streaming"},
            Optional(
                "streaming",
                default="partial",
                description="Show an answer while it is written: off, partial, or block by block.",
            ): In([each.value for each in DraftStreaming]),
        }
    )
)
