"""Frames: whatever a client sends, it gets an answer or is closed, and nobody else is harmed."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hub.core.errors import InvalidRequest
from hub.core.schema import Optional, Schema
from hub.core.surfaces import READ, Method, MethodCall
from hub.gateway.connection.protocol import (
    Cancel,
    Request,
    decode,
    encode_error,
    encode_event,
    encode_result,
    text_frame,
    with_sequence,
)
from tests.gateway.rig import Rig, connected
from tests.lengths import examples

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_an_error(data: bytes) -> None:
    try:
        frame = decode(data)
    except InvalidRequest:
        return
    assert frame is None or isinstance(frame, Request | Cancel)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["req", "req", "cancel", "event"]) | JSON,
            "id": st.text(min_size=1, max_size=8) | JSON,
            "method": st.sampled_from(["health", "chat.send"]) | JSON,
            "params": JSON,
            "x": JSON,
        },
    )
)
def test_any_object_is_a_frame_or_an_error_that_names_what_is_wrong(data: dict[str, object]) -> None:
    frame, told = None, ""
    try:
        frame = decode(orjson.dumps(data))
    except InvalidRequest as error:
        told = error.message

    assert not told or (data.get("type") in ("req", "cancel") and told.startswith(("id:", "method:")))
    if isinstance(frame, Request):
        params = orjson.loads(bytes(frame.params))
        assert (frame.id, frame.method, params) == (data["id"], data["method"], data.get("params"))


@given(JSON, st.text(max_size=10), st.integers(1, 2**40))
def test_what_is_encoded_reads_back(payload: object, name: str, sequence: int) -> None:
    assert orjson.loads(with_sequence(encode_event(name, payload), sequence)) == {
        "type": "event",
        "event": name,
        "payload": payload,
        "seq": sequence,
    }
    assert orjson.loads(encode_result(name, payload)) == {"type": "res", "id": name, "ok": True, "payload": payload}


def test_an_error_tells_when_to_come_back() -> None:
    error = InvalidRequest("no", details={"code": "X"}, retry_after_s=1.5)

    assert orjson.loads(encode_error("1", error))["error"] == {
        "code": "INVALID_REQUEST",
        "message": "no",
        "details": {"code": "X"},
        "retryable": True,
        "retryAfterMs": 1500,
    }


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 100_000])
def test_the_frame_header_says_the_size(size: int) -> None:
    header = text_frame(b"x" * size)
    short = header[1]

    assert header[0] == 0x81
    assert short == size if size < 126 else int.from_bytes(header[2:], "big") == size


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.lists(st.one_of(JSON, st.fixed_dictionaries({"type": st.just("req"), "id": JSON, "method": JSON}))))
async def test_a_connected_client_may_send_anything(rig: Rig, frames: list[object]) -> None:
    async with connected(rig) as odd, connected(rig) as other:
        if rig.gateway.methods.get("echo") is None:
            rig.gateway.methods.add(Method("echo", _echo, "test", Schema({Optional("x"): object}), READ))
        for frame in frames:
            try:
                await odd.ws.send_str(orjson.dumps(frame).decode())
            except ConnectionError:
                break
        answer = await other.call("echo", {"x": 1})

    assert answer["payload"] == {"x": 1}


async def test_unknown_types_are_ignored_and_bad_requests_answered(rig: Rig) -> None:
    rig.gateway.methods.add(Method("echo", _echo, "test", Schema({Optional("x"): object}), READ))
    async with connected(rig) as client:
        await client.ws.send_str('{"type":"hello"}')
        await client.ws.send_str('{"type":"cancel","id":"nobody"}')
        await client.ws.send_str('{"type":"req","id":"7"}')
        bad = await client.answer("7")
        good = await client.call("echo", {"x": "ü"})

    assert bad["error"]["code"] == "INVALID_REQUEST"
    assert good["payload"] == {"x": "ü"}


async def test_a_second_request_with_the_id_of_one_under_way_is_refused(rig: Rig) -> None:
    import asyncio

    gate = asyncio.Event()

    async def wait(call: MethodCall) -> str:
        await gate.wait()
        return "done"

    rig.gateway.methods.add(Method("wait", wait, "test", Schema({}), READ))
    async with connected(rig) as client:
        await client.send("wait", id="same")
        await client.send("wait", id="same")
        refused = await client.answer("same")
        gate.set()
        done = await client.answer("same")

    assert refused["error"]["code"] == "INVALID_REQUEST"
    assert done["payload"] == "done"


async def test_a_mistake_of_ours_is_an_answer(rig: Rig) -> None:
    async def fail(call: MethodCall) -> str:
        raise ValueError("secret details")

    rig.gateway.methods.add(Method("fail", fail, "test", Schema({}), READ))
    rig.gateway.methods.add(Method("quick", fail, "test", Schema({}), READ, quick=True))
    async with connected(rig) as client:
        for name in ("fail", "quick"):
            answer = await client.call(name)

            assert answer["error"]["code"] == "INTERNAL"
            assert "secret details" not in answer["error"]["message"]


async def _echo(call: MethodCall) -> object:
    return dict(call.params)
