"""SMS: numbers at Twilio, which delivers to a webhook of the hub.

Not here: calls.
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
    """Add a channel and its webhooks for each number, and one address for the files that are sent."""
    from integrations.channels.public_files import PublicFiles
    from integrations.channels.sms.channel import SmsAccount, SmsChannel

    files = PublicFiles("sms", host.storage("files"), host.clock)
    await files.load()
    host.routes.add(files.route())
    for entry in config:
        account = SmsAccount(
            entry["account"],
            entry["account_sid"],
            entry["auth_token"],
            entry["public_url"],
            entry["api_root"],
            entry.get("number"),
            entry.get("messaging_service_sid"),
            entry.get("signature_secret"),
            entry["mms"],
        )
        channel = SmsChannel(account, files, host.clock, partial(_reached, host, account.account))
        for route in channel.routes():
            host.routes.add(route)
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))


def _reached(host: IntegrationHost, account: str, person: str, error: str | None) -> None:
    """Keep a repair for each person whom a message did not reach, until one does."""
    id = f"undelivered:{account}:{person}"
    if error is None:
        host.repairs.clear("sms", id)
        return
    host.repairs.raise_(
        "sms",
        id,
        phrase("An SMS was not delivered"),
        phrase(
            "To {person}: {error}. Twilio took it first, so that the outbox has it as sent.", person=person, error=error
        ),
        severity=Severity.WARNING,
    )
