"""Fetching a model's config.json from a Hugging Face compatible hub.

HubError
├── InvalidModelId    the id is not of the form organisation/model
├── HubUnreachable    no connection, no DNS, or too slow
├── ModelNotFound     the hub has no such model, or no config.json in it
├── AccessDenied      gated or private: a token and the accepted licence are needed
└── UnusableAnswer    the hub answered with something that is not a config.json
"""

from __future__ import annotations

import json
import re

import requests

DEFAULT_ENDPOINT = "https://huggingface.co"
MAX_BYTES = 1 << 20
CHUNK_BYTES = 1 << 16

_MODEL_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


class HubError(Exception):
    """Root of what can go wrong between us and the hub; the message is one sentence for the user."""


class InvalidModelId(HubError):
    """The id cannot be a model on the hub."""


class HubUnreachable(HubError):
    """The hub cannot be reached from here."""


class ModelNotFound(HubError):
    """The hub does not hold this model or its config.json."""


class AccessDenied(HubError):
    """The model is gated or private."""


class UnusableAnswer(HubError):
    """The hub answered, but not with a config.json."""


def fetch_config(
    model_id: str,
    *,
    endpoint: str = DEFAULT_ENDPOINT,
    token: str | None = None,
    timeout_s: float = 10,
    session: requests.Session | None = None,
) -> bytes:
    """The bytes of ``config.json`` of ``model_id``, at most 1 MB, checked to be JSON.

    ``endpoint`` is the hub's address (HF_ENDPOINT), ``timeout_s`` seconds to connect and between two packets.
    Raises a HubError, whose message says what to do.
    """
    if not _MODEL_ID.fullmatch(model_id) or ".." in model_id:
        raise InvalidModelId(f"“{model_id[:80]}” is not a model id: write organisation/model, as in Qwen/Qwen3-8B.")
    base = endpoint.rstrip("/")
    url = f"{base}/{model_id}/resolve/main/config.json"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with (session or requests).get(url, headers=headers, timeout=timeout_s, stream=True) as response:
            _check_status(response.status_code, model_id, base)
            body = _read(response)
    except requests.RequestException:
        raise HubUnreachable(f"Cannot reach {base}: paste or upload config.json instead, or set HF_ENDPOINT.") from None
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        raise UnusableAnswer(
            f"{base} did not answer with JSON for {model_id}: paste or upload config.json instead."
        ) from None
    return body


def _check_status(status: int, model_id: str, base: str) -> None:
    """Raise the HubError that fits an answer other than 200."""
    if status == 200:
        return
    if status in (401, 403):
        raise AccessDenied(
            f"{model_id} is gated or private: accept its licence on {base}/{model_id} and set a token in HF_TOKEN."
        )
    if status == 404:
        raise ModelNotFound(f"{base} has no config.json for {model_id}: check the id.")
    raise UnusableAnswer(f"{base} answered with status {status}: try again, or paste or upload config.json instead.")


def _read(response: requests.Response) -> bytes:
    """The body in chunks, stopping as soon as it is over 1 MB."""
    body = bytearray()
    for chunk in response.iter_content(CHUNK_BYTES):
        body += chunk
        if len(body) > MAX_BYTES:
            raise UnusableAnswer("config.json is larger than 1 MB: that is not a config.json")
    return bytes(body)
