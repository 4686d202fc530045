"""Telephone calls: a number at Twilio that answers, listens and speaks, and calls people when it is asked to.

The sound comes over a WebSocket (Media Streams); models turn it into text and text into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel and its webhook for each number, and the tool."""
    from hub.messaging.schema import access_policy
    from integrations.channels.voice_call.channel import VoiceAccount, VoiceCallChannel
    from integrations.channels.voice_call.ledger import CallLimits
    from integrations.channels.voice_call.tool import CallTool
    from integrations.channels.voice_call.webhook import routes

    channels = {}
    for entry in config:
        limits = CallLimits(
            entry["minutes_per_call"],
            entry["minutes_per_day"],
            entry.get("price_per_minute"),
            entry.get("cost_per_day"),
        )
        account = VoiceAccount(
            entry["account"],
            entry["account_sid"],
            entry["auth_token"],
            entry["number"],
            entry["public_url"],
            str(entry["api_root"]),
            limits,
            entry["silence_ms"],
            entry.get("greeting"),
            entry["outgoing"],
            entry["dm_policy"] == "pairing",
            entry.get("language", host.language),
        )
        channel = VoiceCallChannel(account, _voice(host, entry), host.clock, host.bus.fire)
        channels[account.account] = channel
        await host.channels.add(channel, access_policy(entry), outbound=_outbound(entry))
        for route in routes(channel):
            host.routes.add(route)
    if any(entry["outgoing"] for entry in config):
        host.tools.add(CallTool(channels).tool())


def _voice(host: IntegrationHost, entry: Mapping[str, Any]) -> Any:
    from hub.models.speaker import speak
    from hub.models.transcriber import transcriber
    from hub.models.transcription import Transcribe
    from integrations.channels.voice_call.channel import Voice

    models = host.models.registry

    def heard_by() -> Transcribe | None:
        usual = host.config.or_default("messages")["media"].get("transcription_model")
        ref = entry.get("transcription_model") or usual or models.speech_ref
        return None if ref is None else transcriber(models, ref)

    async def spoken_by(text: str, language: str) -> bytes:
        return await speak(models, entry.get("speech_model"), text, entry.get("voice", ""), "wav", language)

    return Voice(heard_by, spoken_by)


def _outbound(entry: Mapping[str, Any]) -> Any:
    """Return the policy of the account; unless it says otherwise, an answer is spoken as it is written."""
    from msgspec.structs import replace

    from hub.messaging.outbox.chunking import BlockBreak
    from hub.messaging.outbox.outbound_policy import BlockStreaming, outbound_policy

    policy = outbound_policy(entry)
    spoken = BlockStreaming(enabled=True, min_chars=16, max_chars=400, break_at=BlockBreak.SENTENCE, idle_ms=500)
    return policy if policy.blocks is not None else replace(policy, blocks=spoken)
