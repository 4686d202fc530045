"""`webhook`: somebody called `/api/webhook/<webhook_id>`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import dynamic_text
from hub.automation.definition.phrases import join_words, quote
from hub.automation.definition.values import is_template
from hub.automation.triggers.arming import render_limited, report_errors
from hub.core.errors import Unavailable
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    Described,
    In,
    Invalid,
    Length,
    Match,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    ensure_list,
    integer,
    own_secret,
    positive_seconds,
    show,
    string,
)
from hub.gateway.webhooks.webhooks import ACCEPTED_PER_MINUTE, DEFAULT_METHODS, METHODS, WEBHOOK_ID, Webhook, Webhooks
from hub.security.webhook_signature import FORMS, TOLERANCE_S, SignatureForm, form_of

SECRET_CHARS = 16
_HEADER = All(string, str.lower, Match(r"^[a-z0-9-]{1,100}$", msg="expected the name of a header"))
_OWN_FORM = Schema(
    {
        Optional("form", description="generic, github or stripe."): In(sorted(FORMS)),
        Optional("header", description="The header with the signature."): _HEADER,
        Optional("prefix", description="The text before it, such as sha256=."): All(string, Length(max=50)),
        Optional("encoding", description="hex or base64."): In(("hex", "base64")),
        Optional("timestamp_header", description="A header with seconds; then <timestamp>.<body> is signed."): _HEADER,
        Optional("tolerance", default=TOLERANCE_S, description="How old a timestamp may be."): positive_seconds,
    }
)


def _signature(value: Any) -> dict[str, Any]:
    """Accept the name of a form, or a mapping; return a mapping."""
    if isinstance(value, str) and value in FORMS:
        value = {"form": value}
    if not isinstance(value, dict):
        raise Invalid(
            phrase(
                "expected {names}, or a mapping with header, got {value}",
                names=join_words(sorted(FORMS), "or"),
                value=show(value),
            )
        )
    own: dict[str, Any] = _OWN_FORM(value)
    if "form" not in own and "header" not in own:
        raise Invalid(phrase("expected the key form or the key header"))
    others = own.keys() - {"form", "tolerance"}
    if "form" in own and others:
        raise Invalid(phrase("a form with a name brings its own headers"), path=[min(others)])
    return own


def _form(own: Mapping[str, Any]) -> SignatureForm:
    if "form" in own:
        return form_of(own["form"], own["tolerance"])
    return SignatureForm(
        header=own["header"],
        prefix=own.get("prefix", ""),
        encoding=own.get("encoding", "hex"),
        timestamp_header=own.get("timestamp_header"),
        tolerance_s=own["tolerance"],
    )


def _id(value: Any) -> str:
    text = str(dynamic_text(value))
    if not is_template(text) and not WEBHOOK_ID.fullmatch(text):
        raise Invalid(
            phrase("expected letters, digits and . _ ~ - (at most 200 characters), got {value}", value=show(value))
        )
    return text


_METHODS = Schema(ensure_list(All(string, str.upper, In(METHODS))))


def _methods(value: Any) -> list[str]:
    found: list[str] = _METHODS(value)
    if not found:
        raise Invalid(phrase("expected at least one method"))
    return list(dict.fromkeys(found))


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    if "signature" in config and "secret" not in config:
        raise Invalid(phrase("a signature needs the secret it is made with"), path=["signature"])
    return config


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    webhooks = host.parts.source(Webhooks)
    if webhooks is None:
        raise Unavailable("webhooks are not available here")
    hook = Webhook(
        id=str(render_limited(config["webhook_id"], host)),
        owner=host.automation_id,
        methods=tuple(config["allowed_methods"]),
        local_only=not _is_open(config),
        secret=config.get("secret"),
        signature=_form(config["signature"]) if "signature" in config else None,
        per_minute=config["max_per_minute"],
    )

    def called(data: dict[str, Any]) -> None:
        host.fire({**data, "description": "webhook"}, tainted=True)

    return webhooks.register(hook, called)


def _is_open(config: Mapping[str, Any]) -> bool:
    """Whether others than this machine may call it; without a secret nobody may, and a check warns of it."""
    return not config["local_only"] and "secret" in config


def _explain(config: Mapping[str, Any]) -> str:
    name = quote(config["webhook_id"])
    if not _is_open(config):
        said = phrase("when the webhook {webhook} is called from this machine", webhook=name)
    else:
        said = phrase("when the webhook {webhook} is called from anywhere", webhook=name)
    if "signature" in config:
        return phrase("{said} with a signed body", said=said)
    return phrase("{said} with its secret", said=said) if "secret" in config else said


KINDS = {
    "webhook": TriggerKind(
        name="webhook",
        fields={
            Required("webhook_id", description="The last part of its address; make it hard to guess."): Described(
                _id, {"type": "string"}, "webhook id"
            ),
            Optional("allowed_methods", default=list(DEFAULT_METHODS), description="POST, PUT, GET, HEAD."): Described(
                _methods,
                {"anyOf": [{"enum": list(METHODS)}, {"type": "array", "items": {"enum": list(METHODS)}}]},
                "methods",
            ),
            Optional("local_only", default=True, description="Whether only this machine may call it."): boolean,
            Optional("secret", description="What a caller must know: a bearer token or a signing key."): own_secret(
                SECRET_CHARS
            ),
            Optional(
                "signature", description="How the body is signed: generic, github, stripe or {header: …}."
            ): Described(_signature, {"anyOf": [{"enum": sorted(FORMS)}, {"type": "object"}]}, "signature"),
            Optional(
                "max_per_minute", default=ACCEPTED_PER_MINUTE, description="Maximum number of calls accepted."
            ): All(integer, Range(min=1, max=6_000)),
        },
        arm=report_errors(_arm),
        explain=_explain,
        description="A web request came in.",
        rule=_rule,
    )
}
