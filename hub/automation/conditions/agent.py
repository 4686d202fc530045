"""agent: a model answers a question with yes or no, one of several choices, or a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ConditionContext, ConditionKind, ConditionVerdict, JudgeAnswer, JudgeQuestion
from hub.automation.definition.fields import dynamic_text, match_text, template
from hub.automation.definition.phrases import join_words, value_text
from hub.automation.running.quoter import quoter
from hub.core.errors import HubError, InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    In,
    Invalid,
    Length,
    Optional,
    Range,
    Required,
    boolean,
    number,
    positive_seconds,
    slug,
    string,
)

YES_NO, CHOICE, SCORE = "yes_no", "choice", "score"
NO, YES, FAIL = "no", "yes", "fail"
TIMEOUT_S = 60.0
QUESTION_LIMIT = 8_000
DATA_LIMIT = 32_000


async def _check(config: Mapping[str, Any], asking: ConditionContext) -> ConditionVerdict:
    quote = quoter() if asking.context.authority.tainted else None
    text = str(asking.render(config["question"], quote=quote)).strip()
    data = str(asking.render(config["data"])) if "data" in config else ""
    if not text:
        raise InvalidRequest("the question is empty")
    judge = asking.parts.judge
    if judge is None:
        return ConditionVerdict(
            True,
            phrase("no model is asked in a test; “{question}” is assumed to be true", question=value_text(text)),
            {"question": text, "asked": False},
        )
    question = JudgeQuestion(
        text[:QUESTION_LIMIT],
        tuple(config["choices"]) if config["answer"] == CHOICE else config["answer"],
        config.get("agent"),
        config.get("model"),
        config["timeout"],
        data[:DATA_LIMIT],
        asking.automation_id,
    )
    try:
        answer = await judge(question, asking.context)
    except HubError as error:
        if config["on_error"] == FAIL:
            raise
        holds = config["on_error"] == YES
        reason = phrase(
            "“{question}” was not answered ({error}); on_error: {choice}",
            question=value_text(text),
            error=error.message,
            choice=config["on_error"],
        )
        return ConditionVerdict(holds, reason, {"question": text, "error": error.as_dict()})
    return _judged(config, text, answer)


def _judged(config: Mapping[str, Any], text: str, answer: JudgeAnswer) -> ConditionVerdict:
    value = answer.value
    details = {
        "question": text,
        "answer": value,
        "reason_given": answer.reason,
        "model": answer.model,
        "cost_usd": answer.cost_usd,
    }
    match config["answer"]:
        case "score":
            threshold = config["threshold"]
            holds = float(value) >= threshold
            if holds:
                told: str = phrase(
                    "{score}, at least {threshold}", score=f"{float(value):g}", threshold=f"{threshold:g}"
                )
            else:
                told = phrase("{score}, less than {threshold}", score=f"{float(value):g}", threshold=f"{threshold:g}")
        case "choice":
            holds = value in config["expect"]
            told = (
                f"{value}"
                if holds
                else phrase("{value}, not {expected}", value=value, expected=join_words(config["expect"], "or"))
            )
        case _:
            holds = value is config["expect"]
            told = phrase("yes") if value else phrase("no")
    reason = phrase("“{question}” was answered {answer}", question=value_text(text), answer=told)
    if answer.reason:
        reason = phrase("{said}: {reason}", said=reason, reason=answer.reason)
    return ConditionVerdict(holds, reason, details)


def _explain(config: Mapping[str, Any]) -> str:
    who = phrase("the agent {agents}", agents=config["agent"]) if "agent" in config else phrase("a model")
    match config["answer"]:
        case "score":
            told: str = phrase("{threshold} or more (of 1)", threshold=f"{config['threshold']:g}")
        case "choice":
            told = join_words((f"“{each}”" for each in config["expect"]), "or")
        case _:
            told = phrase("yes") if config["expect"] else phrase("no")
    question = value_text(config["question"])
    return phrase("{who} answers “{question}” with {answer}", who=who, question=question, answer=told)


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    """Fill in the defaults of an answer kind, and refuse keys that do not belong to it."""
    answer = config["answer"] = config.get("answer", CHOICE if "choices" in config else YES_NO)
    allowed = {YES_NO: {"expect"}, CHOICE: {"choices", "expect"}, SCORE: {"threshold"}}[answer]
    for key in ("choices", "expect", "threshold"):
        if key in config and key not in allowed:
            raise Invalid(phrase("{key} cannot be used with answer: {answer}", key=key, answer=answer), path=[key])
    if answer == SCORE:
        config.setdefault("threshold", 0.5)
    elif answer == YES_NO:
        config["expect"] = _expected(boolean, config.get("expect", True))
    else:
        choices = config.get("choices", [])
        if not 2 <= len(choices) <= 20 or len(set(choices)) < len(choices):
            raise Invalid(phrase("expected 2 to 20 different choices"), path=["choices"])
        config["expect"] = _expected(match_text, config.get("expect"))
        for each in config["expect"]:
            if each not in choices:
                raise Invalid(
                    phrase("{each} is not one of the choices: {choices}", each=each, choices=join_words(choices)),
                    path=["expect"],
                )
    return config


def _expected(check: Any, value: Any) -> Any:
    try:
        return check(value)
    except Invalid as error:
        raise Invalid(
            phrase("{place}: {text}", place="expect", text=error.msg) if value is None else error.msg, path=["expect"]
        ) from None


KIND = ConditionKind(
    "agent",
    {
        Required("question", description="What the model is asked."): template,
        Optional("data", description="What it is about; it is quoted as text that others wrote."): dynamic_text,
        Optional("answer", description="yes_no, choice or score; choice when there are choices."): In(
            [YES_NO, CHOICE, SCORE]
        ),
        Optional("choices", description="The possible answers."): match_text,
        Optional("expect", description="The answer or answers for which it is true; yes by default."): object,
        Optional("threshold", description="The score, from 0 to 1, at which it becomes true."): All(
            number, Range(0, 1)
        ),
        Optional("agent", description="Agent whose model and persona answer."): slug,
        Optional("model", description="Instead of the agent's model."): All(string, Length(min=1)),
        Optional("timeout", default=TIMEOUT_S, description="How long to wait for the answer."): All(
            positive_seconds, Range(max=600)
        ),
        Optional("on_error", default=NO, description="What to assume when there is no answer: no, yes or fail."): In(
            [NO, YES, FAIL]
        ),
    },
    _explain,
    "A model is asked a question.",
    check_later=_check,
    rule=_rule,
)
