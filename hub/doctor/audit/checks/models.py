"""Models: whether a weak one holds strong tools, and whether strangers reach it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hub.config.paths import KeyPath
from hub.core.phrases import phrase
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot
from hub.models.contract import AUTO

SMALL_BILLIONS = 14.0
_BILLIONS = re.compile(r"(?<![\d.])e?(\d{1,3}(?:\.\d{1,2})?)b(?![a-z])")
_WEAK = re.compile(
    r"gpt-3|gpt-4o-mini|gpt-4\.1-nano|gpt-5-nano|claude-(?:instant|2|3-haiku)|gemini-1\.|gemini-pro|flash-lite"
    r"|llama-?[12](?!\d)|text-davinci|tinyllama|smollm|phi-?[23]|gemma:2b|-nano\b|-tiny\b"
)
"""Models that are small or of years ago, by their names: words in what they read steer them easily."""


def is_weak(name: str) -> bool:
    """Whether a model is small or old, as far as its name tells."""
    model = name.lower().partition("@")[0]
    sizes = [float(each) for each in _BILLIONS.findall(model)]
    return bool(_WEAK.search(model)) or (bool(sizes) and max(sizes) <= SMALL_BILLIONS)


def _weak(context: AuditContext) -> Iterator[Spot]:
    section = context.section("models")
    aliases = section.get("aliases", {})
    others = bool(context.open_to_strangers) or any(
        each.get("identities") and not each.get("owner") for each in context.section("people") or ()
    )
    told: set[KeyPath] = set()
    for agent in context.agents:
        tools = context.strong(agent)
        named: list[tuple[str, KeyPath]] = []
        if agent.keys is not None and agent.model is not None:
            named.append((agent.model, (*agent.keys, "model")))
        else:
            named.append((section.get("default", AUTO), ("models", "default")))
        fallbacks = enumerate(section.get("fallbacks", ()))
        named += [(each, context.written(("models", "fallbacks", at))) for at, each in fallbacks]
        for ref, keys in named:
            model = aliases.get(ref, ref)
            if not tools or keys in told or not is_weak(model):
                continue
            told.add(keys)
            what = phrase("{model} is a weak model, and may use {tools}", model=model, tools=tools)
            yield Spot(what, keys, severity=_severity(context, others=others))


def _severity(context: AuditContext, *, others: bool) -> AuditSeverity:
    if context.open_to_strangers and context.section("tools").get("strangers", "minimal") != "minimal":
        return AuditSeverity.CRITICAL
    return AuditSeverity.WARNING if others else AuditSeverity.NOTE


CHECKS = (
    AuditCheck(
        "models.weak",
        AuditSeverity.CRITICAL,
        phrase("Which models use which tools"),
        phrase("A small or old model is easily talked into something by the pages, mails and messages that it reads."),
        phrase(
            "Use a better model for agents with strong tools, or give this one fewer: tools.by_provider, or the "
            "agent's tools."
        ),
        _weak,
    ),
)
