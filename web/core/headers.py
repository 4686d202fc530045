"""Headers that limit what a page of the dashboard can do, even with injected content."""

from __future__ import annotations

import secrets

NONCE_BYTES = 18


def new_nonce() -> str:
    """Return a nonce for the style elements of one page (the editor makes one)."""
    return secrets.token_urlsafe(NONCE_BYTES)


def page_headers(nonce: str, frames: str = "") -> dict[str, str]:
    """Return the headers of one HTML page.

    Scripts come from our own files only, and pages connect to their own origin only. Pictures may be `data:`:
    the editor draws the underline of an error with one.

    Args:
        frames: The origin whose pages and pictures may be shown, besides our own pictures and what leads there from
            our own origin; empty for none.
    """
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": f"'self' 'nonce-{nonce}'",
        "font-src": "'self'",
        "img-src": f"'self' data: {frames}".strip(),
        "media-src": "'self'",
        "frame-src": f"'self' {frames}" if frames else "'none'",
        "connect-src": "'self'",
        "manifest-src": "'self'",
        "worker-src": "'self'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(self)",
        "Cache-Control": "no-store",
        "Vary": "Cookie, Accept, Accept-Encoding, Accept-Language",
    }
