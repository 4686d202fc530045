"""Configuration of backups: `backup:`."""

from __future__ import annotations

from typing import Any

from hub.config.sections import Section
from hub.core.schema import (
    All,
    In,
    Invalid,
    Length,
    Match,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    integer,
    own_secret,
    path,
    secret,
    string,
    url,
)

EVERY = ("never", "day", "week")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
PASSPHRASE_LENGTH_MIN = 12

_count = All(integer, Range(min=0, max=1_000))
_text = All(string, Length(min=1, max=1_000))


def _some(keep: dict[str, Any]) -> dict[str, Any]:
    if not any(keep.values()):
        raise Invalid("expected at least one of daily, weekly and monthly above 0")
    return keep


BACKUP_SCHEMA = Schema(
    {
        Optional("schedule", default=dict, description="When backups are made by themselves"): {
            Optional("every", default="never", description="never, day or week"): In(EVERY),
            Optional("at", default="03:30", description="The time of day, in the home's time zone"): Match(
                r"^([01]\d|2[0-3]):[0-5]\d$", msg='expected a time of day such as "03:30"'
            ),
            Optional("weekday", default="sun", description="The day, when it is every week"): In(WEEKDAYS),
        },
        Optional("keep", default=dict, description="Which backups stay: the last of each of so many"): All(
            {
                Optional("daily", default=7, description="Days"): _count,
                Optional("weekly", default=4, description="Weeks"): _count,
                Optional("monthly", default=6, description="Months"): _count,
            },
            _some,
        ),
        Optional(
            "passphrase",
            description="Encrypts the backups, best as !secret NAME. Without it they hold all keys in the clear. "
            "Nobody can restore an encrypted backup without it: keep it somewhere else too",
        ): own_secret(PASSPHRASE_LENGTH_MIN),
        Optional(
            "history", default=True, description="Whether the history of devices, runs and usage is in it"
        ): boolean,
        Optional("to", default=dict, description="Where backups go"): {
            Optional(
                "folder", default="backups", description="A folder, relative to the home; each is made here"
            ): path,
            Optional("webdav", description="A copy of each, on a WebDAV server such as Nextcloud"): {
                Required("url", description="Of the folder, which must be there"): All(url, Length(max=2_000)),
                Optional("username", description="Who signs in there"): _text,
                Optional("password", description="Best as !secret NAME"): secret,
            },
            Optional("s3", description="A copy of each, in a bucket of Amazon S3 or what speaks like it"): {
                Required("endpoint", description="Such as https://s3.eu-central-1.amazonaws.com"): All(
                    url, Length(max=2_000)
                ),
                Required("bucket", description="Which must be there"): Match(
                    r"^[a-zA-Z0-9][a-zA-Z0-9._-]{1,254}$", msg="expected the name of a bucket"
                ),
                Optional("region", default="us-east-1", description="Of the bucket"): Match(
                    r"^[a-z0-9-]{1,64}$", msg="expected the name of a region"
                ),
                Optional("prefix", default="", description="What the keys in the bucket begin with"): Match(
                    r"^[A-Za-z0-9/._-]{0,200}$", msg="expected letters, digits, and / . _ -"
                ),
                Required("access_key", description="It may list, write, read and delete there"): secret,
                Required("secret_key", description="Best as !secret NAME"): secret,
            },
        },
    }
)

SECTIONS = (Section("backup", BACKUP_SCHEMA, default={}, description="Backups of this home"),)
