"""Asking the owner and waiting for the answer: no answer, a restart or a change means no.

An answer is an act of a person. Whatever has a cause inside the hub (a run, a tool, an automation) cannot give one, nor
can words from outside, nor a credential that asked itself.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import replace
from typing import Any

from hub.core.clock import RECHECK_S, Clock
from hub.core.context import Context, system_context
from hub.core.errors import Conflict, HubError, InvalidRequest, LimitExceeded, NotFound, Unavailable
from hub.core.events import EventBus
from hub.core.ids import new_id
from hub.core.phrases import map_phrase, phrase
from hub.core.tasks import TaskOwner
from hub.security.login_codes import ALPHABET
from hub.security.rate_limit import AttemptLimiter, TooManyAttempts
from hub.security.redaction import Redactor
from hub.storage.database import Database
from hub.tools.approval import QUESTION, Approval, ApprovalDecision, ApprovalState, Ask, KeepSecret, visible_line
from hub.tools.approval_checks import ID, details_and_binding
from hub.tools.approval_rights import refuse_for_good, refuse_own, refuse_to_answer, refuse_to_answer_question
from hub.tools.approval_store import KEPT, RESTARTED, ApprovalStore, settled_approval
from hub.tools.approval_waiting import WaitingApproval
from hub.tools.questions import match_choice

EVENT_APPROVAL_REQUESTED = "approval_requested"
EVENT_APPROVAL_RESOLVED = "approval_resolved"
EVENT_QUESTION_REQUESTED = "question_requested"
EVENT_QUESTION_RESOLVED = "question_resolved"
PENDING_LIMIT = 100
PENDING_PER_SESSION = 10
"""So that one conversation cannot take all the room."""
CODE_LENGTH = 6
TITLE_LIMIT = 200
TEXT_LIMIT = 4_000
WRONG_CODES = 10
CHANGED = phrase("the action is no longer the one that was asked about")
NOT_ANSWERED = phrase("no one answered in time")
ABANDONED = phrase("what asked for it was stopped")
NAMED_LIMIT = 160


class Approvals:
    """All pending approvals and questions.

    Fires `approval_requested` (id, code, kind, title, text, session_key, run_id) and `approval_resolved` (id, state,
    decided_by); for questions to a person, `question_requested` and `question_resolved`.

    Args:
        db: The hub database.
        clock: Time; a wall clock that is set back does not prolong anything.
        redactor: Removes secrets from what is shown and stored; the answer is bound to what will really run.
    """

    def __init__(self, db: Database, bus: EventBus, clock: Clock, redactor: Redactor) -> None:
        self._store = ApprovalStore(db)
        self._bus = bus
        self._clock = clock
        self._redactor = redactor
        self._tasks = TaskOwner("approvals")
        self._guesses = AttemptLimiter(clock, attempts=WRONG_CODES)
        self._waiting: dict[str, WaitingApproval] = {}
        self._decided: OrderedDict[str, Approval] = OrderedDict()
        self._is_open = False
        self.translate: Callable[[str, str], str] = lambda text, language: text
        """Puts a question's words into a language; the dashboard has the catalogues."""

    async def open(self) -> None:
        """Restore approvals that survive a restart; everything else that is pending is expired."""
        for approval in await self._store.reopen(self._now_ms()):
            self._enter(approval)
        self._is_open = True

    async def close(self) -> None:
        """Stop asking; waiters are cancelled, and approvals that survive a restart stay pending on disk."""
        self._is_open = False
        waiting = list(self._waiting.values())
        self._waiting.clear()
        for each in waiting:
            each.answer.cancel()
        await self._tasks.cancel_all()

    async def ask(self, ask: Ask) -> ApprovalDecision:
        """Ask the owner and wait for the answer.

        The same `id` asks once: a second call waits for the first one's answer or gets it from the disk. When it asks
        for something else than the first, or as somebody else, both mean no.

        Raises:
            InvalidRequest: The question is malformed, or too large to be shown.
            LimitExceeded: Too many questions are pending.
            Unavailable: The hub is starting or stopping.

        Cancelling it withdraws the question, unless another caller waits for it too or it survives.
        """
        if not self._is_open:
            raise Unavailable("no one can be asked while the hub starts or stops")
        details, binding = details_and_binding(ask, self._redactor)
        waiting = self._waiting.get(ask.id or "")
        if waiting is None and ask.id is not None:
            decision = await self._decision_of(ask.id, binding)
            waiting = self._waiting.get(ask.id)
            if decision is not None and waiting is None:
                return decision
        if waiting is None:
            return await self._ask_again(ask, details, binding)
        if waiting.approval.binding != binding:
            self._end_at_once(waiting, ApprovalState.CANCELLED, CHANGED)
            return ApprovalDecision(False, ApprovalState.CANCELLED, None, CHANGED)
        return await self._wait(waiting)

    @property
    def waiting(self) -> Sized:
        """All pending requests; empty most of the time."""
        return self._waiting

    def pending(self) -> list[Approval]:
        """Return the pending approvals, oldest first."""
        return [each for each in self._open() if each.kind != QUESTION]

    def questions(self) -> list[Approval]:
        """Return the pending questions, oldest first."""
        return [each for each in self._open() if each.kind == QUESTION]

    async def get(self, id: str) -> Approval | None:
        """Return an approval, pending or decided, or None."""
        waiting = self._waiting.get(id)
        if waiting is not None:
            return waiting.approval
        if id in self._decided:
            return self._decided[id]
        return await self._store.get(id) if ID.fullmatch(id) else None

    async def latest(self, limit: int = 50) -> list[Approval]:
        """Return the latest approvals in any state, newest first."""
        return [self._decided.get(each.id, each) for each in await self._store.latest(limit)]

    async def of_session(self, key: str) -> list[Approval]:
        """Return the questions of a conversation, in any state, oldest first."""
        stored = await self._store.of_session(key)
        known = {each.id: self._decided.get(each.id, each) for each in stored}
        known |= {each.id: each for each in self._open() if each.session_key == key}
        return list(known.values())

    async def resolve(self, id_or_code: str, approved: bool, context: Context, *, always: bool = False) -> Approval:
        """Resolve a pending request; the answer is on disk when this returns.

        Args:
            id_or_code: Its id, or the short code (case, spaces and hyphens do not matter).
            approved: Yes or no.
            context: The answerer: a person's own act, with `operator.approvals`.
            always: Whether exactly this is not to be asked about again.

        Raises:
            Forbidden: This authority cannot answer it.
            NotFound: Nothing waits under that name.
            InvalidRequest: It is a question, or cannot be approved for good.
            TooManyAttempts: Too many wrong names were tried.
            Conflict: It was answered or ended meanwhile.
        """
        refuse_to_answer(context)
        waiting = await self._named(id_or_code, context)
        if waiting.approval.kind == QUESTION:
            raise InvalidRequest(f"{waiting.approval.code} is a question: answer it in words")
        refuse_own(waiting.approval, context)
        if approved and always:
            refuse_for_good(waiting.approval)
        state = ApprovalState.APPROVED if approved else ApprovalState.DENIED
        return await self._answer(waiting, state, context, always=always)

    async def answer(
        self, id_or_code: str, text: str | None, context: Context, keep: KeepSecret | None = None
    ) -> Approval:
        """Answer a question; None declines it.

        Args:
            id_or_code: Its id, or the short code.
            text: A choice, its number, or other words.
            context: The answerer: the act of the person who was asked, or of an owner.
            keep: Keeps the requested secret, once this answerer may give it; `text` is shown instead.

        Raises:
            Forbidden: The question is for somebody else.
            NotFound: No question waits under that name.
            InvalidRequest: The answer is empty or too long.
            TooManyAttempts: Too many wrong names were tried.
            Conflict: It was answered or ended meanwhile.
        """
        waiting = await self._named(id_or_code, context)
        if waiting.approval.kind != QUESTION:
            raise NotFound(f"no pending question has the id {id_or_code[:NAMED_LIMIT]!r}")
        refuse_to_answer_question(waiting.approval, context)
        if text is None:
            return await self._answer(waiting, ApprovalState.DENIED, context)
        if keep is None:
            text = match_choice(waiting.approval, text)
        else:
            self._refuse_ended(waiting)
            await keep(waiting.approval)
        return await self._answer(waiting, ApprovalState.ANSWERED, context, text)

    async def cancel(self, id: str, reason: str = ABANDONED) -> bool:
        """Withdraw a request, even one that survives restarts; False if it is not pending."""
        waiting = self._waiting.get(id)
        if waiting is None:
            return False
        self._end_at_once(waiting, ApprovalState.CANCELLED, reason)
        return True

    # --- asking ---

    async def _decision_of(self, id: str, binding: str) -> ApprovalDecision | None:
        """Return the decision on a repeated id; None if there was none."""
        known = self._decided.get(id)
        if known is None:
            known = await self._store.get(id)
            if known is None:
                return None
            if not known.survives or known.state is ApprovalState.PENDING:
                return ApprovalDecision(False, ApprovalState.EXPIRED, None, RESTARTED)
        if known.binding != binding:
            return ApprovalDecision(False, ApprovalState.CANCELLED, None, CHANGED)
        return known.decision

    async def _ask_again(self, ask: Ask, details: Mapping[str, Any], binding: str) -> ApprovalDecision:
        self._expire_what_is_over()
        if len(self._waiting) >= PENDING_LIMIT:
            raise LimitExceeded(f"{PENDING_LIMIT} questions already wait for the owner; answer those first")
        same = sum(each.approval.session_key == ask.session_key for each in self._waiting.values())
        if ask.session_key is not None and same >= PENDING_PER_SESSION:
            raise LimitExceeded(f"{PENDING_PER_SESSION} questions of this conversation already wait for the owner")
        now_ms = self._now_ms()
        context = ask.context
        approval = Approval(
            id=ask.id or new_id(),
            code=self._new_code(),
            kind=ask.kind,
            title=_cut(visible_line(self._redactor.redact(ask.title)), TITLE_LIMIT),
            text=map_phrase(ask.text, lambda part: _cut(visible_line(self._redactor.redact(part)), TEXT_LIMIT)),
            details=details,
            binding=binding,
            requested_by=context.authority,
            session_key=ask.session_key,
            run_id=ask.run_id,
            context_id=context.id,
            state=ApprovalState.PENDING,
            created_ms=now_ms,
            expires_ms=now_ms + max(1, int(ask.timeout_s * 1000)),
            survives=ask.survives,
            may_persist=ask.may_persist,
            chain=frozenset({context.id, *context.chain}),
        )
        waiting = self._enter(approval)
        waiting.waiters += 1
        try:
            await self._store.insert(approval)
        except asyncio.CancelledError:
            self._leave(waiting)
            raise
        except HubError:
            self._drop(waiting, ApprovalDecision(False, ApprovalState.CANCELLED, None, "it could not be kept"))
            raise
        if self._waiting.get(approval.id) is waiting:
            asked = EVENT_QUESTION_REQUESTED if approval.kind == QUESTION else EVENT_APPROVAL_REQUESTED
            self._bus.fire(asked, approval.event_data(), context)
        waiting.waiters -= 1
        return await self._wait(waiting)

    async def _wait(self, waiting: WaitingApproval) -> ApprovalDecision:
        waiting.waiters += 1
        try:
            return await asyncio.shield(waiting.answer)
        except asyncio.CancelledError:
            self._leave(waiting)
            raise

    def _leave(self, waiting: WaitingApproval) -> None:
        """Remove a cancelled waiter; the last one withdraws the question."""
        waiting.waiters -= 1
        if waiting.waiters <= 0 and not waiting.approval.survives:
            self._end_at_once(waiting, ApprovalState.CANCELLED, ABANDONED)

    def _enter(self, approval: Approval) -> WaitingApproval:
        left_s = approval.expires_ms / 1000 - self._clock.time()
        waiting = self._waiting[approval.id] = WaitingApproval(approval, self._clock.monotonic() + left_s)
        waiting.timer = self._tasks.spawn(self._expire(waiting), name=f"wait for an answer to {approval.id}")
        return waiting

    def _new_code(self) -> str:
        taken = {each.approval.code for each in self._waiting.values()}
        while (code := "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))) in taken:
            continue
        return code

    # --- ending ---

    async def _named(self, id_or_code: str, context: Context) -> WaitingApproval:
        principal = context.authority.principal
        try:
            self._guesses.reserve(principal)
        except TooManyAttempts as error:
            wait_s = error.retry_after_s or 0.0
            told = f"too many wrong codes; try again in {max(1, round(wait_s))} s"
            raise TooManyAttempts(told, retry_after_s=wait_s) from error
        waiting = self._find(id_or_code)
        if waiting is None:
            decided = await self.get(id_or_code)
            if decided is None:
                raise NotFound(f"no pending question has the id {id_or_code[:NAMED_LIMIT]!r}")
            self._guesses.succeed(principal)
            raise Conflict(f"{decided.title} is {decided.state.value} already", details={"state": decided.state.value})
        self._guesses.succeed(principal)
        return waiting

    async def _answer(
        self, waiting: WaitingApproval, state: ApprovalState, context: Context, answer: str | None = None, **also: Any
    ) -> Approval:
        self._refuse_ended(waiting)
        waiting.answered = True
        answered = replace(
            settled_approval(waiting.approval, state, self._now_ms(), context.authority.principal, ""), **also
        )
        if answer is not None:
            answered = replace(answered, answer=answer, answered_by=context.authority)
        writing = self._tasks.spawn(self._settle(waiting, answered, context), name=f"answer {answered.id}")
        ended = await asyncio.shield(writing)
        if ended.state is not state:
            raise Conflict(f"{ended.title} was changed on disk meanwhile, so it counts as refused")
        return ended

    def _refuse_ended(self, waiting: WaitingApproval) -> None:
        if self._is_over(waiting):
            self._end_at_once(waiting, ApprovalState.EXPIRED, NOT_ANSWERED)
            raise Conflict(f"{waiting.approval.title} has expired", details={"state": ApprovalState.EXPIRED.value})
        if waiting.answered:
            raise Conflict(f"{waiting.approval.title} is being answered by someone else")

    def _open(self) -> Iterator[Approval]:
        return (each.approval for each in self._waiting.values() if not each.answered and not self._is_over(each))

    def _find(self, id_or_code: str) -> WaitingApproval | None:
        if id_or_code in self._waiting:
            return self._waiting[id_or_code]
        code = "".join(symbol for symbol in id_or_code[:NAMED_LIMIT].upper() if symbol not in " -\t\r\n")
        return next((each for each in self._waiting.values() if each.approval.code == code), None)

    async def _settle(self, waiting: WaitingApproval, answered: Approval, context: Context) -> Approval:
        try:
            kept = await self._store.settle(answered)
        except HubError:
            self._drop(waiting, ApprovalDecision(False, ApprovalState.CANCELLED, None, "the answer could not be kept"))
            raise
        if not kept:
            answered = settled_approval(waiting.approval, ApprovalState.CANCELLED, self._now_ms(), None, CHANGED)
        self._ended(waiting, answered, context)
        return answered

    def _end_at_once(self, waiting: WaitingApproval, state: ApprovalState, reason: str) -> None:
        """Refuse a request at once, without waiting for the disk: if that is lost, it still counts as no."""
        if self._waiting.get(waiting.approval.id) is not waiting or waiting.answered:
            return
        ended = settled_approval(waiting.approval, state, self._now_ms(), None, reason)
        self._store.settle_later(ended)
        self._ended(waiting, ended, system_context())

    def _ended(self, waiting: WaitingApproval, ended: Approval, context: Context) -> None:
        self._drop(waiting, ended.decision)
        self._decided[ended.id] = ended
        while len(self._decided) > KEPT:
            self._decided.popitem(last=False)
        told = {"id": ended.id, "state": ended.state.value, "decided_by": ended.decided_by, "title": ended.title}
        type = EVENT_QUESTION_RESOLVED if ended.kind == QUESTION else EVENT_APPROVAL_RESOLVED
        self._bus.fire(type, told, context)

    def _drop(self, waiting: WaitingApproval, decision: ApprovalDecision) -> None:
        if self._waiting.get(waiting.approval.id) is waiting:
            del self._waiting[waiting.approval.id]
        waiting.tell(decision)

    async def _expire(self, waiting: WaitingApproval) -> None:
        """Expire a request when its time is up by either clock."""
        while self._waiting.get(waiting.approval.id) is waiting and not waiting.answered:
            left_s = self._left_s(waiting)
            if left_s <= 0:
                self._end_at_once(waiting, ApprovalState.EXPIRED, NOT_ANSWERED)
                return
            await self._clock.sleep(min(left_s, RECHECK_S))

    def _expire_what_is_over(self) -> None:
        for waiting in [each for each in self._waiting.values() if self._is_over(each)]:
            self._end_at_once(waiting, ApprovalState.EXPIRED, NOT_ANSWERED)

    def _is_over(self, waiting: WaitingApproval) -> bool:
        return self._left_s(waiting) <= 0

    def _left_s(self, waiting: WaitingApproval) -> float:
        by_wall = waiting.approval.expires_ms / 1000 - self._clock.time()
        return min(by_wall, waiting.ends_monotonic_s - self._clock.monotonic())

    def _now_ms(self) -> int:
        return int(self._clock.time() * 1000)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
