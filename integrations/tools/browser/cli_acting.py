"""`homarus browser click 12` and the like: what agents do on a page, one command each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def _argument(name: str, count: int = 1) -> click.Argument:
    return click.Argument([name], metavar=name.upper() + ("…" if count < 0 else ""), nargs=count, required=True)


def _option(name: str, help: str, kind: Any = str) -> click.Option:
    flag = kind is bool
    metavar = None if flag or isinstance(kind, click.Choice) else ("N" if kind is int else name.upper())
    declared = f"--{name.replace('_', '-')}"
    return click.Option([declared, name], help=help, is_flag=flag, metavar=metavar, type=None if flag else kind)


_REF, _TEXT, _URL = _argument("ref"), _argument("text"), _argument("url")
_SUBMIT = _option("submit", "Then press Enter.", bool)
_AT = _option("ref", "An element of the last snapshot; without it, the page.")
_PART = _option("text", "Only lines with this.")
_STATE = click.Choice(["load", "domcontentloaded", "networkidle"])
_ON_PAGE: tuple[tuple[str, str, str, tuple[click.Parameter, ...]], ...] = (
    (
        "click",
        "Click an element of the last snapshot.",
        "12",
        (
            _REF,
            _option("double", "Twice.", bool),
            _option("button", "Which.", click.Choice(["left", "right", "middle"])),
        ),
    ),
    ("type", "Type a text into an element, key by key.", "12 hello --submit", (_REF, _TEXT, _SUBMIT)),
    ("fill", "Replace the text of a field.", "12 hello", (_REF, _TEXT, _SUBMIT)),
    ("press", "Press a key.", "Enter", (_argument("key"), _AT)),
    ("hover", "Move the mouse over an element.", "12", (_REF,)),
    ("drag", "Drag an element onto another.", "12 15", (_REF, _argument("to"))),
    ("select", "Choose options of a list.", "12 Monday", (_REF, _argument("values", -1))),
    ("scroll", "Scroll to an element, or one window down.", "--ref 12", (_AT,)),
    ("evaluate", "Print the value of a JavaScript expression.", "document.title", (_argument("fn"),)),
    (
        "wait",
        "Wait until all is so that the options say.",
        "--text Thanks --timeout-ms 5000",
        (
            _option("url", "A glob of the address."),
            _option("state", "How far the page is.", _STATE),
            _option("selector", "A CSS selector of what is shown."),
            _option("text", "A text that is shown."),
            _option("text_gone", "A text that is shown no more."),
            _option("fn", "A JavaScript expression that is true."),
            _option("timeout_ms", "At most this long; alone, as long as this.", int),
        ),
    ),
)
_OF_TAB: tuple[tuple[str, str, str, tuple[click.Parameter, ...]], ...] = (
    ("navigate", "Lead a tab to an address.", "https://example.com", (_URL,)),
    ("focus", "Bring a tab to the front.", "--tab t2", ()),
    ("close", "Close a tab.", "--tab t2", ()),
    ("console", "Print the last lines of a page's console.", "--text error", (_PART,)),
    ("requests", "Print what a page asked for last.", "--text api", (_PART,)),
    ("cookies", "List names and hosts of the cookies.", "", (_option("clear", "Delete all of them.", bool),)),
    (
        "dialog",
        "Say how the next dialog is answered; it is dismissed otherwise.",
        "--accept",
        (_option("accept", "Accept it.", bool), _option("text", "What to answer a prompt.")),
    ),
    (
        "emulate",
        "Let a page see another device, place or language.",
        '--device "iPhone 15"',
        (
            _option("width", "Of the window, with --height.", int),
            _option("height", "Of the window, with --width.", int),
            _option("color_scheme", "Which.", click.Choice(["dark", "light", "no-preference"])),
            _option("media", "Which.", click.Choice(["screen", "print"])),
            _option("locale", "Such as de-DE."),
            _option("time_zone", "Such as Europe/Berlin."),
            _option("device", "Such as iPhone 15; load the page again afterwards."),
        ),
    ),
)


def add_commands(group: click.Group, use: Callable[..., None], *shared: Callable[[Any], Any]) -> None:
    """Add the commands to `homarus browser`.

    Args:
        use: Asks the hub, with the shared options, `action` and its parameters.
        shared: Add the options that all have.
    """
    for on_page, table in ((True, _ON_PAGE), (False, _OF_TAB)):
        for name, what, example, parameters in table:
            text = f"{what}\n\nExample:\n  homarus browser {f'{name} {example}'.strip()}"
            command: Any = group.command(name, params=[*parameters], help=text)(
                _callback(name, parameters, use, on_page)
            )
            for add in reversed(shared):
                command = add(command)


def _callback(
    name: str, parameters: tuple[click.Parameter, ...], use: Callable[..., None], on_page: bool
) -> Callable[..., None]:
    def run(**given: Any) -> None:
        own = {each.name or "": given.pop(each.name or "") for each in parameters}
        step = {key: list(value) if isinstance(value, tuple) else value for key, value in own.items() if value}
        use(**given, **({"action": "act", "steps": [{"kind": name, **step}]} if on_page else {"action": name, **step}))

    return run
