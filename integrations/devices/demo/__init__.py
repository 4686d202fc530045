"""A made-up home to try: its devices, a model and a chat app, none of which is real or needs a network.

`homarus demo` starts a hub with it. Its past is lived through by the hub itself, on a clock that begins two weeks ago
(`past.py`); what people say, ask and are answered in it is in `story/`, in each language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.core.phrases import phrase
from hub.core.repairs import Severity
from hub.messaging.access.access import AccessPolicy, DmPolicy
from integrations.devices.demo.channel import DemoChat
from integrations.devices.demo.devices import DemoDevices
from integrations.devices.demo.past_clock import PastClock
from integrations.devices.demo.story import read_story

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from hub.models.provider_config import ProviderConfig
    from integrations.devices.demo.model import DemoProvider


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Move in: the devices, the chat app, the models, and one thing to repair."""
    story = read_story(host.language)
    pause = host.clock.spend if isinstance(host.clock, PastClock) else host.clock.sleep

    def make(name: str, _config: ProviderConfig) -> DemoProvider:
        from integrations.devices.demo.model import DemoProvider

        return DemoProvider(name, story, host.states.machine, pause)

    host.models.add("demo", make)
    devices = DemoDevices(host, story)
    host.spawn(devices.live(), name="devices")
    family = frozenset(f"telegram:user:{person.telegram}" for person in story.people)
    await host.channels.add(DemoChat(story.bot), AccessPolicy(DmPolicy.PAIRING, family))
    host.repairs.raise_(
        "demo",
        "hall_motion_battery",
        phrase("A battery is nearly empty"),
        phrase("The motion sensor in the hall has 6 % left. Replace its battery (CR2450)."),
        severity=Severity.WARNING,
    )
