"""Result files for the Benchmarks page, and what the page says of them."""

from pathlib import Path

import pandas as pd
from streamlit.testing.v1 import AppTest

from ui.benchmarks.measured import OF_SCENARIO

SAMPLES = Path(__file__).parents[1] / "collectors" / "benchmarks" / "samples"
VLLM = sorted((SAMPLES / "vllm").glob("bench_rate*.json"))
PAGE = "pages/benchmarks.py"


def drop(page: AppTest, *files: Path | tuple[str, bytes]) -> AppTest:
    """Drop files, given by path or as (name, content)."""
    given = [(f.name, f.read_bytes()) if isinstance(f, Path) else f for f in files]
    return page.file_uploader(key="benchmark_files").set_value([(*f, "application/octet-stream") for f in given]).run()


def drop_vllm(page: AppTest) -> AppTest:
    """The vLLM sweep, whose unknown model is said to be the scenario's, on GPUs that carry its rates."""
    drop(page, *VLLM)
    page.selectbox(key="measured_gpu").set_value("b200_sxm")
    return page.selectbox(key="measured_model").set_value(OF_SCENARIO).run()


def metric(page: AppTest, label: str) -> str:
    return next(m.value for m in page.metric if m.label == label)


def table(page: AppTest, column: str) -> pd.DataFrame:
    return next(d.value for d in page.dataframe if column in d.value.columns)


def text(page: AppTest) -> str:
    return "\n".join(e.value for e in [*page.markdown, *page.caption, *page.info, *page.success, *page.warning])


OWN = "model,engine,weight_precision,gpu,gpus,tp,isl,osl,mode,concurrency,ttft_ms_mean,tpot_ms_mean"


def own(*loads: float, factor: float = 1.0, **changes: str) -> tuple[str, bytes]:
    """An own CSV of a plausible closed loop on 4 x H100, its times times ``factor``."""
    said = {
        "model": "meta-llama/Llama-3.3-70B-Instruct",
        "engine": "vllm",
        "weight_precision": "fp8",
        "gpu": "H100 SXM",
        "gpus": "4",
        "tp": "4",
    } | changes
    system = ",".join(said.values())
    times = [(c, (60 + 3 * c) * factor, (14 + 0.12 * c) * factor) for c in loads]
    rows = [f"{system},1000,300,fixed_concurrency,{c},{ttft},{tpot}" for c, ttft, tpot in times]
    return "own.csv", "\n".join([OWN, *rows]).encode()
