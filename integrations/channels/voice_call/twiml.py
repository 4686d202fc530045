"""TwiML: what Twilio is told to do with a call. https://www.twilio.com/docs/voice/twiml"""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr


def connect(stream_url: str, token: str) -> str:
    """Return the answer that connects a call with a stream."""
    parameter = f'<Parameter name="token" value={quoteattr(token)}/>'
    return _response(f"<Connect><Stream url={quoteattr(stream_url)}>{parameter}</Stream></Connect>")


def say_twice(text: str, language: str) -> str:
    """Return the answer that says something, once more after a pause, and hangs up."""
    said = f"<Say language={quoteattr(language)}>{escape(text)}</Say>"
    return _response(f'{said}<Pause length="1"/>{said}<Hangup/>')


def reject() -> str:
    """Return the answer that takes no call, which costs nothing."""
    return _response("<Reject/>")


def dial(number: str) -> str:
    """Return the instruction that puts a call through to another number."""
    return _response(f"<Dial>{escape(number)}</Dial>")


def _response(verbs: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{verbs}</Response>'
