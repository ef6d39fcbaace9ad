"""Fetching a model's config.json from a Hugging Face compatible hub."""

import http.client
import json
import re
import time
from urllib.parse import urljoin, urlsplit

import requests
from urllib3.exceptions import HTTPError

from collectors.errors import HubUnreachable, InvalidModelId, ModelNotAccessible, ModelNotFound, NotAConfig
from collectors.prometheus.connections import Responding, new_session

DEFAULT_ENDPOINT = "https://huggingface.co"
MAX_BYTES = 1 << 20
"""Chosen: a config.json has some kilobytes."""
CHUNK_BYTES = 1 << 16
"""Read at a time. Chosen: a file that is too large is noticed 64 kB after its limit."""
MAX_REDIRECTS = 4
"""Chosen: to a name in other letters, to a renamed model, to where its files lie, and one more."""

_MODEL_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


def fetch_config(
    model_id: str,
    *,
    endpoint: str = DEFAULT_ENDPOINT,
    token: str | None = None,
    timeout_s: float = 10,
    session: requests.Session | None = None,
) -> bytes:
    """The bytes of ``config.json`` of ``model_id``, at most 1 MB, checked to be JSON.

    ``endpoint`` is the hub's address (HF_ENDPOINT), ``timeout_s`` seconds for all of it, redirects included. ``token``
    goes to the hub itself, and nowhere that it redirects to. Raises a HubError, whose message says what to do.
    """
    if not _MODEL_ID.fullmatch(model_id) or ".." in model_id:
        raise InvalidModelId(f"“{model_id[:80]}” is not a model id: write organisation/model, as in Qwen/Qwen3-8B.")
    base = endpoint.rstrip("/")
    asking = session or new_session(allow_link_local=True, use_environment_proxy=True)
    try:
        body = _fetched(asking, base, model_id, token, time.monotonic() + timeout_s)
    except (requests.RequestException, HTTPError, http.client.HTTPException, OSError, ValueError, AssertionError):
        # The last two: what the libraries below make of lengths and addresses that are none.
        raise HubUnreachable(f"Cannot reach {base}: paste or upload config.json instead, or set HF_ENDPOINT.") from None
    finally:
        if session is None:
            asking.close()
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        raise NotAConfig(
            f"{base} did not answer with JSON for {model_id}: paste or upload config.json instead."
        ) from None
    return body


def _fetched(session: requests.Session, base: str, model_id: str, token: str | None, deadline_s: float) -> bytes:
    """The body of the answer, by way of its redirects. Raises HubError, and what the libraries below raise."""
    url, host = f"{base}/{model_id}/resolve/main/config.json", urlsplit(base)[:2]
    for _ in range(MAX_REDIRECTS + 1):
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise requests.Timeout
        headers = {"Authorization": f"Bearer {token}"} if token and urlsplit(url)[:2] == host else {}
        options = {"headers": headers, "timeout": left_s, "stream": True, "allow_redirects": False}
        with Responding(session, "GET", url, **options) as response:
            if not response.is_redirect:
                _check_status(response.status_code, model_id, base)
                return _read(response)
            url = urljoin(url, response.headers["Location"])
    raise requests.TooManyRedirects


def _check_status(status: int, model_id: str, base: str) -> None:
    """Raise the HubError that fits an answer other than 200."""
    if status == 200:
        return
    if status in (401, 403):
        raise ModelNotAccessible(
            f"{model_id} is gated or private: accept its licence on {base}/{model_id} and set a token in HF_TOKEN."
        )
    if status == 404:
        raise ModelNotFound(f"{base} has no config.json for {model_id}: check the id.")
    raise NotAConfig(f"{base} answered with status {status}: try again, or paste or upload config.json instead.")


def _read(response: requests.Response) -> bytes:
    """The body in chunks, stopping as soon as it is over 1 MB."""
    body = bytearray()
    for chunk in response.iter_content(CHUNK_BYTES):
        body += chunk
        if len(body) > MAX_BYTES:
            raise NotAConfig("config.json is larger than 1 MB: paste or upload the right one, which has a few KB.")
    return bytes(body)
