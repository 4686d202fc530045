"""The parameters of the browser tool."""

from __future__ import annotations

from hub.core.schema import (
    All,
    In,
    Length,
    Match,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    integer,
    string,
    time_zone,
)
from integrations.tools.browser.snapshot import CHARACTERS_DEFAULT, CHARACTERS_LIMIT

ACTIONS = (
    *("status", "start", "stop", "tabs", "open", "navigate", "focus", "close", "snapshot", "act", "screenshot", "pdf"),
    *("console", "requests", "cookies", "dialog", "emulate"),
)
KINDS = ("click", "type", "press", "hover", "drag", "select", "fill", "upload", "scroll", "wait", "evaluate")
STEPS_LIMIT = 20
WAIT_LIMIT_MS = 30_000
TEXT_LIMIT = 20_000

_SHORT = All(string, Length(min=1, max=500))
_REF = All(string, Length(min=1, max=20))
_SIZE = All(integer, Range(min=100, max=4_000))
STEP = {
    Required("kind"): In(KINDS),
    Optional("ref", description="From the snapshot."): _REF,
    Optional("to", description="drag: the ref it is dropped on."): _REF,
    Optional("text", description="type, fill; wait: until it is shown."): All(string, Length(max=TEXT_LIMIT)),
    Optional("submit", description="type, fill: then press Enter."): boolean,
    Optional("key", description="press: such as Enter or Control+A."): _SHORT,
    Optional("values", description="select: the options' labels or values."): All([_SHORT], Length(max=50)),
    Optional("paths", description="upload: files of your workspace."): All([_SHORT], Length(min=1, max=10)),
    Optional("double", description="click: twice."): boolean,
    Optional("button"): In(("left", "right", "middle")),
    Optional("url", description="wait: a glob of the address."): _SHORT,
    Optional("state", description="wait."): In(("load", "domcontentloaded", "networkidle")),
    Optional("selector", description="wait: CSS."): _SHORT,
    Optional("text_gone", description="wait."): _SHORT,
    Optional("fn", description="evaluate; wait: until true. A JavaScript expression; asks the owner."): All(
        string, Length(min=1, max=TEXT_LIMIT)
    ),
    Optional("timeout_ms"): All(integer, Range(min=1, max=WAIT_LIMIT_MS)),
}
PARAMETERS = Schema(
    {
        Required("action"): In(ACTIONS),
        Optional("profile"): _SHORT,
        Optional("tab", description="Such as t2; without it the one you work in."): _SHORT,
        Optional("url", description="open, navigate."): All(string, Length(min=1, max=8_192)),
        Optional("steps", description="act: done in order, with one approval."): All(
            [STEP], Length(min=1, max=STEPS_LIMIT)
        ),
        Optional("refs", default="ai", description="snapshot: 12 (ai) or e12 (role)."): In(("ai", "role")),
        Optional("interactive", default=False, description="snapshot: what can be acted on."): boolean,
        Optional("compact", default=False, description="snapshot."): boolean,
        Optional("depth", description="snapshot."): All(integer, Range(min=1, max=100)),
        Optional("max_chars", default=CHARACTERS_DEFAULT): All(integer, Range(min=100, max=CHARACTERS_LIMIT)),
        Optional("labels", default=False, description="screenshot: with the refs on it."): boolean,
        Optional("full_page", default=False, description="screenshot."): boolean,
        Optional("accept", default=False, description="dialog: how the next one is answered."): boolean,
        Optional("text", description="dialog: for a prompt; console, requests: only lines with it."): _SHORT,
        Optional("clear", default=False, description="cookies: delete all."): boolean,
        Optional("width", description="emulate."): _SIZE,
        Optional("height"): _SIZE,
        Optional("color_scheme", description="emulate."): In(("dark", "light", "no-preference")),
        Optional("media", description="emulate."): In(("screen", "print")),
        Optional("offline", description="emulate."): boolean,
        Optional("locale", description="emulate: such as de-DE."): All(
            string, Match(r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}$", msg="expected a language such as de-DE")
        ),
        Optional("time_zone", description="emulate: such as Europe/Berlin."): time_zone,
        Optional("device", description="emulate: such as iPhone 15; load the page again afterwards."): _SHORT,
    }
)
