"""Configuration of calendars and lists of tasks: their addresses by name, and the accounts of CalDAV servers."""

from __future__ import annotations

import re
from typing import Any

from hub.core.json_schema import to_json_schema
from hub.core.schema import (
    All,
    DescribedLater,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    SchemaError,
    as_list,
    boolean,
    duration,
    each_error,
    integer,
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
    if not section["calendars"] and not section["lists"] and not section["caldav"]:
        raise SchemaError("expected calendars, lists or caldav")
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


def _pattern(value: Any) -> str:
    text = str(string(value))
    try:
        re.compile(text)
    except re.error as error:
        raise SchemaError(f"expected a regular expression: {error}") from None
    return text


def _signed_in(account: dict[str, Any]) -> dict[str, Any]:
    if ("username" in account) is not ("password" in account):
        raise SchemaError("expected both username and password")
    if not account["url"].reveal().startswith(("http://", "https://")):
        raise SchemaError("expected an http:// or https:// address", path=["url"])
    return account


_CALDAV = All(
    {
        Optional("platform", default="caldav", description="As Home Assistant has it."): In(["caldav"]),
        Required("url", description="Of the CalDAV server, or of one person there."): secret,
        Optional("username", description="Of the account."): string,
        Optional("password", description="Of the account."): secret,
        Optional("calendars", default=list, description="Only those of these names; all without it."): All(
            as_list, [string]
        ),
        Optional("custom_calendars", default=list, description="Calendars of those events that match."): All(
            as_list,
            [
                {
                    Required("calendar", description="The calendar that they are in."): string,
                    Required("name", description="What it is called."): string,
                    Required(
                        "search", description="A regular expression at the beginning of what events say."
                    ): _pattern,
                }
            ],
        ),
        Optional("verify_ssl", default=True, description="Whether the server's certificate is checked."): boolean,
        Optional("days", default=1, description="How many days ahead the state looks, with today."): All(
            integer, Range(min=1, max=366)
        ),
    },
    _signed_in,
)
_SECTION = Schema(
    All(
        {
            Optional("caldav", default=list, description="CalDAV servers, all of whose calendars are shown."): All(
                as_list, [_CALDAV], Length(max=10)
            ),
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


def _section(value: Any) -> dict[str, Any]:
    """Check the section; a list is one of platforms, as Home Assistant has it."""
    if not isinstance(value, list):
        found: dict[str, Any] = _SECTION(value)
        return found
    try:
        return dict(_SECTION({"caldav": value}))
    except Invalid as error:
        for each in each_error(error):
            del each.path[:1]
        raise


CONFIG_SCHEMA = DescribedLater(
    _section,
    lambda: {"anyOf": [to_json_schema(_SECTION), to_json_schema(Schema(All(as_list, [_CALDAV])))]},
    "calendar",
    "object",
)
