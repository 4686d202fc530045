"""Reads a server's refusal in any of the formats in use, and words it for people. Pure."""

from __future__ import annotations

import re

import orjson

from hub.models.classify import classify
from hub.models.contract import AuthError, BillingError, ContextOverflow, ModelTimeout, Overloaded, RateLimited
from integrations.memory.notes.index.embeddings.provider import Fault

_TOO_LARGE = re.compile(
    r"max_tokens_per_request|max \d+ tokens per request"
    r"|too (?:many|large).{0,20}(?:inputs?|batch|texts?|requests?|list)"
    r"|too many tokens|input.{0,40}too (?:large|long)|physical batch size|batch size.{0,40}(?:exceed|too|limit|maximum)"
    r"|at most \d+ (?:requests|inputs|texts)|maximum (?:length of the list|allowed batch|batch size|input)"
    r"|exceeds?.{0,40}(?:context|length|maximum|limit of \d|tokens)"
    r"|larger than the max|must have less than \d+ tokens",
    re.IGNORECASE | re.DOTALL,
)
_NO_MODEL = re.compile(
    r"model.{0,80}(?:not found|does not exist|not supported|is unknown|invalid|not available|no longer available"
    r"|not exist)|(?:unknown|no such|invalid|unsupported) model|is not found for api version|model_not_found",
    re.IGNORECASE | re.DOTALL,
)
_NO_EMBEDDINGS = re.compile(r"(?:not|n't) support embeddings|pooling type 'none'", re.IGNORECASE)
_NO_KEY = re.compile(r"api[ _]key not valid|api_key_invalid|api key (?:is )?(?:invalid|expired|missing)", re.IGNORECASE)


def words_of(raw: bytes) -> tuple[str, str]:
    """Return code and message of an error answer, in any of the shapes in use."""
    text = raw.decode("utf-8", "replace")
    try:
        body = orjson.loads(raw)
    except ValueError:
        return "", text[:2_000]
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return "", text[:2_000]
    error = body.get("error", body)
    if isinstance(error, str):
        return "", error
    if not isinstance(error, dict):
        return "", text[:2_000]
    codes = [str(error[name]) for name in ("code", "type", "status") if error.get(name)]
    message = next((error[name] for name in ("message", "detail") if isinstance(error.get(name), str)), text[:2_000])
    return " ".join(codes), message


def fault_of(status: int, text: str) -> Fault:
    """Return the fault of a status with these words; servers report too long texts with various statuses."""
    if status not in {401, 402, 403, 404, 429} and (status == 413 or _TOO_LARGE.search(text)):
        return Fault.TOO_LARGE
    if (status in {400, 404} and _NO_MODEL.search(text)) or _NO_EMBEDDINGS.search(text):
        return Fault.MODEL
    if _NO_KEY.search(text):
        return Fault.KEY
    kind = classify(status, text)
    for error, fault in (
        (AuthError, Fault.KEY),
        (BillingError, Fault.CREDIT),
        (RateLimited, Fault.LIMITED),
        (ContextOverflow, Fault.TOO_LARGE),
        (ModelTimeout, Fault.BUSY),
        (Overloaded, Fault.BUSY),
    ):
        if issubclass(kind, error):
            return fault
    return Fault.REFUSED


def sentence(fault: Fault, model: str, place: str, status: int, said: str) -> str:
    """Return what happened and what to do, to follow the name of the provider."""
    tail = f" ({status}: {said})" if said else f" ({status})"
    match fault:
        case Fault.KEY:
            return f"refuses the key; check memory.embeddings.api_key, or the provider's key in models.providers{tail}"
        case Fault.CREDIT:
            return f"has no credit left for this key; see its billing page{tail}"
        case Fault.MODEL:
            return f"makes no vectors with the model {model}; set memory.embeddings.model{tail}"
        case Fault.LIMITED:
            return f"takes no more requests for now{tail}"
        case Fault.TOO_LARGE:
            return f"finds the request too large{tail}"
        case Fault.BUSY:
            return f"at {place} is failing{tail}"
        case _:
            return f"at {place} refuses the request for {model}{tail}"
