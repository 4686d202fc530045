"""E-mail: a mailbox that the assistant reads and answers from.

Not here: who may write to it (`hub.messaging`); a sender counts only when the mailbox's own server vouches for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hub.messaging.outbox.outbound_policy import outbound_policy
from hub.messaging.schema import access_policy
from hub.messaging.texts import say

if TYPE_CHECKING:
    from hub.host import IntegrationHost


async def setup(host: IntegrationHost, config: Sequence[Mapping[str, Any]]) -> None:
    """Log all mailboxes in."""
    from integrations.channels.email.channel import Email
    from integrations.channels.email.login import MailLogin, MailOAuth
    from integrations.channels.email.mailbox import MailboxAccount
    from integrations.channels.email.sign_in import SignInEmail
    from integrations.channels.email.tool import MailTool

    def notice(why: str) -> str:
        return say("mail.unread", host.language, why=why)

    for_tool: dict[str, Email] = {}
    for entry in config:
        account = MailboxAccount.from_config(entry)
        kept = host.storage(f"tokens-{account.account}")
        login = MailLogin(account.credential, kept, host.clock)
        threads, reader = host.storage(f"subjects-{account.account}"), host.egress.reader
        given, common = account.credential, (account, threads, login, host.clock, reader, notice)
        if isinstance(given, MailOAuth) and given.refresh_token is None:
            channel: Email = SignInEmail(given, *common)
        else:
            channel = Email(*common)
        await host.channels.add(channel, access_policy(entry), outbound=outbound_policy(entry))
        if entry["tool"]:
            for_tool[account.account] = channel
    if for_tool:
        mail = MailTool(for_tool, host.storage("recipients"))
        await mail.load()
        host.tools.add(mail.tool())
