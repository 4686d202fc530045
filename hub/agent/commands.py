"""The command about subagents: /subagents lists those of a conversation, shows, stops and steers one."""

from __future__ import annotations

from collections.abc import Callable

from hub.agent.subagents.record import Subagent, SubagentState, find_subagents
from hub.agent.subagents.subagents import Subagents
from hub.messaging.commands.registry import Category, ChatCommand, CommandCall, CommandReply, Commands
from hub.messaging.texts import say

CHOICES = ("list", "info", "kill", "steer")
ALL = "all"
RESULT_SHOWN = 1_500
LISTED = 20


class SubagentCommands:
    """Carries out the command. People reach the subagents they asked for, an owner all of the conversation.

    Args:
        subagents: The subagents.
        language: The language of the home.
        now_ms: Returns the time in milliseconds since the epoch.
    """

    def __init__(self, subagents: Subagents, language: Callable[[], str], now_ms: Callable[[], int]) -> None:
        self._subagents = subagents
        self._language = language
        self._now_ms = now_ms

    def command(self) -> ChatCommand:
        """Return the command."""
        arguments = "[list|info ID|kill ID|kill all|steer ID TEXT]"
        return ChatCommand(
            "subagents", self._run, Category.SESSION, people_only=True, choices=CHOICES, arguments=arguments
        )

    async def _run(self, call: CommandCall) -> str | CommandReply:
        mine = self._mine(call)
        match call.word:
            case "" | "list":
                return self._list(mine)
            case "kill" if call.rest.lower() == ALL:
                return self._kill([each for each in mine if each.state is SubagentState.RUNNING])
        target, _, text = call.rest.partition(" ") if call.word == "steer" else (call.rest, "", "")
        if not target:
            return self._say("what", command=f"/subagents {call.word}")
        found = find_subagents(mine, target)
        if len(found) != 1:
            return self._say("several" if found else "unknown", name=target)
        match call.word:
            case "kill":
                return self._kill(found)
            case "steer" if not text.strip():
                return self._say("text", label=found[0].label)
            case "steer":
                self._subagents.steer(found[0], text.strip(), call.context.authority)
                return self._say("steered", label=found[0].label)
        return self._info(found[0])

    def _mine(self, call: CommandCall) -> list[Subagent]:
        """Return the subagents of a conversation that its sender may see."""
        authority, found = call.context.authority, self._subagents.below(call.session_key)
        if authority.owner:
            return found
        return [each for each in found if each.authority.person == authority.person is not None]

    def _list(self, mine: list[Subagent]) -> str | CommandReply:
        if not mine:
            return self._say("none")
        lines = [self._say("title"), *(f"- {self._line(each)}" for each in mine[-LISTED:])]
        working = [each for each in mine if each.state is SubagentState.RUNNING]
        menu = tuple((f"kill {each.label}", f"/subagents kill {each.id}") for each in working[:LISTED])
        return CommandReply("\n".join(lines), menu)

    def _info(self, each: Subagent) -> str:
        result = each.result.strip()
        shown = result if len(result) <= RESULT_SHOWN else f"{result[:RESULT_SHOWN]}…"
        return "\n".join(filter(None, [self._line(each), each.session_key, shown]))

    def _kill(self, chosen: list[Subagent]) -> str:
        if chosen and chosen[0].state is not SubagentState.RUNNING:
            return self._say("ended", label=chosen[0].label, state=self._say(chosen[0].state.value))
        for each in chosen:
            self._subagents.kill(each)
        return self._say("stopped", count=len(chosen), labels=", ".join(each.label for each in chosen) or "-")

    def _line(self, each: Subagent) -> str:
        seconds = round(((each.ended_ms or self._now_ms()) - each.created_ms) / 1_000)
        state = self._say(each.state.value)
        return self._say("line", label=each.label, id=each.id[-8:], state=state, seconds=seconds, tokens=each.tokens)

    def _say(self, key: str, **values: object) -> str:
        return say(f"subagents.{key}", self._language(), **values)


def add_subagent_command(commands: Commands, subagents: Subagents, now_ms: Callable[[], int]) -> None:
    """Add the command."""
    commands.add(SubagentCommands(subagents, commands.language, now_ms).command())
