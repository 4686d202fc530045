"""Configuration of calendars: their addresses by name, and the accounts of CalDAV servers."""

from __future__ import annotations

from typing import Any

from hub.core.schema import (
    All,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    SchemaError,
    positive_seconds,
    secret,
    slug,
    string,
)


def _account(calendar: dict[str, Any]) -> dict[str, Any]:
    if ("username" in calendar) is not ("password" in calendar):
        raise SchemaError("a CalDAV calendar needs username and password; one that is only read has neither")
    if not calendar["url"].reveal().startswith(("http://", "https://", "webcal://")):
        raise SchemaError("url: expected an http://, https:// or webcal:// address")
    return calendar


CONFIG_SCHEMA = Schema(
    {
        Required("calendars", description="Calendars by name."): All(
            {
                slug: All(
                    {
                        Required("url", description="Of an ICS file, or of one calendar on a CalDAV server."): secret,
                        Optional("username", description="Of the CalDAV account."): string,
                        Optional("password", description="Of the CalDAV account."): secret,
                    },
                    _account,
                )
            },
            Length(min=1, max=30),
        ),
        Optional("timeout", default=20, description="Time for one calendar."): All(positive_seconds, Range(max=120)),
    }
)
