"""A conversation of ten thousand entries: whether and where it is cut; and a prompt from what is cached."""

from __future__ import annotations

from datetime import UTC
from time import perf_counter

from hub.agent.compaction.plan import find_cut
from hub.agent.compaction.settings import CompactionSettings
from hub.agent.conversation.conversation import RunConversation
from hub.agent.conversation.ephemeral import ephemeral_transcript
from hub.agent.prompt.prompt import PromptFacts, PromptFile
from hub.agent.prompt.prompts import Prompts
from hub.models.contract import Message, Role, TextBlock, ToolCallBlock, tool_result, user_message
from hub.tools.contract import Tool, ToolCall, ToolResult
from hub.tools.parameters import from_json_schema
from tests.benchmarks.table import Row, row

ENTRIES = 10_000
RUNS = 50
WINDOW = 200_000


def measure() -> list[Row]:
    """Decide often."""
    messages: list[Message] = []
    for at in range(ENTRIES // 4):
        call = ToolCallBlock(f"c{at}", "look", {"at": at})
        messages += [user_message(f"question {at}"), Message(Role.ASSISTANT, (call,)), tool_result(call, "seen " * 40)]
        messages.append(Message(Role.ASSISTANT, (TextBlock("an answer of some words " * 5),)))
    conversation = RunConversation(ephemeral_transcript(messages, str, trusted=True), UTC)
    begun = perf_counter()
    conversation.tokens()
    first = (perf_counter() - begun) * 1_000
    settings = CompactionSettings()
    looks, cuts = [], []
    for _ in range(RUNS):
        begun = perf_counter()
        is_due = conversation.tokens() > settings.threshold(WINDOW)
        looks.append((perf_counter() - begun) * 1_000)
        find_cut(conversation.items(), settings.keep(WINDOW))
        cuts.append((perf_counter() - begun) * 1_000)
    if not is_due:
        raise AssertionError("the conversation is long enough to be compacted")
    return [
        *_prompts(),
        row("a conversation of 10 000 entries is read for a model", "ms", [first]),
        row("it is decided that nothing is to be compacted", "ms", looks),
        row("it is decided where 10 000 entries are cut", "ms", cuts, "< 20"),
    ]


def _prompts() -> list[Row]:
    """Make the prompt of an agent with large files and many tools, and make it again."""

    async def run(_: ToolCall) -> ToolResult:
        return ToolResult("")

    parameters = from_json_schema({"type": "object", "properties": {"text": {"type": "string"}}})
    tools = [Tool(f"tool_{at}", "Does something. " * 8, parameters, run, "other") for at in range(100)]
    files = tuple(PromptFile(f"{at}.md", "word " * 3_000, 15_000) for at in range(5))
    prompts, first, again = Prompts(), [], []
    for at in range(RUNS):
        begun = perf_counter()
        prompts.of(PromptFacts(f"Agent {at}", files, zone="UTC"), tools)
        first.append((perf_counter() - begun) * 1_000)
        begun = perf_counter()
        prompts.of(PromptFacts(f"Agent {at}", files, zone="UTC"), tools, "in a group", "be brief")
        again.append((perf_counter() - begun) * 1_000)
    return [
        row("a prompt of 75 000 characters and 100 tools is made", "ms", first),
        row("it is made again from what is cached", "ms", again, "< 2"),
    ]
