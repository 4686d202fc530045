"""What players play: radio stations, files of the home, and words that are spoken; for every player alike.

The players themselves are brought by other integrations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Resolve what is played, and speak."""
    from integrations.tools.media.sources import MediaSources
    from integrations.tools.media.speech import Speech

    settings = config or {}
    speech = Speech(host)
    speech.offer(settings.get("engines", ()))
    sources = MediaSources(host, settings.get("radio", ()), speech)
    own = host.entities.all.own
    services = {f"media_player.{name}": does for name, does in sources.services().items()}
    own.update(services)
    host.on_unload(lambda: [own.pop(name, None) for name in services])
