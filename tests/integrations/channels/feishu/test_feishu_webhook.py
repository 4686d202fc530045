"""The webhook of an app: what is signed and encrypted with its key is taken once it is stored, and nothing else."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hub.core.errors import Unavailable
from hub.core.secret import Secret
from hub.messaging.contract import Inbound, InboundMessage, Receipt
from integrations.channels.feishu.channel import FeishuAccount, FeishuChannel
from integrations.channels.feishu.webhook import (
    CHALLENGE_BYTES,
    NONCE,
    SIGNATURE,
    STAMP,
    FeishuWebhook,
    decrypted,
    is_signed,
)
from tests.channels.feishu_rig import KEY
from tests.channels.kit import Heard, HurriedClock
from tests.channels.webhook_host import WebhookHost
from tests.servers.feishu_server import ADA, APP_SECRET, FeishuServer
from tests.until import until


class Fussy(Heard):
    """Cannot store at first, and has something to say to who presses a button."""

    full = False

    async def __call__(self, inbound: Inbound) -> Receipt:
        if self.full:
            raise Unavailable("the disk is full")
        await super().__call__(inbound)
        return Receipt("1", accepted=True, notice="This button is not for you.")


@pytest.fixture
def heard() -> Fussy:
    return Fussy()


@pytest.fixture
async def post(server: FeishuServer, tmp_path: Path, clock: HurriedClock, heard: Fussy) -> AsyncIterator[Any]:
    webhook = FeishuWebhook("default", Secret(KEY), clock)
    channel = FeishuChannel(FeishuAccount("default", server.app_id, Secret(APP_SECRET), server.root), clock, webhook)
    host = WebhookHost(lambda: [webhook.route()])
    await host.start()
    await channel.start(heard)
    await until(lambda: webhook.intake is not None)

    async def post(body: bytes, **headers: str) -> tuple[int, Any]:
        signed = headers or signed_as_feishu_does(body, str(int(clock.time())))
        async with (
            aiohttp.ClientSession() as client,
            client.post(f"{host.url}/feishu/default", data=body, headers=signed) as got,
        ):
            return got.status, await got.json()

    yield post
    await channel.stop()
    await host.stop()


def signed_as_feishu_does(body: bytes, stamp: str, key: str = KEY) -> dict[str, str]:
    signature = sha256((stamp + "nonce" + key).encode() + body).hexdigest()
    return {STAMP: stamp, NONCE: "nonce", SIGNATURE: signature}


def encrypted(event: Any, key: str = KEY) -> bytes:
    text = json.dumps(event).encode()
    text += bytes([16 - len(text) % 16]) * (16 - len(text) % 16)
    vector = os.urandom(16)
    cipher = Cipher(algorithms.AES256(sha256(key.encode()).digest()), modes.CBC(vector)).encryptor()
    return json.dumps({"encrypt": base64.b64encode(vector + cipher.update(text) + cipher.finalize()).decode()}).encode()


def event_of(kind: str, event: Any) -> Any:
    return {"schema": "2.0", "header": {"event_id": "e1", "event_type": kind}, "event": event}


def hello(server: FeishuServer) -> Any:
    message = {"message_id": "om_1", "chat_id": "oc_1", "chat_type": "p2p", "message_type": "text"}
    content = {"content": json.dumps({"text": "hello"})}
    sender = {"sender_id": server.ids(ADA), "sender_type": "user"}
    return event_of("im.message.receive_v1", {"sender": sender, "message": {**message, **content}})


def test_the_vendors_own_example_is_decrypted() -> None:
    body = json.dumps({"encrypt": "P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk="}).encode()

    with pytest.raises(ValueError, match=r"unexpected|JSON"):  # it holds the words alone, and no event
        decrypted("test key", body)


async def test_an_event_is_taken_when_it_is_signed(post: Any, server: FeishuServer, heard: Fussy) -> None:
    assert await post(encrypted(hello(server))) == (200, {})

    (found,) = heard.inbound
    assert isinstance(found, InboundMessage)
    assert (found.text, found.sender, found.sender_name) == ("hello", f"feishu:user:{ADA}", "Ada")


async def test_what_is_not_stored_is_refused_so_that_it_comes_again(
    post: Any, server: FeishuServer, heard: Fussy
) -> None:
    heard.full = True
    assert (await post(encrypted(hello(server))))[0] == 503
    heard.full = False

    assert (await post(encrypted(hello(server))))[0] == 200


async def test_who_presses_a_button_without_effect_is_told_why(post: Any, server: FeishuServer) -> None:
    pressed = {"operator": server.ids(ADA), "action": {"value": {"pressed": "y"}}}
    pressed["context"] = {"open_message_id": "om_1", "open_chat_id": "oc_9e0f"}

    answer = await post(encrypted(event_of("card.action.trigger", pressed)))

    assert answer == (200, {"toast": {"type": "info", "content": "This button is not for you."}})


async def test_the_question_whether_the_address_is_ours_is_answered_unsigned(post: Any) -> None:
    question = {"challenge": "abc", "token": "t", "type": "url_verification"}

    assert await post(encrypted(question), X="1") == (200, {"challenge": "abc"})


@pytest.mark.parametrize("body", [b"{}", b'{"challenge": "abc", "type": "url_verification"}', b'{"encrypt": "AAAA"}'])
async def test_a_question_that_is_not_encrypted_with_the_key_is_refused(post: Any, body: bytes) -> None:
    assert (await post(body, X="1"))[0] == 401


async def test_a_question_of_another_app_or_too_long_is_refused(post: Any) -> None:
    question = {"challenge": "abc", "type": "url_verification"}

    assert (await post(encrypted(question, "the-key-of-another-app"), X="1"))[0] == 401
    assert (await post(encrypted({**question, "padding": "x" * CHALLENGE_BYTES}), X="1"))[0] == 401


async def test_an_event_without_a_signature_is_refused_though_it_is_encrypted(
    post: Any, server: FeishuServer, heard: Fussy
) -> None:
    assert (await post(encrypted(hello(server)), X="1"))[0] == 401
    assert heard.inbound == []


@pytest.mark.parametrize("stamp", ["", "x", "-1", "9" * 30, "²"])
async def test_a_time_that_is_none_is_refused(post: Any, stamp: str) -> None:
    body = encrypted({})
    headers = {name: value.encode().decode("latin-1") for name, value in signed_as_feishu_does(body, stamp).items()}

    assert (await post(body, **headers))[0] == 401


async def test_a_time_in_milliseconds_counts_too(post: Any, server: FeishuServer, clock: HurriedClock) -> None:
    body = encrypted(hello(server))

    assert (await post(body, **signed_as_feishu_does(body, str(int(clock.time() * 1000)))))[0] == 200
    old = signed_as_feishu_does(body, str(int((clock.time() - 360) * 1000)))
    assert (await post(body, **old))[0] == 401


@pytest.mark.parametrize("event", [[], "x", {"header": 1}, {"encrypt": "x"}])
async def test_what_is_signed_and_no_event_is_refused_or_left_out(post: Any, heard: Fussy, event: Any) -> None:
    status, _ = await post(encrypted(event))

    assert status == (200 if isinstance(event, dict) else 400)
    assert heard.inbound == []


@pytest.mark.parametrize("name", [SIGNATURE, NONCE])
def test_a_header_that_is_no_text_is_a_wrong_signature(name: str) -> None:
    headers = signed_as_feishu_does(b"{}", "1000") | {name: "\udce9"}

    assert not is_signed(KEY, b"{}", headers, 1000.0)
