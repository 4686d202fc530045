"""Rights to answer an approval: pure rules over the authority and the context chain of the answerer."""

from __future__ import annotations

from hub.core.context import SYSTEM, Authority, Context
from hub.core.errors import Forbidden, InvalidRequest
from hub.tools.approval import Approval

SCOPE = "operator.approvals"
QUESTION_SCOPE = "operator.questions"


def refuse_to_answer(context: Context) -> None:
    """Refuse callers who can answer no approval at all.

    Raises:
        Forbidden: It lacks the right, has words from outside in it, or was caused by something in the hub.
    """
    authority = context.authority
    if authority.tainted:
        raise Forbidden("text that others wrote is in this conversation; it cannot answer an approval")
    if not authority.has(SCOPE) or (authority.principal.startswith("peer:") and not authority.owner):
        raise Forbidden("only an owner of this home can answer an approval", details={"missingScope": SCOPE})
    _refuse_programs(context)


def refuse_own(approval: Approval, context: Context) -> None:
    """Refuse an asker of the request: in its context chain, or by a credential of less than an owner.

    Raises:
        Forbidden: It is their own question.
    """
    if context.id in approval.chain or context.id == approval.context_id:
        raise Forbidden("a program that requests an approval cannot answer it")
    asker = approval.requested_by
    if asker.principal == context.authority.principal and not (asker.owner and context.authority.owner):
        raise Forbidden("this credential asked for it, so another one must answer: the owner's")


def refuse_for_good(approval: Approval) -> None:
    """Refuse a permanent yes where only a single one is allowed.

    Raises:
        InvalidRequest: The approval is for one time only.
    """
    if not approval.may_persist:
        raise InvalidRequest(
            f"{approval.title:.80} is approved for one time only, not for good",
            details={"reason": "ALLOW_ALWAYS_UNAVAILABLE"},
        )


def may_answer_question(question: Approval, authority: Authority) -> bool:
    """Return whether this authority may answer a question.

    It is for the person who was asked, for an owner, and for a device or token with the scope.
    """
    if authority.has(QUESTION_SCOPE) and (authority.owner or not authority.principal.startswith("peer:")):
        return True
    asked = question.requested_by
    if asked.person is not None:
        return authority.person == asked.person
    return not asked.owner and authority.principal == asked.principal


def refuse_to_answer_question(question: Approval, context: Context) -> None:
    """Refuse an authority that may not answer a question.

    Raises:
        Forbidden: It is a question to somebody else, or what answers runs in the hub.
    """
    _refuse_programs(context)
    if not may_answer_question(question, context.authority):
        raise Forbidden("this question is for somebody else: the person of that conversation, or an owner")


def _refuse_programs(context: Context) -> None:
    if context.parent_id is not None or context.chain or context.authority.principal == SYSTEM.principal:
        raise Forbidden("an approval or a question is answered by a person, never by a program in the hub")
