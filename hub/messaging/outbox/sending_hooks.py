"""The hook `message_sending`: what is about to be sent may get another text, or is not sent."""

from __future__ import annotations

from msgspec.structs import replace

from hub.core.context import SYSTEM, Context
from hub.hooks.contract import MessageSending
from hub.hooks.registry import Hooks
from hub.messaging.channels import Attached
from hub.messaging.outbox.chunking import length
from hub.messaging.outbox.outgoing import NewMessage, NewPoll, NewText, OutboxRow


async def ask_before_sending(hooks: Hooks | None, row: OutboxRow, attached: Attached) -> str | None:
    """Ask the handlers about a row once, and give it the text that they chose.

    Reactions and messages that are taken back are not asked about.

    Returns:
        Why it is not sent; None when it is.
    """
    outgoing = row.outgoing
    if hooks is None or not hooks.wants(MessageSending) or not isinstance(outgoing, NewMessage | NewText | NewPoll):
        return None
    if isinstance(outgoing, NewMessage) and outgoing.settled:
        return None
    text = outgoing.question if isinstance(outgoing, NewPoll) else outgoing.text
    asked = MessageSending(
        context=Context(authority=SYSTEM, parent_id=row.context_id),
        outbox_id=row.id,
        message_kind=row.kind,
        channel=row.address.channel,
        account=row.address.account,
        peer=row.address.peer,
        session_key=row.session_key,
        run_id=row.run_id,
        text=text,
    )
    chosen = await hooks.modify(asked)
    if chosen.block:
        return f"a hook stopped it: {chosen.block}"
    if chosen.text == text:
        return None
    if not chosen.text.strip() and not (isinstance(outgoing, NewMessage) and outgoing.media):
        return "a hook left nothing of its text"
    limit = _limit(attached, outgoing)
    if (found := length(chosen.text, attached.channel.limits.unit)) > limit:
        return f"a hook made its text too long: {found}; {attached.channel.name} takes {limit}"
    match outgoing:
        case NewMessage():
            row.outgoing = replace(outgoing, text=chosen.text, settled=True)
        case NewText():
            row.outgoing = replace(outgoing, text=chosen.text)
        case NewPoll():
            row.outgoing = replace(outgoing, question=chosen.text)
    row.changed = True
    return None


def _limit(attached: Attached, outgoing: NewMessage | NewText | NewPoll) -> int:
    limits = attached.channel.limits
    if isinstance(outgoing, NewMessage) and outgoing.media and outgoing.text:
        return limits.caption
    return limits.text
