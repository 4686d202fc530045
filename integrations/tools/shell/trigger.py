"""`command`: a program that runs beside the hub wrote a line, or ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.phrases import join_words, quote, value_text
from hub.automation.triggers.arming import report_errors
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
    Required,
    boolean,
    ensure_list,
    integer,
    show,
    string,
)
from hub.security.jail_path import PathRefused, components
from hub.template.searching import found, pattern, search_for
from integrations.tools.shell.command_process import CommandLine, CommandProcess

ARGUMENTS_LIMIT = 100
ARGUMENT_CHARS = 8_192
_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")


def _argv(value: Any) -> list[str]:
    if isinstance(value, str):
        raise Invalid(
            phrase(
                "expected a list, program first, such as [tail, -F, notes.log]; there is no shell; got {value}",
                value=show(value),
            )
        )
    if not isinstance(value, list) or not value:
        raise Invalid(phrase("expected a list of the program and its arguments, got {value}", value=show(value)))
    argv = [str(string(each)) for each in value]
    if len(argv) > ARGUMENTS_LIMIT or any(len(each) > ARGUMENT_CHARS or "\x00" in each for each in argv):
        raise Invalid(
            phrase(
                "expected at most {limit} arguments of at most {length} characters",
                limit=ARGUMENTS_LIMIT,
                length=ARGUMENT_CHARS,
            )
        )
    if not argv[0].strip():
        raise Invalid(phrase("expected a program, got nothing"), path=[0])
    return argv


def _folder(value: Any) -> str:
    try:
        return "/".join(components(str(string(value))))
    except PathRefused as error:
        raise Invalid(error.message) from error


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    foreign = ("regex", "errors") if config["on"] == "exit" else ("code",)
    for key in foreign:
        if key in config:
            raise Invalid(phrase("{key} does not apply to on: {on}", key=key, on=config["on"]), path=[key])
    return config


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    on: str = config["on"]
    search = search_for(config["regex"]) if "regex" in config else None
    codes: list[int] | None = config.get("code")
    argv: list[str] = config["command"]

    def wrote(line: str, release: int) -> None:
        match = search(line) if search is not None else None
        if search is not None and match is None:
            return
        trigger: dict[str, Any] = {
            "command": argv,
            "line": line,
            "release": release,
            "description": f"a line of {argv[0]}",
        }
        if match is not None:
            trigger["match"] = found(match)
        host.fire(trigger, tainted=True)

    def ended(code: int | None, lasted_s: float) -> None:
        if on != "exit" or code is None or (codes is not None and code not in codes):
            return
        trigger = {"command": argv, "code": code, "duration_s": lasted_s, "description": f"{argv[0]} ended with {code}"}
        host.fire(trigger)

    command = CommandLine(
        argv=tuple(argv),
        folder=host.parts.home.joinpath(config["folder"]),
        environment=config["environment"],
        restart=config["restart"],
        errors_too=config.get("errors", False),
    )
    process = CommandProcess(command, host.parts.clock, wrote if on == "line" else None, ended, host.fail)
    task = host.parts.tasks.spawn(process.run(), name=f"command {argv[0]} of {host.automation_id}")

    def end() -> None:
        task.cancel()

    return end


def _explain(config: Mapping[str, Any]) -> str:
    program = quote(" ".join(config["command"]))
    if config["on"] != "line":
        if "code" not in config:
            return phrase("when the command {program} ends", program=program)
        codes = join_words(map(str, config["code"]), "or")
        return phrase("when the command {program} ends with {codes}", program=program, codes=codes)
    said = phrase("when the command {program} writes a line", program=program)
    if "regex" in config:
        return phrase("{said} that matches {pattern}", said=said, pattern=f"/{value_text(config['regex'])}/")
    return said


KINDS = {
    "command": TriggerKind(
        name="command",
        fields={
            Required("command", description="The program and its arguments, as a list; there is no shell."): Described(
                _argv, {"type": "array", "items": {"type": "string"}, "minItems": 1}, "program and arguments"
            ),
            Optional("on", default="exit", description="exit or line."): In(("exit", "line")),
            Optional("code", description="Only these exit codes; a signal is negative."): All(
                ensure_list(integer), Length(min=1)
            ),
            Optional("regex", description="Only lines with this; groups are in `trigger.match`."): pattern,
            Optional("errors", description="Whether lines on standard error count too."): boolean,
            Optional(
                "restart", default=True, description="Whether it is restarted after it ends, with growing pauses."
            ): (boolean),
            Optional("folder", default="", description="Where it runs, relative to the home directory."): Described(
                _folder, {"type": "string"}, "folder"
            ),
            Optional(
                "environment", default=dict, description="Environment variables besides PATH, HOME, LANG and the like."
            ): {All(string, Match(_NAME, msg="expected the name of a variable")): string},
        },
        arm=report_errors(_arm),
        explain=_explain,
        description="A command wrote a line, or ended.",
        rule=_rule,
    )
}
