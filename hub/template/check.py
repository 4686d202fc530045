"""The check of a template's words before anything runs it: syntax, and the names of filters, tests and functions."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from hub.template.contract import HUB_FUNCTIONS, TemplateFailed, is_template

if TYPE_CHECKING:
    from hub.template.environment import TemplateSandbox

CACHED_CHECKS = 4_096
_TOKENS = {"end of print statement": "}}", "end of statement block": "%}", "begin of print statement": "{{"}
"""What the template language calls them → how they are written."""


def check_template(text: str, functions: Collection[str] = HUB_FUNCTIONS) -> str | None:
    """Return the problem of a template, with its line; None if it is valid.

    Args:
        text: The template; a text without any template in it is fine.
        functions: Names of functions that the hub adds.
    """
    if not is_template(text):
        return None
    return _checked(text, frozenset(functions))


@lru_cache(maxsize=CACHED_CHECKS)
def _checked(text: str, functions: frozenset[str]) -> str | None:
    from hub.template.compile import parse_checked

    try:
        parse_checked(_sandbox(), text.strip(), functions)
    except TemplateFailed as error:
        reason = error.reason
        for token, written in _TOKENS.items():
            reason = reason.replace(token, written)
        if reason.startswith("unexpected "):
            reason += "; something is missing before it, or it is one too many"
        return f"line {error.line}: {reason}" if error.line else reason
    return None


@lru_cache(maxsize=1)
def _sandbox() -> TemplateSandbox:
    """A sandbox without data, which has the functions and filters of every other."""
    from datetime import UTC

    from hub.core.clock import Clock
    from hub.core.events import EventBus
    from hub.core.states import StateMachine
    from hub.core.tasks import TaskOwner
    from hub.template.environment import TemplateSandbox
    from hub.template.library import fill
    from hub.template.work import TemplateLimits

    sandbox = TemplateSandbox(TemplateLimits(), lambda _message: None)
    fill(sandbox, StateMachine(EventBus(TaskOwner("check of templates"))), Clock(), lambda: UTC)
    return sandbox
