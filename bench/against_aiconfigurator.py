"""The full plan over every GPU type against AIConfigurator's recommendation for one: same model, lengths, rate, limits.

NVIDIA AIConfigurator is installed into a virtual environment of its own under ``bench/out``, from
``requirements-bench.txt``, and called in a subprocess that times the call itself, imports left out. Ours is timed the
same way, each time with a rate never asked before. Its answer holds at mean latencies of a saturated batch, ours at the
asked percentile under the asked load.
"""

import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

from bench.table import Row
from sizing import Scenario, plan
from sizing.base.version import ENGINE_VERSION

NAME = "Against AIConfigurator: cli_recommend for one GPU type; ours plans every GPU type, engine and precision"

ROOT = Path(__file__).parents[1]
HOME = ROOT / "bench" / "out" / "aiconfigurator"
REQUIREMENTS = ROOT / "requirements-bench.txt"
RUNS, THEIR_RUNS, THEIR_LIMIT_S = 9, 3, 300.0
"""Runs of ours and of theirs (their median is taken), and the time after which a run of theirs is given up."""
ASKED_RATIO = 20.0
"""How many times as fast the issue asked for."""
SYSTEMS = ("h100_sxm", "h200_sxm")
BACKEND = "trtllm"
"""Its default engine; with ``auto`` it tries three."""

ISL, OSL, RPS, TTFT_MS, ITL_MS = 3500, 500, 31.0, 2000.0, 50.0
"""The question to both: lengths in tokens, peak in requests/s, limits in ms."""
MODEL, THEIR_MODEL = "meta-llama/Meta-Llama-3-70B", "meta-llama/Meta-Llama-3.1-70B"
"""The same architecture; theirs is the one whose configuration their package holds."""

OURS: dict[str, Any] = {
    "model": MODEL,
    "workload": {"input_tokens": ISL, "output_tokens": OSL, "peak_rps": RPS},
    "limits": {"ttft_ms": TTFT_MS, "itl_ms": ITL_MS, "percentile": 95},
}

THEIRS = """
import json, logging, sys, time
from importlib.metadata import version
logging.disable(logging.CRITICAL)
from aiconfigurator.cli.api import cli_recommend
request, samples = json.loads(sys.argv[1]), []
for run in range(request.pop("runs")):
    request["target_request_rate"] *= 1.03
    start = time.perf_counter()
    recommended = cli_recommend(**request)
    samples.append(time.perf_counter() - start)
best = min((t.iloc[0] for t in recommended.best_configs.values() if len(t)), key=lambda row: row["total_gpus_needed"])
answer = {"gpus": int(best["total_gpus_needed"]), "replicas": int(best["replicas_needed"])}
answer |= {"ttft_ms": float(best["ttft"]), "tpot_ms": float(best["tpot"])}
print(json.dumps({"samples": samples, "answer": answer, "version": version("aiconfigurator")}))
"""


def run() -> list[Row]:
    """Seconds of both, what each answered, and how many times longer theirs takes than ours."""
    ours, answer = _ours()
    rows = [Row(what=f"ours {ENGINE_VERSION}, every GPU type, p95 under load: {answer}", unit="s", samples=ours)]
    python = _installed()
    for system in SYSTEMS:
        theirs = _theirs(python, system)
        recommended = theirs["answer"]
        what = (
            f"aiconfigurator {theirs['version']}, {system}, {BACKEND}: {recommended['gpus']} GPUs, "
            f"{recommended['replicas']} replicas, mean TTFT {recommended['ttft_ms']:.0f} ms, "
            f"TPOT {recommended['tpot_ms']:.0f} ms"
        )
        rows.append(Row(what=what, unit="s", samples=tuple(theirs["samples"])))
        share = tuple(rows[0].median / s for s in theirs["samples"])
        rows.append(
            Row(
                what=f"ours over theirs, {system} (theirs takes {1 / sorted(share)[len(share) // 2]:,.0f} times "
                f"as long)",
                unit="",
                samples=share,
                limit=1.0 / ASKED_RATIO,
            )
        )
    return rows


def _ours() -> tuple[tuple[float, ...], str]:
    """Seconds per plan, and what the last one says."""
    base = Scenario.model_validate(OURS)
    plan(base)
    samples = []
    for step in range(1, RUNS + 1):
        changed = base.model_copy(
            update={"workload": base.workload.model_copy(update={"peak_rps": RPS * (1.0 + 0.01 * step)})}
        )
        start = time.perf_counter()
        answer = plan(changed)
        samples.append(time.perf_counter() - start)
    if answer.deployment is None:
        raise RuntimeError(f"the benchmark's scenario has no deployment: {answer.answer}")
    d = answer.deployment
    return tuple(samples), f"{d.gpus} x {d.gpu}, {d.engine}, {d.weight_precision}, TP{d.tp}"


def _theirs(python: Path, system: str) -> dict[str, Any]:
    """Seconds per call, the answer and the version, measured in a process of its own."""
    request = {
        "model_path": THEIR_MODEL,
        "system": system,
        "backend": BACKEND,
        "isl": ISL,
        "osl": OSL,
        "ttft": TTFT_MS,
        "tpot": ITL_MS,
        "target_request_rate": RPS,
        "strict_sla": True,
        "runs": THEIR_RUNS,
    }
    # Nothing of ours on its path: it brings its own aiconfigurator-core.
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(python), "-c", THEIRS, json.dumps(request)],
        cwd=HOME,
        env=environment,
        capture_output=True,
        text=True,
        timeout=THEIR_LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"aiconfigurator failed for {system}: {done.stderr.strip().splitlines()[-1]}")
    reply: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return reply


def _installed() -> Path:
    """The Python of the environment that holds AIConfigurator; made on the first call and for other requirements."""
    python = HOME / "bin" / "python"
    done = HOME / "installed.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not done.is_file() or done.read_text(encoding="utf-8") != wanted:
        print(f"installing {REQUIREMENTS.name} into {HOME.relative_to(ROOT)}", file=sys.stderr)
        venv.create(HOME, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "-r", str(REQUIREMENTS)], check=True)
        done.write_text(wanted, encoding="utf-8")
    return python
