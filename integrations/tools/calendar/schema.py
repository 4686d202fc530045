"""Configuration of calendars and lists of tasks: their addresses by name, and the accounts of CalDAV servers."""

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
    duration,
    positive_seconds,
    secret,
    slug,
    string,
)


def _account(calendar: dict[str, Any]) -> dict[str, Any]:
    if ("username" in calendar) is not ("password" in calendar):
        raise SchemaError("a CalDAV calendar needs username and password; one that is only read has neither")
    if "url" not in calendar:
        if "username" in calendar:
            raise SchemaError("username belongs to a url; a calendar without one is a file in the home directory")
        return calendar
    if not calendar["url"].reveal().startswith(("http://", "https://", "webcal://")):
        raise SchemaError("url: expected an http://, https:// or webcal:// address")
    return calendar


def _any(section: dict[str, Any]) -> dict[str, Any]:
    if not section["calendars"] and not section["lists"]:
        raise SchemaError("expected calendars, or lists")
    if same := {*section["calendars"]} & {*section["lists"]}:
        raise SchemaError(f"lists: {min(same)} is a calendar; give the list another name")
    return section


_NAME: dict[Any, Any] = {Optional("name", description="What people call it; its key without it."): string}
_CALENDAR: dict[Any, Any] = {
    Optional("url", description="Of an ICS file, or of one calendar on a CalDAV server; a file at home without it."): (
        secret
    ),
    Optional("username", description="Of the CalDAV account."): string,
    Optional("password", description="Of the CalDAV account."): secret,
    **_NAME,
}
_LIST: dict[Any, Any] = {
    Required("url", description="Of one list of tasks on a CalDAV server."): secret,
    Required("username", description="Of the CalDAV account."): string,
    Required("password", description="Of the CalDAV account."): secret,
    **_NAME,
}
CONFIG_SCHEMA = Schema(
    All(
        {
            Optional("calendars", default=dict, description="Calendars by name."): All(
                {slug: All(_CALENDAR, _account)}, Length(max=30)
            ),
            Optional("lists", default=dict, description="Lists of tasks by name."): All(
                {slug: All(_LIST, _account)}, Length(max=30)
            ),
            Optional("timeout", default=20, description="Time for one calendar."): All(
                positive_seconds, Range(max=120)
            ),
            Optional("every", default=900, description="How often each is looked at."): All(
                duration, Range(min=60, max=86_400)
            ),
        },
        _any,
    )
)
