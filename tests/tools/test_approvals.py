"""Asking the owner: no answer, a restart or a change means no, and nothing inside the hub can answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from hub.core.clock import ManualClock
from hub.core.context import SCOPES, SYSTEM, Authority, Context, system_context
from hub.core.errors import Conflict, Forbidden, InvalidRequest, LimitExceeded, NotFound, Unavailable
from hub.core.events import Event, EventBus
from hub.core.phrases import Phrase, phrase
from hub.core.tasks import TaskOwner
from hub.security.people import CHAT_SCOPES
from hub.security.rate_limit import TooManyAttempts
from hub.security.redaction import Redactor
from hub.tools.approval import Approval, ApprovalDecision, ApprovalState, Ask, details_text, visible_line
from hub.tools.approval_checks import DETAILS_LIMIT_BYTES
from hub.tools.approvals import PENDING_LIMIT, PENDING_PER_SESSION, WRONG_CODES, Approvals
from tests.databases import make_database

OWNER = Authority("owner", "me", SCOPES, owner=True)
OWNER_IN_CHAT = Authority("peer:telegram:user:1", "me", CHAT_SCOPES, owner=True)
TOKEN = Authority("token:phone", None, frozenset({"operator.approvals", "operator.write"}))
DETAILS = {"tool": "shell", "arguments": {"argv": ["ls", "-l"]}}


class Office:
    """Approvals over a real database, with a clock that the test moves."""

    def __init__(self, home: Path) -> None:
        self.clock = ManualClock()
        self.tasks = TaskOwner("test")
        self.bus = EventBus(self.tasks, self.clock.time)
        self.events: list[Event] = []
        self.bus.listen("approval_requested", self.events.append)
        self.bus.listen("approval_resolved", self.events.append)
        self.redactor = Redactor()
        self.db = make_database(home / "hub.db")
        self.approvals = Approvals(self.db, self.bus, self.clock, self.redactor)

    async def open(self) -> None:
        await self.db.open()
        await self.approvals.open()

    async def close(self) -> None:
        await self.tasks.cancel_all()
        await self.approvals.close()
        await self.db.close()

    async def restart(self) -> None:
        await self.approvals.close()
        self.approvals = Approvals(self.db, self.bus, self.clock, self.redactor)
        await self.approvals.open()

    def ask(self, authority: Authority = OWNER, **fields: Any) -> Ask:
        stated: dict[str, Any] = {
            "kind": "tool",
            "title": "shell",
            "text": "why",
            "details": DETAILS,
            "context": Context(authority),
        }
        return Ask(**(stated | fields))

    async def asked(self, ask: Ask) -> tuple[asyncio.Task[ApprovalDecision], Approval]:
        """Ask in a task and return it with what is pending."""
        requested = self.tasks.spawn(self.bus.wait_for("approval_requested"), name="requested")
        await asyncio.sleep(0)
        task = self.tasks.spawn(self.approvals.ask(ask), name="ask")
        await requested
        return task, self.approvals.pending()[-1]


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    office = Office(tmp_path)
    await office.open()
    yield office
    await office.close()


@pytest.mark.parametrize(("approved", "state"), [(True, ApprovalState.APPROVED), (False, ApprovalState.DENIED)])
async def test_the_one_who_asks_gets_the_owners_answer(office: Office, approved: bool, state: ApprovalState) -> None:
    task, pending = await office.asked(office.ask(session_key="agent:main:main", run_id="r1"))

    await office.approvals.resolve(pending.id, approved, Context(OWNER))

    assert await task == ApprovalDecision(approved, state, "owner")
    assert office.approvals.pending() == []
    stored = await office.approvals.get(pending.id)
    assert stored is not None
    assert (stored.state, stored.decided_by, stored.details) == (state, "owner", DETAILS)
    assert [(event.type, event.data["id"]) for event in office.events] == [
        ("approval_requested", pending.id),
        ("approval_resolved", pending.id),
    ]
    assert office.events[0].data["code"] == pending.code
    assert office.events[1].data == {
        "id": pending.id,
        "title": pending.title,
        "state": state.value,
        "decided_by": "owner",
    }


@pytest.mark.parametrize("typed", ["{}", " {} ", "{}".lower(), "-{}-"])
async def test_the_short_code_may_be_typed_loosely(office: Office, typed: str) -> None:
    task, pending = await office.asked(office.ask())

    await office.approvals.resolve(typed.format(pending.code.lower()), True, Context(OWNER_IN_CHAT))

    assert (await task).decided_by == "peer:telegram:user:1"


async def test_no_answer_means_no(office: Office) -> None:
    task, pending = await office.asked(office.ask(timeout_s=300))

    await office.clock.advance(301)

    assert await task == ApprovalDecision(False, ApprovalState.EXPIRED, None, "no one answered in time")
    with pytest.raises((Conflict, NotFound)):
        await office.approvals.resolve(pending.id, True, Context(OWNER))


@pytest.mark.parametrize("jump_s", [-86_400.0, 86_400.0])
async def test_a_clock_that_is_changed_prolongs_nothing(office: Office, jump_s: float) -> None:
    task, pending = await office.asked(office.ask(timeout_s=300))

    office.clock.jump(jump_s)
    await office.clock.advance(301)

    assert (await task).state is ApprovalState.EXPIRED
    assert office.approvals.pending() == []
    with pytest.raises(Conflict):
        await office.approvals.resolve(pending.id, True, Context(OWNER))


async def test_an_answer_behind_the_expiry_is_refused_before_anybody_noticed_it(office: Office) -> None:
    task, pending = await office.asked(office.ask(timeout_s=300))
    office.clock.jump(301)

    with pytest.raises(Conflict, match="expired"):
        await office.approvals.resolve(pending.code, True, Context(OWNER))

    assert (await task).state is ApprovalState.EXPIRED


async def test_a_restart_means_no(office: Office) -> None:
    task, pending = await office.asked(office.ask(id="run-1-call-1"))

    await office.restart()

    await asyncio.wait({task})
    assert task.cancelled()
    assert office.approvals.pending() == []
    stored = await office.approvals.get(pending.id)
    assert stored is not None
    assert stored.state is ApprovalState.EXPIRED
    assert await office.approvals.ask(office.ask(id="run-1-call-1")) == ApprovalDecision(
        False, ApprovalState.EXPIRED, None, "the hub was restarted before anyone answered"
    )


async def test_a_yes_from_before_a_restart_is_given_to_nothing_new(office: Office) -> None:
    task, pending = await office.asked(office.ask(id="run-1-call-1"))
    await office.approvals.resolve(pending.id, True, Context(OWNER))
    assert (await task).approved

    await office.restart()

    assert not (await office.approvals.ask(office.ask(id="run-1-call-1"))).approved


async def test_what_survives_goes_on_waiting_over_a_restart_and_is_answered_then(office: Office) -> None:
    ask = office.ask(id="automation:morning:1", survives=True)
    _, pending = await office.asked(ask)

    await office.restart()
    again = office.tasks.spawn(office.approvals.ask(ask), name="again")
    (waiting,) = office.approvals.pending()
    await office.approvals.resolve(waiting.code, True, Context(OWNER))

    assert waiting == pending
    assert (await again).approved
    await office.restart()
    assert (await office.approvals.ask(ask)).approved


async def test_why_it_is_asked_is_read_in_ones_language_also_after_a_restart(office: Office) -> None:
    office.redactor.register("hunter22hunter22")
    why = phrase(
        "The assistant does not do this without you: {reason}.",
        reason=phrase("it opens {url}", url="x?hunter22hunter22"),
    )
    task, pending = await office.asked(office.ask(text=why, survives=True, id="automation:morning:1"))
    _, stopped = await office.asked(office.ask(text="An owner's own words", timeout_s=60))
    await office.clock.advance(61)
    await office.restart()

    (waiting,) = office.approvals.pending()
    ended = await office.approvals.get(stopped.id)

    assert isinstance(waiting.text, Phrase)
    assert (waiting.text.template, str(waiting.text)) == (why.template, str(pending.text))
    assert isinstance(waiting.text.values["reason"], Phrase)
    assert "hunter22" not in json.dumps(waiting.text.as_data())
    assert ended is not None
    assert (ended.text, isinstance(ended.text, Phrase)) == ("An owner's own words", False)
    assert isinstance(ended.reason, Phrase)
    task.cancel()


async def test_one_stored_before_phrases_were_is_still_read(office: Office) -> None:
    _, pending = await office.asked(
        office.ask(text=phrase("It was set off by hand."), id="automation:a:1", survives=True)
    )
    await office.db.write(lambda connection: connection.execute("UPDATE approvals SET phrases = NULL"))
    await office.restart()

    (waiting,) = office.approvals.pending()

    assert (waiting.id, waiting.text) == (pending.id, "It was set off by hand.")


async def test_what_survives_expires_after_the_restart_too(office: Office) -> None:
    await office.asked(office.ask(id="automation:morning:1", survives=True, timeout_s=600))
    await office.restart()

    await office.clock.advance(601)

    assert office.approvals.pending() == []
    assert not (await office.approvals.ask(office.ask(id="automation:morning:1", survives=True))).approved


async def test_asking_again_with_the_same_id_waits_for_the_one_answer(office: Office) -> None:
    first, pending = await office.asked(office.ask(id="automation:a:1"))
    second = office.tasks.spawn(office.approvals.ask(office.ask(id="automation:a:1")), name="second")
    await asyncio.sleep(0)

    await office.approvals.resolve(pending.id, True, Context(OWNER))

    assert (await first, await second) == (ApprovalDecision(True, ApprovalState.APPROVED, "owner"),) * 2
    assert sum(event.type == "approval_requested" for event in office.events) == 1


@pytest.mark.parametrize(
    "other",
    [{"details": {"tool": "shell", "arguments": {"argv": ["rm"]}}}, {"kind": "exec"}, {"context": Context(TOKEN)}],
)
async def test_asking_for_something_else_under_the_same_id_means_no(office: Office, other: dict[str, Any]) -> None:
    first, _ = await office.asked(office.ask(id="automation:a:1", survives=True))

    changed = await office.approvals.ask(office.ask(id="automation:a:1", survives=True, **other))

    assert not changed.approved
    assert (await first).state is ApprovalState.CANCELLED


async def test_an_approved_id_says_no_to_anything_else_than_what_was_approved(office: Office) -> None:
    task, pending = await office.asked(office.ask(id="automation:a:1", survives=True))
    await office.approvals.resolve(pending.id, True, Context(OWNER))
    await task

    other = office.ask(id="automation:a:1", survives=True, details={**DETAILS, "more": 1})

    assert not (await office.approvals.ask(other)).approved


async def test_a_row_that_was_changed_on_disk_means_no(office: Office) -> None:
    task, pending = await office.asked(office.ask())
    await office.db.write(lambda connection: connection.execute("UPDATE approvals SET binding = 'other'"))

    with pytest.raises(Conflict, match="changed"):
        await office.approvals.resolve(pending.id, True, Context(OWNER))

    assert not (await task).approved


async def test_a_row_that_cannot_be_read_waits_for_nothing(office: Office) -> None:
    await office.asked(office.ask(id="automation:a:1", survives=True))
    await office.db.write(lambda connection: connection.execute("UPDATE approvals SET details = '{'"))

    await office.restart()

    assert office.approvals.pending() == []


@pytest.mark.parametrize(
    ("authority", "why"),
    [
        (Authority("peer:telegram:user:2"), "a stranger"),
        (Authority("peer:telegram:user:2", "kid"), "a person who is no owner"),
        (OWNER_IN_CHAT.narrow(owner=False), "an owner in a group"),
        (OWNER.narrow(scopes=frozenset({"operator.write"})), "an owner without the scope"),
        (OWNER.narrow(tainted=True), "text that others wrote"),
        (Authority("token:read", None, frozenset({"operator.write", "operator.read"})), "a token without the scope"),
        (SYSTEM, "the hub itself"),
    ],
)
async def test_nobody_else_can_answer(office: Office, authority: Authority, why: str) -> None:
    _, pending = await office.asked(office.ask())

    with pytest.raises(Forbidden):
        await office.approvals.resolve(pending.id, True, Context(authority))

    assert office.approvals.pending() == [pending], why


async def test_a_run_cannot_answer_what_it_asked_with_the_owners_authority_it_runs_under(office: Office) -> None:
    asking = Context(OWNER).child()
    _, pending = await office.asked(office.ask(context=asking))

    for context in (asking, asking.child(), Context(OWNER).child(), Context(OWNER, id=pending.context_id)):
        with pytest.raises(Forbidden):
            await office.approvals.resolve(pending.id, True, context)

    assert office.approvals.pending() == [pending]


async def test_a_message_cannot_answer_what_it_led_to(office: Office) -> None:
    message = Context(OWNER)
    _, pending = await office.asked(office.ask(context=message.child()))

    with pytest.raises(Forbidden):
        await office.approvals.resolve(pending.id, True, message)


async def test_a_credential_cannot_answer_what_it_asked_itself(office: Office) -> None:
    task, pending = await office.asked(office.ask(TOKEN))

    with pytest.raises(Forbidden, match="another one"):
        await office.approvals.resolve(pending.id, True, Context(TOKEN))
    await office.approvals.resolve(pending.id, True, Context(replace(TOKEN, principal="token:other")))

    assert (await task).approved


async def test_wrong_codes_are_limited_and_the_right_one_is_then_refused_too(office: Office) -> None:
    _, pending = await office.asked(office.ask())
    for number in range(WRONG_CODES):
        with pytest.raises(NotFound):
            await office.approvals.resolve(f"WRONG{number}", True, Context(OWNER))

    with pytest.raises(TooManyAttempts, match="wrong codes"):
        await office.approvals.resolve(pending.code, True, Context(OWNER))

    assert office.approvals.pending() == [pending]


async def test_right_answers_are_never_limited(office: Office) -> None:
    for _ in range(WRONG_CODES * 2):
        _, pending = await office.asked(office.ask())
        await office.approvals.resolve(pending.code, False, Context(OWNER))

    assert office.approvals.pending() == []


async def test_of_two_answers_at_once_one_counts(office: Office) -> None:
    task, pending = await office.asked(office.ask())

    answers = await asyncio.gather(
        office.approvals.resolve(pending.id, False, Context(OWNER)),
        office.approvals.resolve(pending.id, True, Context(OWNER)),
        return_exceptions=True,
    )

    assert [type(each) for each in answers] == [Approval, Conflict]
    assert not (await task).approved


async def test_the_question_is_taken_back_when_the_asker_is_cancelled(office: Office) -> None:
    task, pending = await office.asked(office.ask())

    task.cancel()
    await asyncio.wait({task})

    assert office.approvals.pending() == []
    with pytest.raises(Conflict, match="cancelled"):
        await office.approvals.resolve(pending.id, True, Context(OWNER))


async def test_what_survives_waits_on_when_the_asker_is_cancelled_until_it_is_taken_back(office: Office) -> None:
    task, pending = await office.asked(office.ask(id="automation:a:1", survives=True))
    task.cancel()
    await asyncio.wait({task})
    assert office.approvals.pending() == [pending]

    assert await office.approvals.cancel(pending.id)

    assert office.approvals.pending() == []
    assert not await office.approvals.cancel(pending.id)


async def test_one_conversation_cannot_ask_without_bound(office: Office) -> None:
    for _ in range(PENDING_PER_SESSION):
        await office.asked(office.ask(session_key="agent:main:main"))

    with pytest.raises(LimitExceeded, match="conversation"):
        await office.approvals.ask(office.ask(session_key="agent:main:main"))


async def test_all_together_cannot_ask_without_bound_until_something_is_over(office: Office) -> None:
    for _ in range(PENDING_LIMIT):
        await office.asked(office.ask(timeout_s=60))
    with pytest.raises(LimitExceeded, match="already wait"):
        await office.approvals.ask(office.ask())

    office.clock.jump(61)
    await office.asked(office.ask())

    assert len(office.approvals.pending()) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"details": {"text": "x" * DETAILS_LIMIT_BYTES}},
        {"details": {"text": object()}},
        {"kind": "Tool; DROP"},
        {"id": "short"},
        {"id": "x" * 200},
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
        {"timeout_s": 1e9},
    ],
)
async def test_what_cannot_be_shown_or_kept_is_refused(office: Office, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        await office.approvals.ask(office.ask(**wrong))

    assert office.approvals.pending() == []


async def test_nobody_is_asked_before_the_beginning_or_behind_the_end(office: Office) -> None:
    await office.approvals.close()

    with pytest.raises(Unavailable):
        await office.approvals.ask(office.ask())


async def test_secrets_are_neither_shown_nor_kept_and_the_answer_is_bound_to_them(office: Office) -> None:
    office.redactor.register("hunter2-hunter2")
    ask = office.ask(id="automation:a:1", details={"body": "key hunter2-hunter2"}, text="with hunter2-hunter2")
    _, pending = await office.asked(ask)
    stored = await office.db.read(lambda connection: connection.execute("SELECT * FROM approvals").fetchall())

    other = await office.approvals.ask(replace(ask, details={"body": "key [redacted]"}))

    assert pending.details == {"body": "key [redacted]"}
    assert "hunter2" not in str(stored)
    assert not other.approved


def test_what_is_shown_has_nothing_invisible() -> None:
    text = details_text({"path": "a\u202egnp.exe", "note": "line\nunder\x1b[2K", "zero": "\u200b", "word": "é中"})

    assert "\\u202e" in text
    assert "\\u200b" in text
    assert "\x1b" not in text
    assert "line\\nunder" in text
    assert "é中" in text
    assert visible_line("a\nb\u2066") == "a b\\u2066"


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=5))
def test_no_value_can_look_like_another_key(details: dict[str, str]) -> None:
    lines = details_text(details).splitlines()

    assert len(lines) == (len(details) + 2 if details else 1)


def test_the_context_of_the_hub_itself_is_no_person() -> None:
    assert system_context().authority.principal == "system"
