"""The entity of an image: its picture is fetched from the address that its template says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hub.automation.services.configured_request import named_host
from hub.core.context import Context
from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.entities.pictures import Picture, TakePicture
from hub.security.egress import ConfiguredTarget
from integrations.devices.fetched_picture import fetch_picture
from integrations.devices.template.entity import TemplateEntity
from integrations.devices.template.image_kind import UPDATED


class TemplateImage(TemplateEntity):
    """An image; its picture is fetched when somebody looks."""

    def picture(self) -> TakePicture:
        """Return what takes its picture."""
        return self._take_picture

    def taken(self, before: Mapping[str, Any], changed: Iterable[str]) -> None:
        """Note when an address was said."""
        if "url" in changed and self.values["url"] is not None:
            self._note()

    def settle(self, cause: Context | None, variables: Mapping[str, Any]) -> None:
        """Note that a trigger said an address, the same one too."""
        self._note()
        super().settle(cause, variables)

    def _note(self) -> None:
        self.values[UPDATED] = self.home.clock.now().isoformat()

    async def _take_picture(self) -> Picture:
        url = self.values.get("url")
        if not url:
            raise Unavailable(phrase("{entity} has no address of a picture now", entity=self.handle.entity_id))
        target = ConfiguredTarget(named_host(self.settings["url"]), verify_tls=self.settings["verify_ssl"])
        return await fetch_picture(self.home.host.egress, url, target)
