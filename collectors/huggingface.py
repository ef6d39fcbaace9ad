"""Fetching a model's config.json from a Hugging Face compatible hub."""

import json
import re

import requests

from collectors.errors import HubUnreachable, InvalidModelId, ModelNotAccessible, ModelNotFound, NotAConfig

DEFAULT_ENDPOINT = "https://huggingface.co"
MAX_BYTES = 1 << 20
"""Chosen: a config.json has some kilobytes."""
CHUNK_BYTES = 1 << 16
"""Read at a time. Chosen: a file that is too large is noticed 64 kB after its limit."""

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
        raise NotAConfig(
            f"{base} did not answer with JSON for {model_id}: paste or upload config.json instead."
        ) from None
    return body


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
