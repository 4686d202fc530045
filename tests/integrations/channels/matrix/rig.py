"""An account of the hub on a real homeserver, with a proxy between them that can fail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import Address, ChatType, Inbound, OutboundMessage
from integrations.channels.matrix.channel import MatrixChannel
from integrations.channels.matrix.listening import Waits
from integrations.channels.matrix.login import MatrixAccount
from tests.integrations.channels.receiving import Collected, HastyClock
from tests.servers.matrix_proxy import MatrixProxy
from tests.servers.synapse import MatrixUser, Synapse
from tests.until import until


@dataclass
class MatrixRig:
    """A bot, somebody who talks with it, and what the hub sees."""

    folder: Path
    proxy: MatrixProxy
    bot: MatrixUser
    ada: MatrixUser
    hub: Collected
    waits: Waits = field(default_factory=lambda: Waits(poll_s=0.5, grace_s=20.0, first_s=20.0))
    encryption: bool = False
    channel: MatrixChannel | None = None

    def make(self, *, password: str | None = None, token: str | None = None) -> MatrixChannel:
        """Return a channel of the bot's account over what earlier ones kept."""
        account = MatrixAccount(
            "default",
            self.proxy.url,
            self.bot.user_id,
            access_token=None if password else Secret(token or self.bot.token),
            password=Secret(password) if password else None,
            encryption=self.encryption,
        )
        storage = JsonStorage(self.folder / "login.json")
        return MatrixChannel(account, storage, self.folder / "keys", HastyClock(), self.waits)

    async def start(self, *, password: str | None = None, token: str | None = None) -> MatrixChannel:
        """Start the bot and wait until it has heard from the homeserver."""
        steps = self.hub.steps
        self.channel = self.make(password=password, token=token)
        await self.channel.start(self.hub)
        await until(lambda: self.hub.steps > steps)
        return self.channel

    async def stop(self) -> None:
        if self.channel is not None:
            await self.channel.stop()
            self.channel = None

    async def heard(self, event_id: str) -> Inbound:
        """Return what the hub received for an event, once it came."""

        def came() -> list[Inbound]:
            ids = ("message_id", "event_id")
            return [each for each in self.hub.inbound if event_id in [getattr(each, id, None) for id in ids]]

        await until(came)
        return came()[0]

    def message(self, room: str, text: str, id: str = "1", **more: object) -> OutboundMessage:
        """Return a message for a room."""
        address = Address("matrix", room, chat_type=ChatType.DIRECT)
        return OutboundMessage(id, more.pop("address", address), text, **more)  # type: ignore[arg-type]


@asynccontextmanager
async def matrix_rig(synapse: Synapse, folder: Path) -> AsyncIterator[MatrixRig]:
    """A rig with users of its own on a homeserver that tests share."""
    bot, ada = await synapse.user(), await synapse.user()
    async with MatrixProxy(synapse.url) as proxy:
        rig = MatrixRig(folder, proxy, bot, ada, Collected())
        try:
            yield rig
        finally:
            await rig.stop()
            await bot.close()
            await ada.close()
