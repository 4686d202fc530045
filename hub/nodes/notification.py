"""A notification for a phone, read from the data that Home Assistant's companion apps take. Pure.

Source: https://companion.home-assistant.io/docs/notifications/notifications-basic
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import (
    REMOVE_EXTRA,
    All,
    AnyOf,
    Coerce,
    Length,
    Optional,
    Required,
    Schema,
    SchemaError,
    describe_error,
    string,
)

MESSAGE_CHARS = 4_000
DATA_BYTES = 32_768
BUTTONS_LIMIT = 10
TTL_LIMIT_S = 2_419_200
CLEAR = "clear_notification"
APP_ONLY = frozenset(
    {
        *("request_location_update", "clear_badge", "delete_alert", "remove_channel", "update_complications"),
        *("update_widgets", "TTS", "command_stop_tts"),
    }
)
"""Messages that a companion app carries out; so is all that begins with `command_`."""
LEVELS = {"min": 1, "low": 2, "default": 3, "high": 4, "max": 5}
CRITICAL = 5
ALARMS = frozenset({"alarm_stream", "alarm_stream_max", "alarm_stream_other"})

_OPENED = re.compile(r"(https?|tel|mailto|sms):", re.IGNORECASE)
_WORD = All(string, Length(max=512))
_BUTTON = Schema(
    {
        Required("action"): All(string, Length(min=1, max=256)),
        Required("title"): All(string, Length(min=1, max=256)),
        Optional("uri"): AnyOf(None, All(string, Length(max=2_048))),
        Optional("url"): AnyOf(None, All(string, Length(max=2_048))),
        Optional("behavior"): AnyOf(None, _WORD),
        Optional("textInputButtonTitle"): AnyOf(None, _WORD),
        Optional("textInputPlaceholder"): AnyOf(None, _WORD),
    },
    extra=REMOVE_EXTRA,
)
_BUTTONS = Schema(All([dict], Length(max=BUTTONS_LIMIT)))
_TTL = Coerce(int)


class Button(Struct, frozen=True, omit_defaults=True):
    """A button of a notification.

    Attributes:
        action: What comes back as `action` of `mobile_app_notification_action`.
        uri: What a press opens instead; then nothing comes back.
        replies: Whether a text is asked for.
        placeholder: What stands in its field.
    """

    action: str
    title: str
    uri: str = ""
    replies: bool = False
    placeholder: str = ""


class Notification(Struct, frozen=True, omit_defaults=True):
    """A notification.

    Attributes:
        tag: A later one with the same tag takes its place.
        group: Those of a group are shown together.
        image, video: Addresses, as they were given.
        url: What a press on it opens.
        level: How urgent it is, 1 to 5 as in ntfy; 3 is usual, 5 is heard in silence too.
        ttl_s: How long it may wait for a phone that is off.
        sticky: Whether it stays until it is dismissed.
        said: The data as it was given, for Home Assistant's apps.
    """

    message: str
    title: str = ""
    tag: str = ""
    group: str = ""
    buttons: tuple[Button, ...] = ()
    image: str = ""
    video: str = ""
    url: str = ""
    level: int = 3
    ttl_s: int = 86_400
    sticky: bool = False
    said: Mapping[str, Any] = {}

    @property
    def clears(self) -> bool:
        """Whether it removes the one with its tag."""
        return self.message == CLEAR

    @property
    def is_command(self) -> bool:
        """Whether only a companion app can do what it says."""
        return self.message in APP_ONLY or self.message.startswith("command_")


def notification(message: str, title: str | None = None, data: Mapping[str, Any] | None = None) -> Notification:
    """Return a notification of what a service was given.

    Raises:
        InvalidRequest: A button or another part of the data cannot be understood, or it is too large.
    """
    said = {key: value for key, value in (data or {}).items() if value is not None}
    if len(msgspec.json.encode(said, enc_hook=str)) > DATA_BYTES:
        raise InvalidRequest(phrase("data: a notification takes at most {limit} bytes", limit=DATA_BYTES))
    push = _mapping(said.get("push"))
    attachment = _mapping(said.get("attachment"))
    is_film = str(attachment.get("content-type", attachment.get("url", ""))).lower().endswith(("mp4", "mpeg4", "m4v"))
    attached = _text(attachment.get("url"))
    tag = _text(said.get("tag")) or _text(_mapping(said.get("apns_headers")).get("apns-collapse-id"))
    if message == CLEAR and not tag:
        raise InvalidRequest(phrase("data: {message} needs the tag of the notification to remove", message=CLEAR))
    return Notification(
        message[:MESSAGE_CHARS],
        _text(title),
        tag[:128],
        (_text(said.get("group")) or _text(push.get("thread-id")))[:128],
        _buttons(said.get("actions")),
        _text(said.get("image")) or ("" if is_film else attached) or _camera(said.get("entity_id")),
        _text(said.get("video")) or (attached if is_film else ""),
        opened(said.get("clickAction") or said.get("url")),
        _level(said, push),
        _ttl(said.get("ttl")),
        str(said.get("sticky", said.get("persistent", ""))).lower() == "true",
        said,
    )


def opened(address: Any) -> str:
    """Return what a page can open of a `url`, `uri` or `clickAction`: a web address, or a path of the dashboard.

    iOS takes a mapping or a list of addresses by action; what only an app of the phone could open is left out.
    """
    if isinstance(address, Mapping):
        address = address.get("_", address.get("default"))
    if isinstance(address, list):
        address = next((_mapping(each).get("url") for each in address), None)
    text = _text(address)
    if re.match(r"/?lovelace\b", text):
        return "/"
    if _OPENED.match(text) or re.match(r"/(?![/\\])", text):
        return text[:2_048]
    return ""


def _buttons(given: Any) -> tuple[Button, ...]:
    if given is None:
        return ()
    made = []
    try:
        for index, each in enumerate(_BUTTONS(given)):
            try:
                found = _BUTTON(each)
            except SchemaError as error:
                raise InvalidRequest(
                    phrase("data: actions[{index}]: {error}", index=index, error=describe_error(error))
                ) from error
            made.append(
                Button(
                    found["action"],
                    found["title"],
                    opened(found.get("uri") or found.get("url")) if "uri" in found or "url" in found else "",
                    found["action"] == "REPLY" or str(found.get("behavior")).lower() == "textinput",
                    found.get("textInputPlaceholder") or "",
                )
            )
    except SchemaError as error:
        raise InvalidRequest(phrase("data: actions: {error}", error=describe_error(error))) from error
    return tuple(made)


def _level(said: Mapping[str, Any], push: Mapping[str, Any]) -> int:
    sound = _mapping(push.get("sound"))
    interrupts = str(push.get("interruption-level", "")).lower()
    if str(sound.get("critical", "0")).lower() in ("1", "true") or interrupts == "critical":
        return CRITICAL
    if said.get("channel") in ALARMS or said.get("media_stream") in ALARMS:
        return CRITICAL
    if interrupts == "time-sensitive":
        return 4
    named = LEVELS.get(str(said.get("importance", "")).lower())
    if named is None and str(said.get("priority", "")).lower() == "high":
        return 4
    return named or (2 if interrupts == "passive" else 3)


def _ttl(given: Any) -> int:
    try:
        return min(max(int(_TTL(given)), 0), TTL_LIMIT_S) if given is not None else 86_400
    except (SchemaError, ValueError) as error:
        raise InvalidRequest(phrase("data: ttl: expected seconds, got {value}", value=repr(given)[:80])) from error


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _camera(entity_id: Any) -> str:
    text = _text(entity_id)
    kind = text.partition(".")[0]
    return f"/api/{kind}_proxy/{text}" if kind in ("camera", "image") else ""
