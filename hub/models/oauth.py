"""Signing in to a provider with OAuth 2.0 and PKCE (RFC 6749, 7636, 8252): requests and answers, nothing kept."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import aiohttp
import orjson
from msgspec import Struct
from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest
from hub.core.light_packages import load_package
from hub.core.secret import Secret
from hub.models.classify import clean_message
from hub.models.contract import AuthError, Overloaded
from hub.models.credential_file import StoredCredential
from hub.models.oauth_endpoints import OAuthEndpoint

REQUEST_LIMIT_S = 30.0
ANSWER_LIMIT_BYTES = 256 * 1024
DEFAULT_LIFE_S = 3_600.0
PASTE_LIMIT = 8_192
ACCOUNT_LIMIT = 200

SLOWER_S = 5.0
"""Added to the pause whenever the provider asks for it (RFC 8628) or cannot be reached."""
DEVICE_LIMIT_S = 3_600.0

_SECRETS = ("code", "refresh_token", "code_verifier", "device_code")
_DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
_TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"  # noqa: S105
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105


class PendingSignIn(Struct, frozen=True):
    """A begun sign-in: the expected state, and the code verifier."""

    url: str
    state: str
    verifier: str


class DeviceSignIn(Struct, frozen=True):
    """A begun sign-in on another device: `code` is typed at `page` before `ends`, in seconds since the epoch."""

    page: str
    code: str
    device_code: Secret
    interval_s: float
    ends: float


class OAuthTokens(Struct, frozen=True):
    """The answer of a token endpoint; `expires` in seconds since the epoch, None if it does not expire."""

    access: Secret
    refresh: Secret | None
    expires: float | None
    account: str | None = None


def begin_sign_in(endpoint: OAuthEndpoint) -> PendingSignIn:
    """Return the page to open, with a fresh state and code verifier."""
    verifier = secrets.token_urlsafe(64)
    state = secrets.token_urlsafe(24)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": endpoint.client_id,
        "redirect_uri": endpoint.redirect_url,
        **({"scope": endpoint.scope} if endpoint.scope else {}),
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "state": state,
        **endpoint.extra,
    }
    joiner = "&" if urlsplit(endpoint.authorize_url).query else "?"
    return PendingSignIn(f"{endpoint.authorize_url}{joiner}{urlencode(query)}", state, verifier)


def code_of(pasted: str, state: str) -> str:
    """Return the code in a person's paste: the final address, `code#state`, or the code alone.

    Raises:
        InvalidRequest: There is no code in it, or it belongs to another sign-in.
        AuthError: The provider refused the sign-in.
    """
    text = pasted.strip()
    if not text or len(text) > PASTE_LIMIT:
        raise InvalidRequest("Paste the whole address that the browser shows after the sign-in.")
    if "://" in text or text.startswith("?") or "code=" in text:
        found = dict(parse_qsl(urlsplit(text).query or text.lstrip("?")))
    else:
        code, _, came = text.partition("#")
        found = {"code": code, **({"state": came} if came else {})}
    if error := found.get("error"):
        raise AuthError(f"The sign-in was refused: {clean_message(found.get('error_description') or error)}")
    came_with = found.get("state")
    if came_with is not None and not hmac.compare_digest(came_with.encode(), state.encode()):
        raise InvalidRequest("This address belongs to another sign-in; begin again.")
    if "://" in text and came_with is None:
        raise InvalidRequest("The address has no state; paste the whole of it.")
    if not found.get("code"):
        raise InvalidRequest("There is no code in this address; paste the whole address that the browser shows.")
    return found["code"]


async def exchange_code(endpoint: OAuthEndpoint, pending: PendingSignIn, code: str, now: float) -> OAuthTokens:
    """Exchange a code for tokens.

    Raises:
        AuthError: The provider refuses it.
        Overloaded: It cannot be reached, or answers in an unknown form.
    """
    answer = await _asked(
        endpoint,
        {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": endpoint.redirect_url,
            "client_id": endpoint.client_id,
            "code_verifier": pending.verifier,
        },
    )
    if not endpoint.api_key_exchange:
        return _tokens(answer, now)
    identity = answer.get("id_token")
    if not isinstance(identity, str):
        raise Overloaded(f"{_host(endpoint)} gave no identity to exchange for an API key.")
    key = await _asked(
        endpoint,
        {
            "grant_type": _TOKEN_EXCHANGE,
            "client_id": endpoint.client_id,
            "requested_token": "openai-api-key",
            "subject_token": identity,
            "subject_token_type": _ID_TOKEN,
        },
    )
    return OAuthTokens(_tokens(key, now).access, None, None, _account(answer))


async def begin_device_sign_in(endpoint: OAuthEndpoint, now: float) -> DeviceSignIn:
    """Return a code that a person types on any device (RFC 8628).

    Raises:
        AuthError: The provider refuses the application.
        Overloaded: It cannot be reached, or answers in an unknown form.
    """
    answer = await _asked(endpoint, {"client_id": endpoint.client_id, "scope": endpoint.scope}, endpoint.device_url)
    page = answer.get("verification_uri") or answer.get("verification_url")
    code, device_code = answer.get("user_code"), answer.get("device_code")
    if not all(isinstance(each, str) and each.isprintable() for each in (page, code, device_code)):
        raise Overloaded(f"{_host(endpoint)} gave no code to sign in with.")
    if urlsplit(str(page)).scheme not in ("https", "http"):  # a person opens it
        raise Overloaded(f"{_host(endpoint)} gave no page to type the code on.")
    pause_s, life_s = (_seconds(answer.get(name), usual) for name, usual in (("interval", 5.0), ("expires_in", 900.0)))
    return DeviceSignIn(str(page), str(code), Secret(str(device_code)), pause_s, now + life_s)


async def device_tokens(endpoint: OAuthEndpoint, begun: DeviceSignIn, clock: Clock) -> OAuthTokens:
    """Return the tokens once the person has typed the code; cancelling it gives up.

    Raises:
        AuthError: They refused, or the code has ended.
    """
    pause_s = begun.interval_s
    form = {
        "grant_type": _DEVICE_CODE,
        "client_id": endpoint.client_id,
        "device_code": begun.device_code.reveal(),
    }
    while clock.time() < begun.ends:
        await clock.sleep(pause_s)
        try:
            return _tokens(await _asked(endpoint, form), clock.time())
        except AuthError as error:
            match error.details.get("error"):
                case "authorization_pending":
                    continue
                case "slow_down":
                    pause_s += SLOWER_S
                case _:
                    raise
        except Overloaded:
            pause_s += SLOWER_S  # the network may come back while the code is good
    raise AuthError("Nobody typed the code in time; begin again.")


def _seconds(value: Any, usual: float) -> float:
    given = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= DEVICE_LIMIT_S
    return float(value) if given else usual


async def refresh_tokens(endpoint: OAuthEndpoint, refresh: Secret, now: float) -> OAuthTokens:
    """Return new tokens for a refresh token; without a new refresh token, the old one stays in use.

    Raises:
        AuthError: The provider refuses it: one has to sign in again.
        Overloaded: It cannot be reached, or answers in an unknown form.
    """
    answer = await _asked(
        endpoint,
        {"grant_type": "refresh_token", "refresh_token": refresh.reveal(), "client_id": endpoint.client_id},
    )
    tokens = _tokens(answer, now)
    return tokens if tokens.refresh is not None else OAuthTokens(tokens.access, refresh, tokens.expires, tokens.account)


async def refresh_credential(endpoint: OAuthEndpoint | None, stored: StoredCredential, now: float) -> StoredCredential:
    """Return a stored sign-in with fresh tokens.

    Raises:
        AuthError: One has to sign in again.
        Overloaded: The provider cannot be reached.
    """
    again = f"Sign in again: homarus models auth login {stored.provider} --id {stored.id}"
    if endpoint is None or stored.refresh is None:
        raise AuthError(f"The sign-in {stored.id} of {stored.provider} cannot be renewed. {again}")
    try:
        tokens = await refresh_tokens(endpoint, stored.refresh, now)
    except AuthError as error:
        raise AuthError(f"{error.message} {again}", details={"provider": stored.provider}) from error
    return replace(stored, access=tokens.access, refresh=tokens.refresh, expires=tokens.expires)


async def _asked(endpoint: OAuthEndpoint, form: Mapping[str, str], url: str = "") -> dict[str, Any]:
    secret_values = [Secret(form[name]) for name in _SECRETS if name in form]
    if endpoint.client_secret is not None:
        form = {**form, "client_secret": endpoint.client_secret.reveal()}
        secret_values.append(endpoint.client_secret)
    await load_package("aiohttp")
    timeout = aiohttp.ClientTimeout(total=REQUEST_LIMIT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.post(url or endpoint.token_url, data=form, allow_redirects=False) as response,
        ):
            raw = await response.content.read(ANSWER_LIMIT_BYTES)
            status = response.status
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise Overloaded(f"{_host(endpoint)} cannot be reached: {str(error) or type(error).__name__}") from error
    try:
        answer = orjson.loads(raw)
    except ValueError:
        answer = None
    if status == 200 and isinstance(answer, dict):
        return answer
    said = ""
    details: dict[str, str] = {}
    if isinstance(answer, dict):
        details = {"error": str(answer.get("error") or "")}
        fault = answer.get("error_description") or answer.get("error") or ""
        said = clean_message(str(fault), secret_values)
    if status in {400, 401, 403}:
        raise AuthError(
            f"{_host(endpoint)} refuses the sign-in ({status}){f': {said}' if said else ''}.", details=details
        )
    raise Overloaded(f"{_host(endpoint)} answers {status}{f': {said}' if said else ''}.")


def _tokens(answer: Mapping[str, Any], now: float) -> OAuthTokens:
    access, refresh, life_s = answer.get("access_token"), answer.get("refresh_token"), answer.get("expires_in")
    if not isinstance(access, str) or not access.strip() or not access.isascii() or not access.isprintable():
        raise Overloaded("The sign-in gave no usable token.")
    given = isinstance(life_s, (int, float)) and not isinstance(life_s, bool) and life_s > 0
    return OAuthTokens(
        Secret(access),
        Secret(refresh) if isinstance(refresh, str) and refresh else None,
        now + (float(life_s or 0) if given else DEFAULT_LIFE_S),
        _account(answer),
    )


def _account(answer: Mapping[str, Any]) -> str | None:
    """Return the account of the tokens, from the answer; for display only."""
    for source in (answer.get("account"), _claims(answer.get("id_token"))):
        for found in source.values() if isinstance(source, Mapping) else ():
            if isinstance(found, str) and "@" in found and found.isprintable() and len(found) <= ACCOUNT_LIMIT:
                return found
    return None


def _claims(token: Any) -> Any:
    if not isinstance(token, str) or token.count(".") != 2:
        return None
    part = token.split(".")[1]
    try:
        return orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return None


def _host(endpoint: OAuthEndpoint) -> str:
    return urlsplit(endpoint.token_url).netloc
