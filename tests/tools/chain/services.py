"""The engine of the chain and its load: a real vLLM on processors, and vLLM's own load generator."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

MODEL = "tiny"
ENGINE_FORMAT = "float32"
"""Chosen: because a processor without AVX-512 computes BF16 four times more slowly."""
START_S = 400.0
"""Time within which a service has to answer: vLLM compiles on its first start."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is sent: Poisson arrivals at ``rps``, ``at_once`` in flight at most, lengths within 30 % of the mean."""

    requests: int = 160
    rps: float = 2.0
    input_tokens: int = 128
    output_tokens: int = 96
    seed: int = 1
    at_once: int | None = None


def _environment(folder: Path) -> dict[str, str]:
    """Nothing is fetched and nothing reported; caches stay in the folder."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return os.environ | {
        "HOME": str(home),
        "VLLM_CACHE_ROOT": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
    }


@contextlib.contextmanager
def engine(folder: Path, port: int, sequences: int = 16) -> Iterator[str]:
    """A vLLM that serves the tiny model, so many sequences at once; its address. Raises RuntimeError when it does not
    start."""
    options = {
        "served-model-name": MODEL,
        "load-format": "dummy",
        "host": "127.0.0.1",
        "port": port,
        "max-model-len": 2048,
        "max-num-seqs": sequences,
        "dtype": ENGINE_FORMAT,
    }
    command = [str(folder / "venv/bin/vllm"), "serve", str(folder / "model"), "--enforce-eager"]
    command += [part for key, value in options.items() for part in (f"--{key}", str(value))]
    log = folder / "vllm.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env=_environment(folder), cwd=folder, start_new_session=True
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(url, process, log)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=30)


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        with contextlib.suppress(requests.RequestException):
            if requests.get(f"{url}/health", timeout=1).ok:
                return
        if process.poll() is not None:
            break
        time.sleep(1.0)
    raise RuntimeError("vLLM did not start:\n" + log.read_text(errors="replace")[-3000:])


def send(folder: Path, url: str, load: Load) -> dict[str, Any]:
    """Send a load with vLLM's generator; its result, as it writes it."""
    options = {
        "backend": "openai",
        "base-url": url,
        "endpoint": "/v1/completions",
        "model": MODEL,
        "tokenizer": str(folder / "model"),
        "dataset-name": "random",
        "random-input-len": load.input_tokens,
        "random-output-len": load.output_tokens,
        "random-range-ratio": 0.3,
        "request-rate": load.rps,
        "num-prompts": load.requests,
        "seed": load.seed,
        "percentile-metrics": "ttft,tpot,itl,e2el",
        "metric-percentiles": "50,95,99",
        "result-dir": str(folder),
        "result-filename": "generator.json",
    }
    if load.at_once is not None:
        options["max-concurrency"] = load.at_once
    command = [str(folder / "venv/bin/vllm"), "bench", "serve", "--ignore-eos", "--save-result", "--save-detailed"]
    command += [part for key, value in options.items() for part in (f"--{key}", str(value))]
    done = subprocess.run(command, env=_environment(folder), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError("The load generator failed:\n" + (done.stdout + done.stderr)[-3000:])
    result: dict[str, Any] = json.loads((folder / "generator.json").read_text())
    return result
