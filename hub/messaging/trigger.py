"""`conversation`: somebody said a sentence; the automation answers instead of the agent.

Messages of those who may talk are looked at before an agent sees them (`hub.messaging.inbox.sentence_matcher`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import match_text
from hub.automation.definition.phrases import join_words, quote
from hub.automation.triggers.arming import report_errors
from hub.core.context import Context
from hub.core.errors import Unavailable
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    Described,
    Invalid,
    Match as Matching,
    MultipleInvalid,
    Optional,
    Required,
    show,
    string,
)
from hub.messaging.inbox.sentence_matcher import DEFAULT_LANGUAGE, SentenceMatch, Sentences, problem_of

_LANGUAGE = re.compile(r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")


def _sentences(value: Any) -> list[str]:
    found: list[str] = match_text(value)
    errors: list[Invalid] = []
    for index, each in enumerate(found):
        if (problem := problem_of(each)) is not None:
            errors.append(
                Invalid(
                    phrase("{problem}, got {value}", problem=problem, value=show(each)),
                    path=[index] * isinstance(value, list),
                )
            )
    if errors:
        raise MultipleInvalid(errors)
    return found


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    sentences = host.parts.source(Sentences)
    if sentences is None:
        raise Unavailable("sentence triggers are not available here: there is no conversation")
    language: str = config["language"]

    def said(match: SentenceMatch, context: Context) -> None:
        trigger = {
            "sentence": match.text,
            "matched": match.sentence,
            "slots": dict(match.slots),
            "details": dict(match.details),
            "user_input": {"text": match.text, "language": language},
            "device_id": None,
            "description": f"sentence '{match.text}'",
        }
        authority = context.authority
        host.fire(trigger, context, tainted=authority.tainted or not authority.owner)

    return sentences.register(config["command"], said, language=language, fail=host.fail)


def _explain(config: Mapping[str, Any]) -> str:
    return phrase("when someone says {sentences}", sentences=join_words(map(quote, config["command"]), "or"))


KINDS = {
    "conversation": TriggerKind(
        name="conversation",
        fields={
            Required("command", description="What is said: [may be left out], (one|other), {slot}; one or a list."): (
                Described(_sentences, match_text.json_schema, "sentences")
            ),
            Optional(
                "language", default=DEFAULT_LANGUAGE, description="Language of the sentences: en, de, zh-CN, …"
            ): All(string, Matching(_LANGUAGE, msg="expected a language such as en")),
        },
        arm=report_errors(_arm),
        explain=_explain,
        description="Someone said a sentence.",
    )
}
