"""Configuration of speech: the model or the program that speaks, and its voice; without them `voice:` speaks."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from hub.config.sections import CheckReport
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    In,
    Length,
    Match,
    Optional,
    Range,
    Schema,
    SchemaError,
    integer,
    program,
    string,
)
from hub.models.schema import model_ref, models_at
from hub.models.speech import FORMATS
from integrations.tools.speech_program import VOICE_PLACE


class AnswersSpoken(StrEnum):
    """Which answers are spoken beside being written."""

    OFF = "off"
    TAGGED = "tagged"
    INBOUND = "inbound"
    ALWAYS = "always"


ARGUMENTS_LIMIT = 64

voice = All(string, Match(r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}\Z", msg="expected letters, digits and any of _.+-"))
"""A voice; it can be an argument of a program, but no option and no path."""


def _one_speaker(config: dict[str, Any]) -> dict[str, Any]:
    if "model" in config and "command" in config:
        raise SchemaError("expected either model, such as openai/gpt-4o-mini-tts, or command", path=["model"])
    if "voice" in config or not {"model", "command"} & config.keys():
        return config
    if "model" in config:
        raise SchemaError("missing: the name of a voice of the model, such as alloy", path=["voice"])
    if any(VOICE_PLACE in each for each in config["command"]):
        raise SchemaError(f"missing: what {VOICE_PLACE} is in the command", path=["voice"])
    return config


CONFIG_SCHEMA = Schema(
    All(
        {
            Optional("model", description="The model that speaks, such as openai/gpt-4o-mini-tts."): model_ref,
            Optional(
                "command", description="Or a program and its arguments: text on stdin, a recording on stdout."
            ): All([program], Length(min=1, max=ARGUMENTS_LIMIT)),
            Optional("voice", description="Voice of the model; in a command it takes the place of {voice}."): voice,
            Optional(
                "answers",
                default=AnswersSpoken.TAGGED.value,
                description="Which answers in chats are spoken too: tagged, those that the agent marks with [[voice]]; "
                "inbound, those to voice messages as well; always; off",
            ): In(tuple(AnswersSpoken)),
            Optional(
                "long_answers",
                default=600,
                description="Characters of spoken words above which a model shortens an answer for the ear",
            ): All(integer, Range(min=100, max=4_000)),
            Optional(
                "format", default=FORMATS[0], description="Format asked of the model; voice messages need opus or mp3."
            ): In(FORMATS),
        },
        _one_speaker,
    )
)


def _somebody_speaks(config: Any, report: CheckReport) -> None:
    section = config.get("speech")
    if section is not None and not {"model", "command"} & section.keys() and config.get("voice") is None:
        report.error(
            ("speech",), phrase("nothing speaks: set model, such as openai/gpt-4o-mini-tts, or command, or `voice:`")
        )


CROSS_CHECKS = {"model": models_at(("speech", "model")), "engine": _somebody_speaks}
