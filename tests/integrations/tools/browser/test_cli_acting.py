"""The commands that act on a page: what each of them asks the hub, which takes it."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from integrations.tools.browser.cli_acting import add_commands
from integrations.tools.browser.parameters import PARAMETERS


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("click 12 --double --button right", {"kind": "click", "ref": "12", "double": True, "button": "right"}),
        ("type e12 hello --submit", {"kind": "type", "ref": "e12", "text": "hello", "submit": True}),
        ("fill 12 x", {"kind": "fill", "ref": "12", "text": "x"}),
        ("press Enter", {"kind": "press", "key": "Enter"}),
        ("hover 12", {"kind": "hover", "ref": "12"}),
        ("drag 12 15", {"kind": "drag", "ref": "12", "to": "15"}),
        ("select 12 Monday Friday", {"kind": "select", "ref": "12", "values": ["Monday", "Friday"]}),
        ("scroll", {"kind": "scroll"}),
        ("evaluate 1+1", {"kind": "evaluate", "fn": "1+1"}),
        (
            "wait --url **/done --state load --selector p --text a --text-gone b --fn c --timeout-ms 5",
            {"kind": "wait", "url": "**/done", "state": "load", "selector": "p", "text": "a", "text_gone": "b"}
            | {"fn": "c", "timeout_ms": 5},
        ),
        ("navigate https://example.com --tab t2", {"action": "navigate", "url": "https://example.com", "tab": "t2"}),
        ("close", {"action": "close"}),
        ("console --text a", {"action": "console", "text": "a"}),
        ("cookies --clear", {"action": "cookies", "clear": True}),
        ("dialog --accept --text a", {"action": "dialog", "accept": True, "text": "a"}),
        (
            "emulate --width 400 --height 300 --color-scheme dark --media print --locale de-DE --device x "
            "--time-zone Europe/Berlin",
            {"action": "emulate", "width": 400, "height": 300, "color_scheme": "dark", "media": "print"}
            | {"locale": "de-DE", "time_zone": "Europe/Berlin", "device": "x"},
        ),
    ],
)
def test_a_command_asks_for_what_it_says(typed: str, asked: dict[str, Any]) -> None:
    calls: list[dict[str, Any]] = []

    def use(**params: Any) -> None:
        calls.append({name: each for name, each in params.items() if each is not None})

    group = click.Group("browser")
    add_commands(group, use, click.option("--tab"), click.option("--profile"))
    ran = CliRunner().invoke(group, typed.split())

    assert ran.exit_code == 0, ran.output
    assert calls == [asked if "action" in asked else {"action": "act", "steps": [asked]}]
    PARAMETERS(calls[0])
