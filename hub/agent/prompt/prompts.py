"""System prompts with their tools, cached by their facts."""

from __future__ import annotations

import orjson
from msgspec import Struct
from msgspec.structs import replace

from hub.agent.conversation.window import estimate_text
from hub.agent.prompt.prompt import PromptFacts, PromptMode, PromptPart, prompt_parts
from hub.agent.runs.trace import TOOLS
from hub.agent.tools.find_tools import FINDERS, up_front
from hub.models.contract import ToolSpec
from hub.tools.contract import Tool

PROMPTS_KEPT = 64
EXTRA = "extra"
_SUBAGENT = "# Subagent Context"
_GROUP = "## Group Chat Context"


class Prompt(Struct, frozen=True):
    """A system prompt with its tools.

    Attributes:
        system: The text.
        specs: The tools that are described.
        tokens: About how many tokens both have.
        parts: The parts of the text.
        found: Tools that are not described, and found by `find_tools`.
        described: The described tools as JSON; empty without any.
        pieces: The parts and the described tools in words, by name.
    """

    system: str
    specs: tuple[ToolSpec, ...]
    tokens: int
    parts: tuple[PromptPart, ...] = ()
    found: tuple[ToolSpec, ...] = ()
    described: str = ""
    pieces: tuple[tuple[str, str], ...] = ()


class OfferedTools(Struct, frozen=True):
    """The tools of a prompt, as described to a model.

    Attributes:
        tools: All tools.
        names: What they are called.
        specs: The described ones.
        found: Those that `find_tools` finds.
        found_names: What those are called.
        tokens: About how many tokens the described ones have.
        described: The described ones as JSON; empty without any.
    """

    tools: list[Tool]
    names: tuple[str, ...]
    specs: tuple[ToolSpec, ...]
    found: tuple[ToolSpec, ...]
    found_names: tuple[str, ...]
    tokens: int
    described: str


class Prompts:
    """A cache of the latest prompts; equal facts give the same strings."""

    def __init__(self) -> None:
        self._kept: dict[tuple[PromptFacts, tuple[int, ...]], tuple[list[Tool], Prompt]] = {}
        self._offers: dict[tuple[int, tuple[int, ...]], OfferedTools] = {}

    def of(
        self, facts: PromptFacts, tools: list[Tool], configured: str | None = None, extra: str | None = None
    ) -> Prompt:
        """Return the prompt of an agent.

        Args:
            facts: Its input; the names of tools are filled in.
            tools: The tools the agent may use.
            configured: What the configuration adds for the conversation; it follows the prompt.
            extra: What a caller adds; it follows that.
        """
        ids = tuple(map(id, tools))
        key = (facts, ids)
        known = self._kept.get(key)
        if known is None:
            # The tools are kept with it, so that no other tool gets one of their ids.
            known = self._kept[key] = (tools, _prompt(facts, self._offer(tools, ids, facts.settings.tools_up_front)))
            if len(self._kept) > PROMPTS_KEPT:
                del self._kept[next(iter(self._kept))]
        prompt = known[1]
        if not configured and not extra:
            return prompt
        texts = [
            _titled(_GROUP if facts.in_room else None, configured),
            _titled(_SUBAGENT if facts.mode is PromptMode.MINIMAL else None, extra),
        ]
        if not (added := "\n\n".join(filter(None, texts))):
            return prompt
        return replace(
            prompt,
            system=f"{prompt.system}\n\n{added}",
            tokens=prompt.tokens + estimate_text(added),
            parts=(parts := (*prompt.parts, PromptPart(EXTRA, added, len(added)))),
            pieces=_pieces(parts, prompt.described),
        )

    def _offer(self, tools: list[Tool], ids: tuple[int, ...], limit: int) -> OfferedTools:
        """Return tools as described to a model; unaffected when only a file of the prompt changes."""
        known = self._offers.get((limit, ids))
        if known is None:
            known = self._offers[limit, ids] = _offered(tools, limit)
            if len(self._offers) > PROMPTS_KEPT:
                del self._offers[next(iter(self._offers))]
        return known


def spec_of(tool: Tool) -> ToolSpec:
    """Return a tool as described to a model."""
    return ToolSpec(tool.name, tool.description, tool.parameters.json_schema)


def spec_bytes(spec: ToolSpec) -> int:
    """Return the bytes of a tool's description to a model."""
    return len(orjson.dumps({"name": spec.name, "description": spec.description, "parameters": spec.parameters}))


def spec_tokens(spec: ToolSpec) -> int:
    """Return the estimated tokens of a tool's description to a model."""
    return (spec_bytes(spec) * 2 + 6) // 7


def _offered(tools: list[Tool], limit: int) -> OfferedTools:
    shown, found = up_front(tools, limit)
    if not found:
        shown = [tool for tool in shown if tool.name not in FINDERS]
    specs = tuple(spec_of(tool) for tool in shown)
    tokens = sum(spec_tokens(spec) for spec in specs)
    names, further = tuple(tool.name for tool in tools), tuple(tool.name for tool in found)
    told = [{"name": each.name, "description": each.description, "parameters": each.parameters} for each in specs]
    described = orjson.dumps(told, default=str).decode() if told else ""
    return OfferedTools(tools, names, specs, tuple(spec_of(tool) for tool in found), further, tokens, described)


def _prompt(facts: PromptFacts, offered: OfferedTools) -> Prompt:
    parts = prompt_parts(replace(facts, tool_names=offered.names, more_tools=offered.found_names))
    system = "\n\n".join([part.text for part in parts])
    tokens, described = estimate_text(system) + offered.tokens, offered.described
    return Prompt(system, offered.specs, tokens, parts, offered.found, described, _pieces(parts, described))


def _pieces(parts: tuple[PromptPart, ...], described: str) -> tuple[tuple[str, str], ...]:
    """Return the parts of a prompt in words, and the tools behind them."""
    tools = [(TOOLS, described)] if described else []
    return (*[(part.name, part.text) for part in parts], *tools)


def _titled(title: str | None, text: str | None) -> str:
    text = (text or "").strip()
    return f"{title}\n{text}" if title is not None and text else text
