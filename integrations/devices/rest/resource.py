"""Asks a server of the configuration for the text that entities are read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hub.automation.services.configured_request import send_request
from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.core.services import ServiceCall
from hub.models.retry_after import retry_after_s
from integrations.devices.read_entity import ReadEntity, Reading, forget_gone
from integrations.devices.rest.schema import NAMES, SECTIONS, resources
from integrations.devices.rest.xml_text import json_of_xml

if TYPE_CHECKING:
    from hub.host import IntegrationHost

_XML = ("text/xml", "application/xml", "application/xhtml+xml", "application/rss+xml")


def make(host: IntegrationHost) -> None:
    """Make the entities of each resource, and begin to ask for it."""
    taken: set[str] = set()
    for resource, wanted in resources(host.config):
        entities = [ReadEntity(host, domain, each, NAMES[domain], taken) for domain, each in wanted]
        asker = Resource(host, resource)
        reading = Reading(host, asker.what, resource["scan_interval"], asker.ask, entities)
        host.spawn(reading.live(), name=f"ask {asker.what}")
    forget_gone(host, (host.domain, *SECTIONS), taken)

    async def reload(call: ServiceCall) -> None:
        await host.services.call("hub", "reload", {}, context=call.context)

    host.services.register("reload", reload, description="Read the files of REST sensors again")


class Resource:
    """A resource, as the configuration describes it.

    Attributes:
        what: It, for the log.
    """

    def __init__(self, host: IntegrationHost, settings: Mapping[str, Any]) -> None:
        self._host, self._settings = host, settings
        url = settings["url"]
        self.what = "a secret address" if isinstance(url, Secret) else str(url).partition("?")[0]

    async def ask(self) -> str:
        """Return its text; XML as JSON.

        Raises:
            HubError: It did not answer, or with an error.
        """
        host = self._host
        answer = await send_request(host.egress, host.automation.templates, self._settings, {})
        if answer.status >= 400:
            wait_s = retry_after_s(answer.headers, "", host.clock.time())
            raise Unavailable(
                phrase("it answered with the status {status}", status=answer.status), retry_after_s=wait_s
            )
        text = answer.text_in(self._settings["encoding"])
        if text and answer.headers.get("content-type", "").startswith(_XML):
            return await host.egress.reader.read("the XML", json_of_xml, text, returns=str)
        return text
