"""Several keys of one provider: in order or rotated, named, per agent, and set aside one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.schema import Invalid
from hub.models.answering import answering_model
from hub.models.contract import (
    AuthError,
    BillingError,
    FormatError,
    ModelError,
    ModelInfo,
    ModelRequest,
    Overloaded,
    RateLimited,
    user_message,
)
from hub.models.cooldowns import Cooldowns
from hub.models.failover import RetryPolicy, stream_with_failover
from hub.models.registry import ModelRegistry
from hub.models.resolved import Resolved
from hub.models.schema import MODELS_SCHEMA
from hub.models.thinking import is_thinking_refusal, lower_level
from tests.databases import make_database
from tests.models.conftest import ANSWER, Play, Player, World

KEYS = [{"id": "work", "api_key": "k-work"}, {"id": "spare", "api_key": "k-spare"}]
MINE: dict[str, Any] = {
    "api": "openai",
    "base_url": "http://127.0.0.1:9/v1",
    "api_key": "k-first",
    "models": ["m", "other", "with@sign"],
    "credentials": KEYS,
}
OTHER = {"api": "openai", "base_url": "http://127.0.0.1:8/v1", "models": ["n"]}


def registry(world: World, **changes: Any) -> ModelRegistry:
    mine = {**MINE, **changes}
    config = {"default": "mine", "aliases": {"good": "mine/m"}, "providers": {"mine": mine, "other": OTHER}}
    return world.registry({**config, "fallbacks": ["other"]})


def labels(candidates: list[Resolved]) -> list[str]:
    return [f"{each.ref}@{each.credential}" for each in candidates]


async def test_the_keys_of_a_model_are_tried_in_order_and_then_the_fallbacks(world: World) -> None:
    models = registry(world)

    found = await models.candidates()

    assert labels(found) == ["mine/m@default", "mine/m@work", "mine/m@spare", "other/n@default"]
    assert len({id(each.provider) for each in found}) == 4


async def test_rotated_keys_stay_with_their_session_and_are_all_used(world: World) -> None:
    models = registry(world, rotate_credentials=True)

    first = {key: labels(await models.candidates(session_key=key))[0] for key in map(str, range(60))}
    again = {key: labels(await models.candidates(session_key=key))[0] for key in first}

    assert again == first
    assert set(first.values()) == {"mine/m@default", "mine/m@work", "mine/m@spare"}


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("mine/m@work", "mine/m@work"),
        ("good@spare", "mine/m@spare"),
        ("mine@default", "mine/m@default"),
        ("m@work", "mine/m@work"),
        ("mine/with@sign", "mine/with@sign@default"),
        ("mine/with@sign@work", "mine/with@sign@work"),
        ("mine/@cf/meta", "mine/@cf/meta@default"),
    ],
)
async def test_a_name_with_an_at_sign_picks_one_key(world: World, ref: str, expected: str) -> None:
    found = await registry(world).candidates(ref)

    own = [label for label in labels(found) if label.startswith("mine")]
    assert own[0] == expected
    assert len(own) == (3 if expected.endswith("@default") and not ref.endswith("@default") else 1)


@pytest.mark.parametrize(
    ("ref", "kind", "words"),
    [("good@nobody", NotFound, "default, work, spare"), ("auto@work", InvalidRequest, "leaves the provider open")],
)
async def test_a_key_that_does_not_exist_is_said_so(world: World, ref: str, kind: type[HubError], words: str) -> None:
    with pytest.raises(kind, match=words):
        await registry(world).candidates(ref)


async def test_an_agent_uses_only_the_keys_it_is_given(world: World) -> None:
    models = registry(world)

    found = await models.candidates("mine/m", credentials={"mine": ["spare", "gone", "work"]})
    assert labels(found)[:2] == ["mine/m@spare", "mine/m@work"]

    for ref, allowed in (("mine/m", ["gone"]), ("mine/m@work", ["spare"])):
        only = [each.ref for each in await models.candidates(ref, credentials={"mine": allowed})]
        assert only == ["other/n"]
    with pytest.raises(AuthError, match=r"agents\[\]\.credentials"):
        await models.candidates("mine/m", credentials={"mine": ["gone"], "other": ["gone"]})


@pytest.mark.parametrize(
    ("error", "first"),
    [
        (RateLimited("x"), "mine/m@work"),
        (BillingError("x"), "mine/m@work"),
        (AuthError("x"), "mine/m@work"),
        (FormatError("x"), "mine/m@default"),
    ],
)
async def test_a_key_that_fails_comes_last_until_its_cooldown_is_over(
    world: World, error: ModelError, first: str
) -> None:
    models = registry(world)
    chosen = (await models.candidates())[0]
    world.made["mine"].plays.append([error])  # the one made last is not the first key's

    failing = chosen.provider
    failing.inner.plays.append([error])  # type: ignore[attr-defined]
    with pytest.raises(type(error)):
        assert not [event async for event in failing.stream(ModelRequest("m", "", (user_message("x"),)))]

    found = labels(await models.candidates())
    assert found[0] == first
    assert (found[-1] == "mine/m@default") == (first != "mine/m@default")
    await world.clock.advance(61)
    back = labels(await models.candidates())[0]
    assert back == ("mine/m@work" if isinstance(error, BillingError) else "mine/m@default")


async def test_the_state_of_each_key_is_shown_without_the_key(world: World) -> None:
    models = registry(world)
    chosen = (await models.candidates("mine/m@work"))[0]
    chosen.provider.inner.plays.append([RateLimited("slow down")])  # type: ignore[attr-defined]
    with pytest.raises(RateLimited):
        assert not [event async for event in chosen.provider.stream(ModelRequest("m", "", (user_message("x"),)))]

    shown = next(each for each in models.status()["providers"] if each["name"] == "mine")

    assert [(each["id"], each["aside"]) for each in shown["credentials"]] == [
        ("default", False),
        ("work", True),
        ("spare", False),
    ]
    assert shown["credentials"][1]["cooldowns"] == [
        {"model": "m", "reason": "rate_limit", "failures": 1, "remaining_s": 60}
    ]
    assert "k-work" not in str(shown)
    assert {secret.reveal() for secret in models.secrets()} == {"k-first", "k-work", "k-spare"}


@pytest.mark.parametrize(
    ("credentials", "words"),
    [
        ([{"id": "default", "api_key": "k"}], "is the name of api_key"),
        ([{"id": "a", "api_key": "k"}, {"id": "a", "api_key": "l"}], "used twice"),
        ([{"id": "a"}], "api_key"),
    ],
)
def test_a_wrong_list_of_keys_says_what_is_wrong(credentials: list[dict[str, str]], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        MODELS_SCHEMA({"providers": {"mine": {**MINE, "credentials": credentials}}})


async def failover(plays: dict[str, list[Play]]) -> tuple[list[str], list[float]]:
    """Run candidates `model@credential` that play, and return which were asked and what was waited."""
    asked: list[str] = []
    waits: list[float] = []
    candidates = []
    for name, play in plays.items():
        model, _, credential = name.partition("@")
        player = Player(name, plays=list(play))
        candidates.append(Resolved(player, ModelInfo(model, "p"), f"p/{model}", "", credential=credential))

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    stream = stream_with_failover(
        candidates,
        lambda each: ModelRequest(each.info.id, "", (user_message("x"),)),
        policy=RetryPolicy(attempts=2, max_wait_s=10),
        on_attempt=lambda attempt: asked.append(f"{attempt.candidate.info.id}@{attempt.candidate.credential}"),
        sleep=sleep,
        jitter=lambda: 1.0,
    )
    assert [event async for event in stream] == ANSWER
    return asked, waits


async def test_the_next_key_is_asked_at_once_when_the_first_is_limited() -> None:
    plays: dict[str, list[Play]] = {"m@a": [[RateLimited("x", retry_after_s=5)]], "m@b": [], "n@a": []}

    assert await failover(plays) == (["m@a", "m@b"], [])


async def test_a_server_that_is_down_is_not_asked_with_every_key() -> None:
    plays: dict[str, list[Play]] = {"m@a": [[Overloaded("x")], [Overloaded("x")]], "m@b": [], "n@a": []}

    assert await failover(plays) == (["m@a", "m@a", "n@a"], [0.5])


@pytest.mark.parametrize(
    ("level", "message", "expected"),
    [
        ("high", "reasoning_effort is not supported", "medium"),
        ("low", "reasoning_effort is not supported", "minimal"),
        ("minimal", "reasoning_effort is not supported", None),
        ("high", "Unsupported parameter: 'reasoning_effort'", None),
        ("high", "qwen3 does not support thinking", None),
        ("off", "Unsupported value: 'none' for reasoning_effort", "minimal"),
        ("minimal", "'reasoning_effort' does not support 'minimal'. Supported values are: 'low', 'medium'", "low"),
        ("high", "thinking invalid. Supported values are: 'low', 'medium', and 'minimal'", "medium"),
    ],
)
def test_a_refused_level_of_thinking_steps_down(level: str, message: str, expected: str | None) -> None:
    assert is_thinking_refusal(message)
    assert lower_level(level, message) == expected


async def test_a_model_is_asked_with_lower_levels_until_it_takes_one_and_that_is_remembered(world: World) -> None:
    models = registry(world)
    chosen = (await models.candidates())[0]
    player = chosen.provider.inner  # type: ignore[attr-defined]
    player.plays = [[FormatError("reasoning_effort high is not supported")], [FormatError("effort: invalid value")]]
    request = ModelRequest("m", "", (user_message("x"),), thinking="high")

    for _ in range(2):
        assert [event async for event in chosen.provider.stream(request)] == ANSWER

    assert [each.thinking for each in player.asked] == ["high", "medium", "low", "low"]


async def test_levels_that_point_at_each_other_end(world: World) -> None:
    chosen = (await registry(world).candidates())[0]
    player = chosen.provider.inner  # type: ignore[attr-defined]
    player.plays = [
        [FormatError("minimal effort is not supported. Supported values are: low")],
        [FormatError("low effort is not supported")],
    ]
    request = ModelRequest("m", "", (user_message("x"),), thinking="minimal")

    assert [event async for event in chosen.provider.stream(request)] == ANSWER

    assert [each.thinking for each in player.asked] == ["minimal", "low", None]


async def test_a_refusal_of_something_else_is_not_about_thinking(world: World) -> None:
    chosen = (await registry(world).candidates())[0]
    player = chosen.provider.inner  # type: ignore[attr-defined]
    player.plays = [[FormatError("temperature is not supported")]]

    with pytest.raises(FormatError):
        async for _ in chosen.provider.stream(ModelRequest("m", "", (user_message("x"),), thinking="high")):
            pass

    assert len(player.asked) == 1


async def fail(candidate: Resolved, *errors: ModelError) -> None:
    """Let a model fail with each of these."""
    for error in errors:
        candidate.provider.inner.plays.append([error])  # type: ignore[attr-defined]
        with pytest.raises(type(error)):
            assert not [event async for event in candidate.provider.stream(ModelRequest("m", "", (user_message("x"),)))]


@pytest.mark.parametrize(
    ("error", "reason", "minutes"),
    [
        (AuthError("x"), "auth", 1),
        (AuthError("x", details={"status": 403}), "auth", 1),
        (RateLimited("x"), "rate_limit", 1),
        (BillingError("x"), "billing", 300),
    ],
)
async def test_what_answers_instead_of_the_default_says_why_until_the_rest_is_over(
    world: World, error: ModelError, reason: str, minutes: int
) -> None:
    models = registry(world, credentials=[])
    await fail((await models.candidates())[0], error)
    resting = {"kind": "resting", "model": "mine/m", "reason": reason, "minutes": minutes}

    found = await models.candidates()
    assert labels(found) == ["other/n@default", "mine/m@default"]
    assert found[0].instead_of == resting
    assert (await answering_model(models, None))["notice"] == {**resting, "instead": "other/n"}

    await world.clock.advance(minutes * 60)
    found = await models.candidates()
    assert labels(found) == ["mine/m@default", "other/n@default"]
    assert [each.instead_of for each in found] == [None, None]
    assert "notice" not in await answering_model(models, None)


@pytest.mark.parametrize("ref", [None, "mine/m"])
async def test_what_is_said_to_answer_is_what_a_run_asks(world: World, ref: str | None) -> None:
    models = registry(world)
    allowed = {"mine": ["work"]}
    of_agent = await models.candidates(ref, credentials=allowed)
    await fail(of_agent[1], RateLimited("x", retry_after_s=60))
    assert "notice" not in await answering_model(models, ref, allowed)

    await fail(of_agent[0], RateLimited("x", retry_after_s=3_600))

    first, second = await models.candidates(ref, credentials=allowed)
    told = await answering_model(models, ref, allowed)
    rests = {"model": "mine/m", "reason": "rate_limit", "minutes": 60, "instead": "other/n"}
    assert told["ref"] == first.ref == ("other/n" if ref is None else "mine/m")
    assert told["notice"] == {"kind": "resting" if ref is None else "asked_first", **rests}
    assert "other/n" in (first.ref, second.ref)
    assert "notice" not in await answering_model(models, ref)  # another agent has the provider's other keys


@pytest.mark.parametrize("ref", ["mine/m", "good", "mine", "mine/m@default"])
async def test_a_model_that_somebody_names_is_asked_first_whatever_rests(world: World, ref: str) -> None:
    models = registry(world)
    for each in (await models.candidates(ref))[: 1 if "@" in ref else 3]:
        await fail(each, AuthError("x"))

    found = await models.candidates(ref)

    assert found[0].ref == "mine/m"
    assert found[-1].ref == "other/n"
    assert (found[0].rests is None, found[-1].rests, found[0].instead_of) == (False, None, None)
    assert (await answering_model(models, ref))["notice"]["kind"] == "asked_first"


async def test_a_named_key_is_never_replaced_by_another_in_silence(world: World) -> None:
    models = world.registry(
        {"default": "mine/m@work", "providers": {"mine": MINE, "other": OTHER}, "fallbacks": ["mine/m"]}
    )
    await fail((await models.candidates())[0], AuthError("x"))

    by_default = await models.candidates()
    named = await models.candidates("mine/m@work")

    assert labels(by_default)[0] == "mine/m@default"
    assert by_default[0].instead_of is not None
    assert by_default[0].instead_of["model"] == "mine/m@work"
    assert labels(named)[0] == "mine/m@work"


async def test_a_model_that_cannot_be_used_at_all_is_named_by_the_fallback(world: World) -> None:
    config = {"providers": {"openai": {"models": ["gpt"]}, "other": OTHER}, "fallbacks": ["other"]}
    models = world.registry({**config, "default": "openai/gpt"})

    (only,) = await models.candidates()

    assert only.instead_of is not None
    assert (only.instead_of["kind"], only.instead_of["model"]) == ("unusable", "openai/gpt")
    assert "OPENAI_API_KEY" in only.instead_of["reason"]
    assert (await answering_model(models, None))["notice"] == {**only.instead_of, "instead": "other/n"}


async def test_the_rests_of_an_earlier_process_are_known_before_the_first_call(world: World, tmp_path: Path) -> None:
    db = make_database(tmp_path / "hub.db")
    await db.open()
    config: dict[str, Any] = {
        "default": "mine",
        "providers": {"mine": {**MINE, "credentials": []}, "other": OTHER},
    }
    kept = [Cooldowns(world.clock, db) for _ in range(3)]
    before, after, mended = [world.registry({**config, "fallbacks": ["other"]}, cooldowns=each) for each in kept]
    later = kept[1:]
    await fail((await before.candidates())[0], AuthError("x"))
    await db.write(lambda connection: None)  # what was posted before is written by then

    await later[0].load()
    assert (await answering_model(after, None))["ref"] == "other/n"

    mended.configure({**config, "providers": {**config["providers"], "mine": {**MINE, "api_key": "k-new"}}})
    await later[1].load()
    assert (await answering_model(mended, None))["ref"] == "mine/m"
    await db.close()


async def test_a_model_that_rests_is_asked_once_where_another_can_answer() -> None:
    asked: list[str] = []
    failing, other = (Player(name, plays=[[Overloaded("x")]] if name == "a" else []) for name in "ab")
    candidates = [
        Resolved(failing, ModelInfo("m", "a"), "a/m", "", rests={"kind": "resting"}),
        Resolved(other, ModelInfo("m", "b"), "b/m", ""),
    ]

    stream = stream_with_failover(
        candidates,
        lambda each: ModelRequest(each.info.id, "", (user_message("x"),)),
        policy=RetryPolicy(attempts=3, max_wait_s=10),
        on_attempt=lambda attempt: asked.append(attempt.candidate.ref),
    )

    assert [event async for event in stream] == ANSWER
    assert asked == ["a/m", "b/m"]
