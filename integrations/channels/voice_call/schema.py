"""Configuration of telephone calls: a list of numbers at Twilio."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hub.config.sections import CheckReport
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    Described,
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
    language_tag,
    number,
    own_secret,
    slug,
    string,
    url,
)
from hub.messaging.outbox.outbound_policy import OUTBOUND_KEYS
from hub.messaging.schema import ACCESS_KEYS
from hub.models.schema import model_ref, models_at

API_ROOT = "https://api.twilio.com"
_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}")


def _telephone(value: Any) -> str:
    compact = re.sub(r"[\s()/.-]", "", value) if isinstance(value, str) else ""
    if not _NUMBER.fullmatch(compact):
        raise Invalid(f"expected a number with its country, such as '+4930123456' (in quotes), got {value!r}"[:200])
    return compact


def _https(value: str) -> str:
    if not value.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise Invalid("Twilio reaches only https addresses")
    return value.rstrip("/")


def _consistent(account: Mapping[str, Any]) -> Mapping[str, Any]:
    if "price_per_minute" not in account and "cost_per_day" in account:
        raise Invalid("cost_per_day needs price_per_minute", path=["cost_per_day"])
    if "speech_model" in account and "voice" not in account:
        raise Invalid(phrase("missing: the name of a voice of the model, such as alloy"), path=["voice"])
    return account


telephone = Described(_telephone, {"type": "string", "pattern": r"^\+"}, "telephone number")

CONFIG_SCHEMA = Schema(
    ensure_list(
        All(
            {
                Optional("account", default="default", description="A name for this number."): slug,
                Required("account_sid", description="The account's SID at Twilio, which begins with AC."): All(
                    string, Match(r"^AC[0-9a-fA-F]{32}$", msg="expected AC and 32 digits or letters a to f")
                ),
                Required("auth_token", description="The account's token; Twilio signs its requests with it."): (
                    own_secret()
                ),
                Required("number", description="The number at Twilio, such as '+4930123456'."): telephone,
                Required("public_url", description="The hub's address on the internet, such as https://my.home."): All(
                    url, _https
                ),
                Optional(
                    "speech_model",
                    description="Model that speaks, such as openai/gpt-4o-mini-tts; else `voice:`, on this machine.",
                    asked=True,
                ): model_ref,
                Optional(
                    "voice", description="A voice of what speaks, such as alloy; a model needs one.", asked=True
                ): All(string, Length(min=1, max=64)),
                Optional(
                    "transcription_model",
                    description="Model that turns speech into text; messages.media.transcription_model without it, "
                    "else `voice:`, on this machine.",
                    asked=True,
                ): model_ref,
                Optional(
                    "language", description="What is spoken on it, such as de; the home's without it."
                ): language_tag,
                Optional("greeting", description="What it says first; a short sentence without it."): All(
                    string, Length(max=500)
                ),
                Optional("silence_ms", default=700, description="Silence after which a caller has finished."): All(
                    integer, Range(min=200, max=5_000)
                ),
                Optional(
                    "outgoing", default=False, description="Whether it may call people: with the tool, and reminders."
                ): boolean,
                Optional("minutes_per_call", default=15, description="The longest call."): All(
                    integer, Range(min=1, max=240)
                ),
                Optional("minutes_per_day", default=60, description="All calls of a day (UTC) together."): All(
                    integer, Range(min=1, max=1_440)
                ),
                Optional("price_per_minute", description="What a minute costs, in your currency."): All(
                    number, Range(min=0, max=100)
                ),
                Optional("cost_per_day", description="The most that calls of a day may cost."): All(
                    number, Range(min=0, max=100_000)
                ),
                Optional("api_root", default=API_ROOT, description="Where Twilio's API is."): url,
                **ACCESS_KEYS,
                **OUTBOUND_KEYS,
            },
            _consistent,
        )
    )
)


def _somebody_speaks(config: Any, report: CheckReport) -> None:
    for at, account in enumerate(config.get("voice_call") or ()):
        if "speech_model" not in account and config.get("voice") is None:
            report.error(
                ("voice_call", at),
                phrase("nothing speaks: set speech_model, such as openai/gpt-4o-mini-tts, or `voice:`"),
            )


CROSS_CHECKS = {
    "models": models_at(("voice_call", "*", "speech_model"), ("voice_call", "*", "transcription_model")),
    "engine": _somebody_speaks,
}
