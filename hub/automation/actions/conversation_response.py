"""`set_conversation_response`: sets the reply to the sentence that triggered the automation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import dynamic_text
from hub.core.phrases import phrase
from hub.core.schema import AnyOf, Required


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    said = step["set_conversation_response"]
    answer = None if said is None else str(await run.render_later(said))
    run.respond(answer)
    run.tell(conversation_response=answer)


def _explain(step: Mapping[str, Any]) -> str:
    said = step["set_conversation_response"]
    return phrase("answer nothing") if said is None else phrase("answer {text}", text=repr(said))


KIND = ActionKind(
    name="set_conversation_response",
    fields={
        Required("set_conversation_response", description="The response; null clears an earlier one."): AnyOf(
            None, dynamic_text
        )
    },
    run=_run,
    explain=_explain,
    description="Say what is answered to the sentence that set this off.",
    effect=False,
)
