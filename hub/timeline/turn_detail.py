"""How a turn at a satellite went, beside the run that answered it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hub.core.phrases import phrase, stored_phrase
from hub.timeline.detail import Detail, Lane, Step


def add_turn(detail: Detail, turn: Mapping[str, Any]) -> None:
    """Add what came before and after the run: listening, the text of what was said, and speaking.

    Args:
        turn: The data of its `voice_turn`.
    """
    began, stages = int(turn["began_ms"]), turn["stages"]
    name = stored_phrase(turn, "name")
    heard, text, speech, done = (stages.get(each) for each in ("heard", "text", "speech", "done"))
    detail.lanes = [replace(each, step=None if each.step is None else each.step + 1) for each in detail.lanes]
    data = {"wakeWord": turn.get("wake_word"), **{f"{stage}Ms": stages[stage] for stage in stages}}
    title = phrase("Heard by {satellite}", satellite=name)
    detail.steps = [Step(began, "message", title, icon="voice", data=data), *detail.steps]
    if heard is not None:
        detail.lanes.insert(0, Lane(phrase("Listening"), "wait", began, heard))
    if heard is not None and text is not None:
        detail.lanes.insert(1, Lane(phrase("Speech to text"), "action", began + heard, text - heard))
    if speech is None or done is None:
        return
    outcome, error = turn["outcome"], stored_phrase(turn, "error")
    title = phrase("Spoken by {satellite}", satellite=name)
    if outcome == "interrupted":
        title = phrase("Broken off while {satellite} spoke", satellite=name)
    tone = "good" if outcome == "answered" else "bad"
    spoken = Step(began + speech, "send", title, error or None, icon="voice", duration_ms=done - speech, tone=tone)
    detail.steps = [*detail.steps, spoken]
    detail.lanes.append(Lane(phrase("Speaking"), "send", began + speech, done - speech, step=len(detail.steps) - 1))
