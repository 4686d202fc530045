"""Requests are fitted to the model before they are sent."""

from __future__ import annotations

from hub.models.contract import Image, Message, ModelInfo, ModelRequest, Role, TextBlock, ToolSpec
from hub.models.managed import fit_request

PICTURE = Message(Role.USER, (TextBlock("see"), Image("image/png", "QUJD")))
REQUEST = ModelRequest("m", "", (PICTURE,), tools=(ToolSpec("look", "Looks.", {}),))


def test_a_model_without_eyes_gets_a_note_where_the_image_was() -> None:
    fitted = fit_request(REQUEST, ModelInfo("m", "mine", images=False))

    assert fitted.messages[0].text == "see[An image was here; mine/m does not see images.]"
    assert not any(isinstance(block, Image) for block in fitted.messages[0].content)


def test_a_model_without_tools_gets_none() -> None:
    assert fit_request(REQUEST, ModelInfo("m", "mine", tools=False, images=True)).tools == ()


def test_a_model_that_can_all_gets_the_request_as_it_is() -> None:
    assert fit_request(REQUEST, ModelInfo("m", "mine", images=True)) is REQUEST
