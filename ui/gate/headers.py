"""What every answer of the dashboard carries: headers that tell a browser what may be done with it, safe cookies."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path

import streamlit

Header = tuple[bytes, bytes]


def _own_scripts() -> str:
    """The scripts that stand within Streamlit's page, by what they are: any other within a page is not run."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_bytes()
    digests = (hashlib.sha256(text).digest() for text in re.findall(rb"<script>(.*?)</script>", page, re.DOTALL))
    return " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)


_POLICY: Mapping[str, str] = {
    "default-src": "'self'",
    # Streamlit's components come as text that its page makes modules of.
    "script-src": f"'self' 'wasm-unsafe-eval' blob: {_own_scripts()}".strip(),
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "media-src": "'self' data: blob:",
    "frame-src": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "object-src": "'none'",
}
"""Content-Security-Policy: nothing is loaded from, sent to, or framed by another site."""

SECURITY: tuple[Header, ...] = (
    (b"content-security-policy", "; ".join(f"{key} {value}" for key, value in _POLICY.items()).encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),  # a frozen link's token stands in its address
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)

_LOGIN = b"_streamlit_user"
"""How the names of Streamlit's cookies of a login begin."""


def secured(headers: Iterable[Header], *, secure: bool, login_s: int) -> list[Header]:
    """The headers of an answer with ours; cookies for TLS alone where the server is reached by it, and those of a login
    no longer than ``login_s`` seconds."""
    ours = {name for name, _ in SECURITY}
    kept = [
        (name, _cookie(value, secure, login_s) if name.lower() == b"set-cookie" else value)
        for name, value in headers
        if name.lower() not in ours
    ]
    return [*kept, *SECURITY]


def _cookie(value: bytes, secure: bool, login_s: int) -> bytes:
    name, *attributes = (part.strip() for part in value.split(b";"))
    if name.startswith(_LOGIN):
        attributes = [_shortened(one, login_s) for one in attributes]
    if secure and b"secure" not in {one.lower() for one in attributes}:
        attributes.append(b"Secure")
    return b"; ".join([name, *attributes])


def _shortened(attribute: bytes, login_s: int) -> bytes:
    key, _, seconds = attribute.partition(b"=")
    longer = key.lower() == b"max-age" and seconds.isdigit() and int(seconds) > login_s
    return b"Max-Age=%d" % login_s if longer else attribute
