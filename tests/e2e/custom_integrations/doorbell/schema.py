"""What `doorbell:` takes: one account, with who may talk through it, and how its set-up goes."""

from __future__ import annotations

from hub.core.schema import In, Optional, Required, Schema, secret, string
from hub.messaging.schema import ACCESS_KEYS

CONFIG_SCHEMA = Schema(
    {
        Required("place", description="Where it hangs."): string,
        Optional("key", description="Its key."): secret,
        Optional("setup", default="well", description="How its set-up goes."): In(["well", "fails", "waits"]),
        **ACCESS_KEYS,
    }
)
