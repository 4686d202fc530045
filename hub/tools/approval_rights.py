"""Rights to answer an approval: pure rules over the authority and the context chain of the answerer."""

from __future__ import annotations

from hub.core.context import SYSTEM, Context
from hub.core.errors import Forbidden
from hub.tools.approval import Approval

SCOPE = "operator.approvals"


def refuse_to_answer(context: Context) -> None:
    """Refuse whoever can answer no approval at all.

    Raises:
        Forbidden: It lacks the right, has words from outside in it, or was caused by something in the hub.
    """
    authority = context.authority
    if authority.tainted:
        raise Forbidden("words from outside are in this conversation; it cannot answer an approval")
    if not authority.has(SCOPE) or (authority.principal.startswith("peer:") and not authority.owner):
        raise Forbidden("only an owner of this home can answer an approval", details={"missingScope": SCOPE})
    if context.parent_id is not None or context.chain or authority.principal == SYSTEM.principal:
        raise Forbidden("an approval is answered by a person, never by what runs in the hub")


def refuse_own(approval: Approval, context: Context) -> None:
    """Refuse whoever asked for it: the chain of reasons it came from, and a credential of less than an owner.

    Raises:
        Forbidden: It is their own question.
    """
    if context.id in approval.chain or context.id == approval.context_id:
        raise Forbidden("what asks for an approval cannot answer it")
    asker = approval.requested_by
    if asker.principal == context.authority.principal and not (asker.owner and context.authority.owner):
        raise Forbidden("this credential asked for it, so another one must answer: the owner's")
