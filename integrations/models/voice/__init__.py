"""Hears and speaks on this machine: Whisper, Piper and espeak-ng, each in a process of its own.

The engines have their own Python, in the home, and are never imported here; so a crash of theirs is an error of one
request, and their licences stay theirs. What they are asked is in `worker.py`, which they run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from hub.models.contract import ModelProvider
    from hub.models.provider_config import ProviderConfig


async def setup(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Offer what is installed as the models of a provider, meant wherever none is named, and configure satellites.

    What finds wake words starts with the first satellite that needs it.
    """
    from integrations.models.voice.catalogue import API
    from integrations.models.voice.installed import VoiceFolder
    from integrations.models.voice.wake import WakeProcess

    def make(name: str, _: ProviderConfig) -> ModelProvider:
        from integrations.models.voice.provider import VoiceProvider, VoiceSettings  # not before somebody speaks

        settings = VoiceSettings.from_config(config, host.language)
        return VoiceProvider(name, VoiceFolder(host.home.path), settings, host.clock)

    host.models.add(API, make, provides=True, speaks=True, lists_speech=True)
    host.satellites.configure(config)
    spotter = WakeProcess(VoiceFolder(host.home.path), host.clock)
    host.on_unload(spotter.close)
    host.satellites.add_wake_engine(spotter)
