"""System prompts with the tools that go with them, made once for the same facts."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from msgspec import Struct
from msgspec.structs import replace

from hub.agent.conversation.window import estimate_text
from hub.agent.prompt.prompt import PromptFacts, PromptMode, PromptPart, prompt_parts
from hub.agent.tools.find_tools import FINDERS, up_front
from hub.models.contract import ToolSpec
from hub.tools.contract import Tool

PROMPTS_KEPT = 64
EXTRA = "extra"
_SUBAGENT = "# Subagent Context"
_GROUP = "## Group Chat Context"


class Prompt(Struct, frozen=True):
    """A system prompt with the tools that go with it.

    Attributes:
        system: The text.
        specs: The tools that are described.
        tokens: About how many tokens both have.
        parts: What the text is made of.
        found: Tools that are not described, and found by `find_tools`.
    """

    system: str
    specs: tuple[ToolSpec, ...]
    tokens: int
    parts: tuple[PromptPart, ...] = ()
    found: tuple[ToolSpec, ...] = ()


class Prompts:
    """The prompts made last; the same strings, so that nothing about them is done twice."""

    def __init__(self) -> None:
        self._kept: dict[tuple[PromptFacts, tuple[int, ...]], tuple[list[Tool], Prompt]] = {}

    def of(
        self, facts: PromptFacts, tools: list[Tool], configured: str | None = None, extra: str | None = None
    ) -> Prompt:
        """Return the prompt of an agent.

        Args:
            facts: What it is made of; the names of tools are filled in.
            tools: The tools the agent may use.
            configured: What the configuration says of the conversation; put behind it.
            extra: What a caller adds; put behind that.
        """
        key = (facts, tuple(map(id, tools)))
        known = self._kept.get(key)
        if known is None:
            # The tools are kept with it, so that no other tool gets one of their ids.
            known = self._kept[key] = (tools, _prompt(facts, tools))
            if len(self._kept) > PROMPTS_KEPT:
                del self._kept[next(iter(self._kept))]
        prompt = known[1]
        texts = [
            _titled(_GROUP if facts.in_room else None, configured),
            _titled(_SUBAGENT if facts.mode is PromptMode.MINIMAL else None, extra),
        ]
        if not (added := "\n\n".join(text for text in texts if text)):
            return prompt
        return replace(
            prompt,
            system=f"{prompt.system}\n\n{added}",
            tokens=prompt.tokens + estimate_text(added),
            parts=(*prompt.parts, PromptPart(EXTRA, added, len(added))),
        )


def spec_of(tool: Tool) -> ToolSpec:
    """Return a tool as it is described to a model."""
    return ToolSpec(tool.name, tool.description, tool.parameters.json_schema)


def spec_bytes(spec: ToolSpec) -> int:
    """Return how many bytes a tool has as described to a model."""
    return len(orjson.dumps({"name": spec.name, "description": spec.description, "parameters": spec.parameters}))


def spec_tokens(spec: ToolSpec) -> int:
    """Return about how many tokens a tool has as described to a model."""
    return (spec_bytes(spec) * 2 + 6) // 7


def _prompt(facts: PromptFacts, tools: Sequence[Tool]) -> Prompt:
    shown, found = up_front(tools, facts.settings.tools_up_front)
    if not found:
        shown = [tool for tool in shown if tool.name not in FINDERS]
    names = tuple(tool.name for tool in tools)
    parts = prompt_parts(replace(facts, tool_names=names, more_tools=tuple(tool.name for tool in found)))
    specs = tuple(spec_of(tool) for tool in shown)
    system = "\n\n".join(part.text for part in parts)
    tokens = estimate_text(system) + sum(spec_tokens(spec) for spec in specs)
    return Prompt(system, specs, tokens, parts, tuple(spec_of(tool) for tool in found))


def _titled(title: str | None, text: str | None) -> str:
    text = (text or "").strip()
    return f"{title}\n{text}" if title is not None and text else text
