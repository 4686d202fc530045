"""The tool `mail`: agents of the owner look into a mailbox and send from it.

What mails say is words from outside. Sending asks, unless the owner approved a mail to that address before and no such
words are in the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from hub.core.context import Authority
from hub.core.errors import HubError, NotFound
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    In,
    Invalid,
    Length,
    Match,
    Optional,
    Range,
    Required,
    Schema,
    SchemaError,
    boolean,
    integer,
    string,
)
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import DeliveryState
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.channels.email.channel import Email
from integrations.channels.email.mail_text import read_lines
from integrations.channels.email.mailbox import Mailbox

NAME = "mail"
GROUP = "message"
FOUND_LIMIT = 20
RECIPIENTS_KEPT = 1_000
TEXT_LIMIT = 100_000
CALL_S = 90.0
_ADDRESS = re.compile(r"^[^\s@<>\"(),:;\[\]\\]{1,128}@[A-Za-z0-9.-]{1,253}$")


def _day(value: str) -> str:
    try:
        date.fromisoformat(value)
    except ValueError:
        raise Invalid("expected a day such as 2026-05-12") from None
    return value


_NEEDED = {"read": ("id",), "send": ("to", "subject", "text")}


def _complete(arguments: dict[str, Any]) -> dict[str, Any]:
    """Check that nothing is missing, so that nobody is asked about a mail that cannot be sent."""
    action = arguments["action"]
    for name in _NEEDED.get(action, ()):
        if name not in arguments:
            raise SchemaError(f"needed for the action {action}", path=[name])
    return arguments


_SHORT = All(string, Length(min=1, max=200))
_SEARCHED = {"text": "TEXT", "from": "FROM", "subject": "SUBJECT"}


class MailTool:
    """Searches, reads and sends.

    Args:
        accounts: The mailboxes, by name.
        storage: Keeps the addresses that the owner approved.
    """

    def __init__(self, accounts: Mapping[str, Email], storage: JsonStorage) -> None:
        self._accounts = accounts
        self._storage = storage
        self._recipients: list[str] = []

    async def load(self) -> None:
        """Read to whom mail was sent."""
        self._recipients = list(await self._storage.load([]))

    def tool(self) -> Tool:
        """Return the tool."""
        address = All(string, Match(_ADDRESS, msg="expected one address such as ada@example.org"))
        schema: dict[Any, Any] = {
            Required("action"): In(("search", "read", "send")),
            Optional("account", default=next(iter(self._accounts))): In(tuple(self._accounts)),
            Optional("text", description="search: words in the mail. send: what it says."): All(
                string, Length(min=1, max=TEXT_LIMIT)
            ),
            Optional("from", description="search: words in the sender."): _SHORT,
            Optional("subject", description="search: words in the subject. send: the subject."): _SHORT,
            Optional("since", description="search: a day."): All(string, Length(max=10), _day),
            Optional("unread", description="search: only what nobody has read."): boolean,
            Optional("id", description="read: as search shows it."): All(integer, Range(min=1)),
            Optional("to", description="send: one address."): address,
        }
        return Tool(
            NAME,
            f"The mailbox: search it (newest {FOUND_LIMIT}), read one by its id, send one. It marks nothing as read.",
            from_schema(Schema(All(schema, _complete))),
            self._run,
            GROUP,
            Annotations(destructive=False, egress=True),
            approval=self.why_ask,
            timeout_s=CALL_S,
        )

    def why_ask(self, arguments: Mapping[str, Any], authority: Authority) -> str | None:
        """Return why the owner has to approve a call; to search and read sends only to the owner's own server."""
        if arguments.get("action") != "send":
            return None
        to, what = str(arguments.get("to")), f"{arguments.get('subject')}: {arguments.get('text')}"
        if authority.tainted:
            return phrase(
                "it sends a mail to {to}, and text that others wrote is in this conversation: {mail}", to=to, mail=what
            )
        if to.lower() not in self._recipients:
            return phrase(
                "it sends a mail to {to}, to whom you have not let any be sent before: {mail}", to=to, mail=what
            )
        return None

    async def _run(self, call: ToolCall) -> ToolResult:
        arguments = call.arguments
        account = self._accounts[arguments["account"]]
        match arguments["action"]:
            case "search":
                return await self._search(account, arguments)
            case "read":
                return await self._read(account, arguments["id"])
        return await self._send(account, arguments)

    async def _search(self, account: Email, arguments: Mapping[str, Any]) -> ToolResult:
        parts = [f"{key} {_quoted(arguments[name])}" for name, key in _SEARCHED.items() if name in arguments]
        if "since" in arguments:
            parts.append(f"SINCE {date.fromisoformat(arguments['since']):%d-%b-%Y}")
        if arguments.get("unread"):
            parts.append("UNSEEN")

        def find(mailbox: Mailbox, _: int) -> list[tuple[int, bytes]]:
            newest = mailbox.search_uids(" ".join(parts) or "ALL")[-FOUND_LIMIT:]
            return [(uid, mailbox.read(uid, head=True)) for uid in reversed(newest)]

        found = await account.look(find)
        lines = await account.reader.read(
            "the list of mails", read_lines, [raw for _, raw in found if raw], returns=list[str]
        )
        lines = [f"{uid}: {line}" for (uid, _), line in zip((each for each in found if each[1]), lines, strict=True)]
        return ToolResult("\n".join(lines) or "There are no such mails.", trusted=False)

    async def _read(self, account: Email, uid: int) -> ToolResult:
        raw = await account.look(lambda mailbox, _: mailbox.read(uid))
        if not raw:
            raise NotFound(f"there is no mail {uid}")
        mail = await account.open(raw, str(uid))
        heads = [f"{name}: {said}" for name, said in mail.heads.items()]
        names = [each.name or each.mime_type for each in mail.media]
        attached = [f"Attached: {', '.join(map(str, names))}"] if names else []
        return ToolResult("\n".join([*heads, *attached, "", mail.text]), trusted=False)

    async def _send(self, account: Email, arguments: Mapping[str, Any]) -> ToolResult:
        to = arguments["to"]
        delivery = await account.deliver(account.new_mail(to, arguments["subject"], arguments["text"]))
        if delivery.state is not DeliveryState.DELIVERED:
            what = "may have been sent or not" if delivery.state is DeliveryState.UNKNOWN else "was not sent"
            raise HubError(f"the mail {what}: {delivery.error}", outside=True)
        kept = [each for each in self._recipients if each != to.lower()]
        self._recipients = [*kept, to.lower()][-RECIPIENTS_KEPT:]
        await self._storage.save(self._recipients)
        return ToolResult(f"sent to {to}")


def _quoted(words: str) -> str:
    """Return a quoted string of RFC 9051; one line, so that it is one argument."""
    plain = " ".join(words.split())
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
