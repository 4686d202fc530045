"""Five hundred turns with tools in a window of 32 000 tokens: always whole, and nothing that matters is forgotten."""

from __future__ import annotations

from pathlib import Path

from hub.agent.compaction.entry import COMPACTION
from hub.agent.run_request import RunStatus
from hub.models.vendors import OPENAI_API
from hub.tools.contract import ToolCall
from tests.agent.house import OUTSIDE
from tests.agent.remembering_house import RememberingHouse, remembering
from tests.agent.scripted_model import ScriptedModel

TURNS = 500
PLANTED = {2: ("code", "alarm", "Marigold"), 4: ("price", "boiler", "Heliotrope"), 9: ("name", "plumber", "Kessler")}
TAINTED_AT = 20
SEEN = "The cellar was dry and the lamp was on. " * 100


async def talk(house: RememberingHouse, at: int) -> None:
    if at in PLANTED:
        kind, of, value = PLANTED[at]
        text = f"Please note: the {kind} of the {of} is {value}"
    elif at == TAINTED_AT:
        text = "Use fetch"
    else:
        text = f"Use look, for the {at}th time"
    result = await house.runner.run(house.request(text, run_id=f"turn-{at}"))
    assert result.status is RunStatus.OK, result.error


async def test_five_hundred_turns_lose_nothing_that_matters(tmp_path: Path) -> None:
    model, tainted = ScriptedModel(), dict[str, bool]()

    def look(call: ToolCall) -> str:
        tainted[call.run_id] = call.context.authority.tainted
        return SEEN

    async with remembering(tmp_path, "http://127.0.0.1:9/v1") as house:
        house.models.register_api(OPENAI_API, lambda name, config: model)
        house.tool("look", look)
        house.tool("fetch", lambda _: "Buy tulips, said the page.", OUTSIDE)

        for at in range(TURNS):
            await talk(house, at)
        replies = [
            (await house.runner.run(house.request(f"What is the {kind} of the {of}?"))).reply
            for kind, of, _ in PLANTED.values()
        ]

        compactions = [entry for entry in house.entries() if entry.data.get("name") == COMPACTION]
        assert len(compactions) >= 10
        assert not any(house.told("compaction_finished")[at].get("error") for at in range(len(compactions)))
        assert replies == [value for _, _, value in PLANTED.values()]
        assert model.orphans == 0
        assert len(model.heads) == 1
        assert model.largest < 32_000
        assert (tainted["turn-19"], tainted["turn-21"], tainted["turn-400"]) == (False, True, True)
        assert [entry.provenance.derived for entry in compactions][-1] is True
