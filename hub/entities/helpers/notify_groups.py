"""Groups of whom to notify: `notify.<name>` tells all of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hub.core.phrases import phrase
from hub.core.schema import All, Invalid, Length, Match, Optional, Required, Schema, ensure_list, string
from hub.entities.helpers.contract import Held, HeldCall, HelperHome, HelperKind, HelperService, Settings
from hub.entities.helpers.member_groups import members

MEMBERS_LIMIT = 100
_SERVICE = All(string, Match(r"^(notify\.)?[a-z0-9_]+\Z", msg="expected a service of notify, such as mobile_app_phone"))


def _named(member: dict[str, Any]) -> dict[str, Any]:
    """Return a member with its service under one key, without the domain."""
    names = [member[key] for key in ("action", "service") if key in member]
    if len(names) != 1:
        raise Invalid(phrase("expected action, such as mobile_app_phone"), path=["action"])
    return {"action": names[0].removeprefix("notify."), "data": member.get("data") or {}}


def _rule(settings: dict[str, Any]) -> dict[str, Any]:
    if not settings.get("entities") and not settings.get("services"):
        raise Invalid(phrase("expected entities or services: whom to notify"), path=["services"])
    return {"name": "Notify Group", "entities": [], "services": [], **settings}


def _merged(given: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return data with a member's own in it, which come first."""
    found = dict(given)
    for key, value in own.items():
        before = found.get(key)
        found[key] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return found


def _begin(settings: Settings, held: Held | None, home: HelperHome) -> Held:
    return held or Held()


def _tell(settings: Settings, held: Held, data: Mapping[str, Any], home: HelperHome) -> Held:
    words = {key: data[key] for key in ("message", "title") if key in data}
    calls = [HeldCall("notify", each["action"], _merged(data, each["data"])) for each in settings["services"]]
    if settings["entities"]:
        calls.append(HeldCall("notify", "send_message", {**words, "entity_id": settings["entities"]}))
    return Held(datetime.fromtimestamp(home.now, UTC).isoformat(), calls=tuple(calls))


_TELL = HelperService(
    _tell,
    {
        Required("message"): string,
        Optional("title"): string,
        Optional("target"): object,
        Optional("data"): dict,
    },
)
KINDS = (
    HelperKind(
        "notify",
        "Several of them as one",
        {
            Optional("entities", description="Entities of notify"): members("notify"),
            Optional("services", description="Services of notify, each with data of its own"): All(
                ensure_list(
                    All(
                        Schema(
                            {
                                Optional("action", description="The service, such as mobile_app_phone"): _SERVICE,
                                Optional("service", description="The same, as it was called before"): _SERVICE,
                                Optional("data", description="What is added to each call"): dict,
                            }
                        ),
                        _named,
                    )
                ),
                Length(max=MEMBERS_LIMIT),
            ),
        },
        _begin,
        {"send_message": _TELL},
        _rule,
        has_editable=False,
        platform="group",
        own_service=_TELL,
    ),
)
