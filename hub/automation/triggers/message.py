"""`message`: somebody wrote to the assistant.

It listens to `message_received`, which is fired for messages of those who may talk, after they are on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import match_text
from hub.automation.definition.phrases import any_of, join_words, quote, value_text
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.provenance import is_tainted
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, Described, In as OneOf, Invalid, Optional, Schema, boolean, ensure_list
from hub.template.searching import found, pattern, search_for

EVENT = "message_received"
CHAT_TYPES = ("direct", "group", "channel")
_INDEXED = ("channel", "account", "peer", "chat_type", "sender", "from_owner")
_TOLD = (
    *("channel", "account", "peer", "chat_type", "sender", "sender_name", "text"),
    *("session_key", "from_owner", "inbox_id"),
)
_FORMS = Schema(
    {
        Optional("exact", description="The whole message is one of these."): match_text,
        Optional("contains", description="One of these is somewhere in it."): match_text,
    }
)


def _text(value: Any) -> dict[str, list[str]]:
    """Accept what the message says: one text, a list, or a mapping of `exact` and `contains`."""
    if not isinstance(value, dict):
        return {"exact": match_text(value)}
    checked: dict[str, list[str]] = _FORMS(value)
    if not checked:
        raise Invalid(phrase("expected exact, contains or both"))
    return checked


text = Described(
    _text,
    {
        "anyOf": [
            match_text.json_schema,
            {
                "type": "object",
                "properties": {"exact": match_text.json_schema, "contains": match_text.json_schema},
                "additionalProperties": False,
            },
        ]
    },
    "text or texts",
)


def _says(wanted: Mapping[str, list[str]]) -> Callable[[str], bool]:
    """Return a function that matches the text of a message, ignoring case and surrounding blanks."""
    exact = frozenset(each.strip().casefold() for each in wanted.get("exact", ()))
    parts = tuple(each.casefold() for each in wanted.get("contains", ()))

    def judge(text: str) -> bool:
        folded = text.strip().casefold()
        return folded in exact or any(part in folded for part in parts)

    return judge


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    where = {key: config[key] for key in _INDEXED if key in config}
    says = _says(config["text"]) if "text" in config else None
    search = search_for(config["regex"]) if "regex" in config else None

    def received(event: Event) -> None:
        data = event.data
        if says is not None and not says(data.get("text") or ""):
            return
        match = search(data.get("text") or "") if search is not None else None
        if search is not None and match is None:
            return
        message = {key: data.get(key) for key in _TOLD}
        trigger: dict[str, Any] = {"message": message, "description": f"message on {message['channel']}"}
        if match is not None:
            trigger["match"] = found(match)
        host.fire(trigger, event.context, tainted=is_tainted(event))

    return host.parts.bus.listen(EVENT, received, where or None, put_off=host.parts.firings.decide)


def _explain(config: Mapping[str, Any]) -> str:
    said = phrase("when a message arrives")
    if config.get("from_owner") is not None:
        owner = phrase("the owner") if config["from_owner"] else phrase("someone other than the owner")
        said = phrase("{said} from {who}", said=said, who=owner)
    if "sender" in config:
        said = phrase("{said} from {who}", said=said, who=join_words(map(quote, config["sender"]), "or"))
    if "channel" in config:
        said = phrase("{said} on {channel}", said=said, channel=join_words(config["channel"], "or"))
    if "account" in config:
        said = phrase(
            "{said} for the account {account}", said=said, account=join_words(map(quote, config["account"]), "or")
        )
    if "peer" in config:
        said = phrase("{said} in the chat {chat}", said=said, chat=join_words(map(quote, config["peer"]), "or"))
    if "chat_type" in config:
        said = phrase("{said} in a chat of the kind {kind}", said=said, kind=join_words(config["chat_type"], "or"))
    wanted = config.get("text", {})
    forms = []
    if "exact" in wanted:
        forms.append(phrase("says {text}", text=join_words(map(quote, wanted["exact"]), "or")))
    if "contains" in wanted:
        forms.append(phrase("contains {text}", text=join_words(map(quote, wanted["contains"]), "or")))
    if forms:
        said = phrase("{said} that {does}", said=said, does=any_of(forms))
    if "regex" in config:
        return phrase("{said} and matches {pattern}", said=said, pattern=f"/{value_text(config['regex'])}/")
    return said


KIND = TriggerKind(
    name="message",
    fields={
        Optional("channel", description="telegram, webchat, …: one or a list."): match_text,
        Optional("account", description="Which account of the channel."): match_text,
        Optional("peer", description="Which chat: the platform's id of the person or group."): match_text,
        Optional("chat_type", description="direct, group or channel."): All(ensure_list(OneOf(CHAT_TYPES))),
        Optional("sender", description="Who wrote it: a stable identity such as telegram:user:123."): match_text,
        Optional("from_owner", description="Whether an owner of this home wrote it."): boolean,
        Optional("text", description="The whole message, or {contains: …}; case is ignored."): text,
        Optional("regex", description="A regular expression to search for; groups are in `trigger.match`."): pattern,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="Someone wrote to the assistant.",
)
