"""WhatsApp: numbers of the Cloud API, which delivers to a webhook of the hub.

Not here: linked devices of the WhatsApp app, whose protocol only WhatsApp's own servers speak; and groups, which the
Cloud API hardly has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from hub.core.phrases import phrase
from hub.core.repairs import Severity
from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Add a channel for each number, and the one webhook that Meta delivers to."""
    from integrations.channels.whatsapp.channel import WhatsAppAccount, WhatsAppChannel
    from integrations.channels.whatsapp.webhook import WhatsAppWebhook

    webhook = WhatsAppWebhook(host.clock)
    for entry in config:
        account = WhatsAppAccount(
            entry["account"], entry["phone_number_id"], entry["access_token"], str(entry["api_root"])
        )
        channel = WhatsAppChannel(account, host.clock, partial(_reached, host, account.account))
        webhook.add(channel, entry["app_secret"], entry["verify_token"])
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
    for route in webhook.routes():
        host.routes.add(route)


def _reached(host: IntegrationHost, account: str, person: str, error: str | None) -> None:
    """Keep a repair for each person whom a message did not reach, until one does."""
    id = f"undelivered:{account}:{person}"
    if error is None:
        host.repairs.clear("whatsapp", id)
        return
    host.repairs.raise_(
        "whatsapp",
        id,
        phrase("WhatsApp did not deliver a message"),
        phrase(
            "To {person}: {error}. It was taken first, so that the outbox has it as sent.", person=person, error=error
        ),
        severity=Severity.WARNING,
    )
