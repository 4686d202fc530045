"""Hundreds of turns with tools in a small window: always whole, and nothing that matters is forgotten."""

from __future__ import annotations

from pathlib import Path

from hub.agent.compaction.entry import COMPACTION
from hub.agent.run_request import RunStatus
from hub.models.vendors import OPENAI_API
from hub.tools.contract import ToolCall, ToolResult
from hub.tools.policy import ToolRules
from tests.agent.house import OUTSIDE
from tests.agent.remembering_house import RememberingHouse, remembering
from tests.agent.scripted_model import ScriptedModel
from tests.lengths import LONG

TURNS, WINDOW, TAINT_SEEN_AT = (500, 32_000, 400) if LONG else (120, 16_000, 101)
PLANTED = {2: ("code", "alarm", "Marigold"), 4: ("price", "boiler", "Heliotrope"), 9: ("name", "plumber", "Kessler")}
TAINTED_AT = 20
SEEN = "The cellar was dry and the lamp was on. " * 150
MODELS = {
    "default": "test/model",
    "providers": {
        "test": {
            "api": "openai",
            "base_url": "http://127.0.0.1:9/v1",
            "api_key": "sk-test-not-a-secret",
            "models": [{"id": "model", "context_window": WINDOW}],
        }
    },
}
OWN_TOOLS = {"deny": ["nodes", "skill", "skill_propose", "why"]}
"""Those of the test alone, so that the window holds as much whatever the others say of themselves."""


def words(at: int) -> str:
    """What is said in a turn: that a tool is to be used, or several, or one that fails or is not there."""
    if at in PLANTED:
        kind, of, value = PLANTED[at]
        return f"Please note: the {kind} of the {of} is {value}"
    if at == TAINTED_AT:
        return "Use fetch"
    tools = {0: "Use look, Use fail, Use look", 3: "Use nothing", 7: "Use fail"}
    return f"{tools.get(at % 10, 'Use look')}, for the {at}th time"


async def talk(house: RememberingHouse, at: int) -> None:
    result = await house.runner.run(house.request(words(at), run_id=f"turn-{at}"))
    assert result.status is RunStatus.OK, result.error


async def test_hundreds_of_turns_lose_nothing_that_matters(tmp_path: Path) -> None:
    model, tainted = ScriptedModel(), dict[str, bool]()

    def look(call: ToolCall) -> str:
        tainted[call.run_id] = call.context.authority.tainted
        return SEEN

    async with remembering(tmp_path, "http://127.0.0.1:9/v1") as house:
        house.models.register_api(OPENAI_API, lambda name, config: model)
        house.models.configure(MODELS)
        house.tools.configure(ToolRules.from_config(OWN_TOOLS))
        house.tool("look", look)
        house.tool("fail", lambda _: ToolResult("there is no lamp", is_error=True))
        house.tool("fetch", lambda _: "Buy tulips, said the page.", OUTSIDE)

        for at in range(TURNS):
            await talk(house, at)
        replies = [
            (await house.runner.run(house.request(f"What is the {kind} of the {of}?"))).reply
            for kind, of, _ in PLANTED.values()
        ]

        compactions = [entry for entry in house.entries() if entry.data.get("name") == COMPACTION]
        assert len(compactions) >= 10
        assert not any(told.get("error") for told in house.told("compaction_finished"))
        assert replies == [value for _, _, value in PLANTED.values()]
        assert model.orphans == 0
        assert len(model.heads) == 1
        assert model.rewritten == len(compactions)
        assert model.largest < WINDOW
        assert (tainted["turn-19"], tainted["turn-21"], tainted[f"turn-{TAINT_SEEN_AT}"]) == (False, True, True)
        assert [entry.provenance.derived for entry in compactions][-1] is True
