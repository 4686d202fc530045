"""A robot whose answers are AI cards, which alone can be changed, and so grow while they are written.

Source: https://open.dingtalk.com/document/orgapp/create-and-deliver-cards
"""

from __future__ import annotations

import logging
from typing import Any

from hub.core.clock import Clock
from hub.messaging.contract import Address, ChatType, Delivery, DeliveryState, OutboundMessage
from integrations.channels.dingtalk.channel import DingTalkAccount, DingTalkChannel
from integrations.channels.dingtalk.outgoing import markdown_of
from integrations.channels.dingtalk.stream import PING_S
from integrations.channels.http_api import PlatformError, delivery_of

_log = logging.getLogger(__name__)

FINISHED = "3"


class DingTalkCardChannel(DingTalkChannel):
    """One app with cards.

    Args:
        template: The id of the cards' template, of the kind AI card.
    """

    def __init__(self, config: DingTalkAccount, clock: Clock, template: str, *, ping_s: float = PING_S) -> None:
        super().__init__(config, clock, ping_s=ping_s)
        self._template = template

    async def _send_text(self, message: OutboundMessage) -> str:
        """Send a card; a text where DingTalk refuses cards."""
        try:
            body = {"cardTemplateId": self._template, "outTrackId": message.id, **self._place(message.address)}
            answer = await self._api.call(
                "POST", "v1.0/card/instances/createAndDeliver", json=body | _data(message.text)
            )
            results = (answer.get("result") or {}).get("deliverResults") or ()
            refused = [each.get("errorMsg") for each in results if each.get("success") is False]
            if refused:
                raise self._api.error(DeliveryState.PERMANENT, f"the card was not delivered: {refused[0]}")
        except PlatformError as error:
            if error.state is not DeliveryState.PERMANENT:
                raise
            _log.warning("dingtalk: a card is refused, and goes as a text: %s", error)
            return await super()._send_text(message)
        return message.id

    def _place(self, address: Address) -> dict[str, Any]:
        robot = {"robotCode": self._api.robot_code}
        if address.chat_type is ChatType.DIRECT:
            deliver = {"imRobotOpenDeliverModel": {"spaceType": "IM_ROBOT", **robot}}
            space = {"imRobotOpenSpaceModel": {"supportForward": True}}
            return {"openSpaceId": f"dtv1.card//IM_ROBOT.{address.peer}", **space, **deliver}
        space = {"imGroupOpenSpaceModel": {"supportForward": True}}
        return {"openSpaceId": f"dtv1.card//IM_GROUP.{address.peer}", **space, "imGroupOpenDeliverModel": robot}

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        """Give a card another text."""
        options = {"cardUpdateOptions": {"updateCardDataByKey": True}}
        body = {"outTrackId": platform_id, **_data(text), **options}
        return await delivery_of(self._api.call("PUT", "v1.0/card/instances", json=body))


def _data(text: str) -> dict[str, Any]:
    return {"cardData": {"cardParamMap": {"content": markdown_of(text), "flowStatus": FINISHED}}}
