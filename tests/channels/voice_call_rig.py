"""Telephone calls for the test-kit: our Twilio, which announces calls to the webhook and carries their sound."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address, Channel
from integrations.channels.twilio_signature import sign
from integrations.channels.voice_call.channel import Voice, VoiceAccount, VoiceCallChannel
from integrations.channels.voice_call.ledger import CallLimits
from integrations.channels.voice_call.webhook import BODY_BYTES, routes
from tests.channels.kit import ADA, EVE, Can, DoubleRig, Forged, Trouble
from tests.channels.webhook_host import WebhookHost
from tests.servers.telephone_server import Telephone, TwilioServer, speak, transcribe

PEOPLE = {ADA: "+4915112345678", EVE: "+4915187654321"}
SILENCE_MS = 300


class VoiceCallRig(DoubleRig[TwilioServer]):
    """Ada and Eve call; what is sent while no call is up calls Ada.

    Its models hear and speak in this process. It has no troubles of sending: what is said in a call is no request to
    Twilio. Those of its API are tested in tests/integrations/channels/voice_call.
    """

    name = "voice_call"
    is_in_process = True
    can = frozenset({Can.TWO_ACCOUNTS})
    troubles: frozenset[Trouble] = frozenset()
    forges = frozenset({Forged.UNSIGNED, Forged.WRONG, Forged.FOREIGN, Forged.CHANGED, Forged.TOO_LONG})

    def __init__(self) -> None:
        second = TwilioServer("AC" + "c3" * 16, "+4930222222")
        second.token = "d4" * 16
        super().__init__(TwilioServer(), second)
        self.channels: dict[str, VoiceCallChannel] = {}
        self.fired: list[tuple[Any, ...]] = []
        self.host = WebhookHost(lambda: [route for each in self.channels.values() for route in routes(each)])

    async def start(self) -> None:
        await super().start()
        self.base = await self.host.start()
        for account, server in self.servers.items():
            server.hub = f"{self.base}/voice_call/{account}"

    async def stop(self) -> None:
        await super().stop()
        await self.host.stop()

    def channel(self, folder: Path, clock: Clock, account: str = "default") -> Channel:
        return self.made(clock, account)

    def made(
        self,
        clock: Clock,
        account: str = "default",
        *,
        voice: Voice | None = None,
        limits: CallLimits | None = None,
        greeting: str | None = "",
        outgoing: bool = True,
        pairing: bool = True,
    ) -> VoiceCallChannel:
        """Return a channel that is set up in a certain way."""
        server = self.servers[account]
        config = VoiceAccount(
            account,
            server.sid,
            Secret(server.token),
            server.number,
            self.base,
            server.root,
            limits or CallLimits(15, 60),
            SILENCE_MS,
            greeting,
            outgoing,
            pairing,
        )
        channel = VoiceCallChannel(
            config, voice or Voice(lambda: transcribe, speak), clock, lambda *event: self.fired.append(event)
        )
        self.channels[account] = channel
        return channel

    def section(self, account: str = "default") -> dict[str, Any]:
        server = self.servers[account]
        named = {"account": account, "account_sid": server.sid, "auth_token": server.token, "number": server.number}
        model = {"speech_model": "local/speech", "voice": "alloy", "transcription_model": "local/hears"}
        return {**named, **model, "public_url": self.base, "api_root": server.root}

    def telephone(self, who: str = ADA) -> Telephone:
        """Return somebody's telephone."""
        return self.server.telephone(PEOPLE[who])

    def identity(self, who: str) -> str:
        return f"voice_call:user:{PEOPLE[who]}"

    def address(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> Address:
        return Address("voice_call", PEOPLE[who])

    async def says(
        self,
        text: str,
        who: str = ADA,
        *,
        group: bool = False,
        thread: str | None = None,
        mention: bool = True,
        media: bytes | None = None,
    ) -> str:
        telephone = self.telephone(who)
        if not telephone.is_up:
            await telephone.dial()
        if telephone.is_up:
            await telephone.say(text)
        return ""

    async def says_again(self) -> None:
        """Announce the call once more."""
        telephone = self.telephone()
        await telephone.dial(CallSid=telephone.sid)
        assert telephone.refused == [401]

    async def edits(self, id: str, text: str) -> None:
        raise AssertionError("what was said cannot be changed")

    def shows(self, who: str = ADA, *, group: bool = False, thread: str | None = None) -> list[str]:
        heard = self.telephone(who).heard
        return heard[::2] if who == EVE else heard  # what Twilio itself says, it says twice

    def reactions(self, id: str) -> list[str]:
        return []

    def uploads(self) -> list[bytes]:
        return []

    def attempts(self) -> int:
        return len(self.server.asked)

    def trouble(self, *troubles: Trouble) -> None:
        raise AssertionError("it has none")

    async def delivers_forged(self, forged: Forged) -> int:
        fields = [("CallSid", "CA1"), ("From", PEOPLE[ADA])]
        path, body = "/voice_call/default", b"CallSid=CA1&From=%2B4915112345678"
        signed = [*fields, ("To", "+49")] if forged is Forged.CHANGED else fields
        token = self.servers["second"].token if forged is Forged.FOREIGN else self.server.token
        signature = sign(token, self.base + path, signed)
        if forged is Forged.WRONG:
            signature = signature[::-1]
        if forged is Forged.TOO_LONG:
            body += b"&Body=" + b"x" * BODY_BYTES
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self.host.post(
            path, body, headers if forged is Forged.UNSIGNED else {**headers, "X-Twilio-Signature": signature}
        )

    def revokes(self, account: str = "default") -> None:
        server = self.servers[account]
        server.token = "another"
        # Nobody asks Twilio anything by itself; a person does.
        server.running.append(_quietly(self.channels[account]))


def _quietly(channel: VoiceCallChannel) -> asyncio.Task[None]:
    async def probe() -> None:
        await channel.probe()

    return asyncio.create_task(probe())
