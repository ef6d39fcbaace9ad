"""Starts of engines: the table in and out, and how near 213 printed ones are."""

import csv

import pandas as pd
import pytest

from calibration.memory_accuracy import RUNS, compared, records
from sizing.evidence.memory_runs import ANSWERS, memory_runs
from tests.commands import run

RUN = {"model": "meta-llama/Llama-3.1-8B-Instruct", "gpu": "h100_sxm", "engine": "vllm", "version": "0.19.0"}
SETTINGS = {"util": "0.95", "max_model_len": "8192", "max_num_batched_tokens": "8192", "max_num_seqs": "1024"}


def answers(*rows):
    return memory_runs(pd.DataFrame([dict(row) for row in rows], dtype=object)).to_dict("records")


def test_a_start_by_hand():
    """vLLM 0.19 on H100: 14.99 GiB of weights, 58.11 GiB for 476,000 tokens, 58.11 contexts (start-up log)."""
    (one,) = answers(RUN | SETTINGS)
    assert one["weights_gib"] == pytest.approx(14.99, rel=0.01)
    assert one["kv_pool_gib"] == pytest.approx(58.11, rel=0.01)
    assert one["kv_tokens"] == pytest.approx(476_000, rel=0.01)
    assert one["max_concurrency"] == pytest.approx(58.11, rel=0.01)
    assert (one["starts"], one["error"]) == ("true", "")


@pytest.mark.parametrize(
    ("quantity", "median_pct", "p90_pct"),
    [("weights", 3.0, 8.0), ("KV pool", 5.0, 15.0), ("tokens", 8.0, 25.0), ("concurrency", 8.0, 25.0)],
)
def test_printed_starts_are_met(quantity, median_pct, p90_pct):
    found = next(one for one in records() if (one["family"], one["quantity"]) == ("all", quantity))
    assert found["configurations"] > 80
    assert found["median_pct"] <= median_pct
    assert found["p90_pct"] <= p90_pct


def test_what_did_not_start_is_never_called_to_start():
    known = compared().dropna(subset=["started", "starts"])
    assert len(known) > 180
    assert (known["started"] == known["starts"]).mean() >= 0.98
    assert not ((known["starts"] == 1.0) & (known["started"] == 0.0)).any()


def test_a_run_with_its_own_settings_differs_from_the_defaults():
    plain, eager, told = answers(RUN, RUN | {"eager": "True"}, RUN | {"util": "0.5"})
    assert plain["kv_pool_gib"] == pytest.approx(eager["kv_pool_gib"])  # 0.19 takes no graphs off
    assert told["kv_pool_gib"] < plain["kv_pool_gib"]
    today, without = answers(RUN | {"version": ""}, RUN | {"version": "", "eager": "True"})
    assert without["graphs_gib"] == 0.0
    assert without["kv_pool_gib"] - today["kv_pool_gib"] == pytest.approx(today["graphs_gib"])


def test_the_memory_that_a_run_saw_counts():
    less, more = answers(RUN | {"total_gib": "70"}, RUN)
    assert more["kv_pool_gib"] - less["kv_pool_gib"] == pytest.approx(0.9 * (79.19 - 70.0), rel=1e-3)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"model": ""}, "model is empty"),
        ({"model": "no such model"}, "Unknown model"),
        ({"gpu": "abacus"}, "Unknown GPU"),
        ({"util": "much"}, "util is not a number"),
        ({"util": "1.5"}, "util must be between"),
        ({"tp": "2.5"}, "tp must be a whole number"),
        ({"fmt": "int17"}, "Unknown precision"),
        ({"tp": "3"}, "does not divide the 32 attention heads"),
        ({"pp": "64"}, "more than the 32 layers"),
        ({"tp": "2", "gpus": "3"}, "gpus is 3, which TP2 x PP1 x DP1 does not divide"),
    ],
)
def test_a_bad_cell_fails_its_row_alone(changed, problem):
    bad, good = answers(RUN | changed, RUN)
    assert problem in bad["error"]
    assert "\n" not in bad["error"]
    assert good["error"] == ""


def test_the_command_answers_every_row_in_order(tmp_path):
    out = tmp_path / "out.csv"
    done = run("sizing", "memory", RUNS, "--out", out)
    assert done.returncode == 0, done.stderr
    with out.open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert list(written[0]) == list(ANSWERS)
    with RUNS.open(encoding="utf-8") as file:
        asked = list(csv.DictReader(file))
    assert len(written) == len(asked)
    answered = [row for row in written if not row["error"]]
    assert len(answered) / len(written) >= 0.995
    assert {row["starts"] for row in answered} == {"true", "false"}
    assert all(float(row["kv_tokens"]).is_integer() for row in answered)


def test_a_table_without_models_is_refused_in_one_line(tmp_path):
    table = tmp_path / "runs.csv"
    table.write_text("gpu,tp\nh100_sxm,1\n", encoding="utf-8")
    done = run("sizing", "memory", table, "--out", tmp_path / "out.csv")
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == ["The table lacks the column model."]


LARGE = {"model": "deepseek-ai/DeepSeek-V3.1", "gpu": "h200_sxm", "engine": "vllm", "max_model_len": "32768"}


def test_ranks_share_experts_with_and_without_expert_parallelism():
    """vLLM splits experts over TP x DP (fused_moe/config.py): 671 GB on 8 GPUs, not whole on each rank."""
    alone, spread, replicas = answers(
        LARGE | {"tp": "1", "dp": "8"}, LARGE | {"tp": "1", "dp": "8", "ep": "8"}, LARGE | {"tp": "8"}
    )
    assert alone["weights_gib"] == pytest.approx(spread["weights_gib"], rel=1e-6)
    assert 85 < alone["weights_gib"] < 110  # attention is whole on each rank, experts are not
    assert replicas["weights_gib"] < alone["weights_gib"]


def test_each_rank_prints_what_it_holds():
    one, two = answers(RUN, RUN | {"dp": "2"})
    assert one == two  # replicas of a model without experts
    dp4, dp8 = answers(LARGE | {"tp": "2", "dp": "4", "ep": "8"}, LARGE | {"tp": "1", "dp": "8", "ep": "8"})
    assert dp8["kv_tokens"] < dp4["kv_tokens"] < 2 * dp8["kv_tokens"]  # latent keys lie whole on each GPU


def test_ranks_of_sglang_lie_within_its_tensor_parallelism():
    inside, named, replicas = answers(
        LARGE | {"engine": "sglang", "tp": "8", "dp": "8", "gpus": "8"},
        LARGE | {"engine": "sglang", "tp": "8", "dp": "8"},
        LARGE | {"engine": "sglang", "tp": "8", "dp": "2", "gpus": "16"},
    )
    (whole,) = answers(LARGE | {"engine": "sglang", "tp": "8"})
    assert inside == named
    assert inside["weights_gib"] > whole["weights_gib"]
    assert replicas == whole


def test_gpus_without_a_split_are_one_tensor_parallel_instance():
    (stated,) = answers(LARGE | {"tp": "8"})
    (open_,) = answers(LARGE | {"gpus": "8"})
    assert stated == open_


@pytest.mark.parametrize("name", ["no", "ngram", "ngram5", "suffix-8", "False", "none"])
def test_drafts_without_a_model_take_no_memory(name):
    plain, drafted = answers(RUN, RUN | {"spec": name})
    assert plain == drafted


def test_a_version_is_that_of_the_engine_that_ran():
    nim1, trtllm, nim20, vllm17 = answers(
        RUN | {"engine": "nim", "version": "1.8.3"},
        RUN | {"engine": "trtllm", "version": ""},
        RUN | {"engine": "nim", "version": "2.0.1"},
        RUN | {"version": "0.17.1"},
    )
    assert nim1 == trtllm
    assert nim20 == vllm17


def test_a_date_alone_is_no_older_than_the_model():
    recent = {"model": "Qwen/Qwen3.5-9B", "gpu": "h200_sxm", "max_model_len": "8192"}  # of February 2026
    early, then = answers(recent | {"version": "2024"}, recent | {"version": "2026-02"})
    assert early == then


def test_windows_were_kept_whole_until_they_had_a_pool():
    """Gemma 3 27B, 62 layers of 16 heads of 128: 32,768 tokens are 15.5 GiB (vLLM pull request 17996)."""
    run = {"model": "google/gemma-3-27b-it", "gpu": "h100_sxm", "max_model_len": "32768"}
    before, after = answers(run | {"version": "0.9.1"}, run | {"version": "0.11.0"})
    each = before["kv_pool_gib"] / before["max_concurrency"]
    assert each == pytest.approx(62 * 2 * 16 * 128 * 2 * 32_768 / 2**30, rel=0.01)
    assert after["max_concurrency"] > 1.5 * before["max_concurrency"]


def test_v0_ran_256_sequences_by_default():
    first, told = answers(RUN | {"version": "0.6.3"}, RUN | {"version": "0.6.3", "max_num_seqs": "256"})
    assert first == told


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ({"util": "90%"}, {"util": "0.9"}),
        ({"util": "90"}, {"util": "0.9"}),
        ({"max_model_len": "32k"}, {"max_model_len": "32000"}),
        ({"max_model_len": "32K"}, {"max_model_len": "32768"}),
        ({"max_model_len": "128K"}, {"max_model_len": "131072"}),
        ({"max_num_batched_tokens": "1024K"}, {"max_num_batched_tokens": "1048576"}),
        ({"max_model_len": "-1"}, {"max_model_len": ""}),
        ({"max_num_seqs": "1,024"}, {"max_num_seqs": "1024"}),
        ({"total_gib": "79.19 GiB"}, {"total_gib": "79.19"}),
        ({"fmt": "auto"}, {"fmt": ""}),
        ({"ep": "false"}, {"ep": "1"}),
        ({"eager": "1.0"}, {"eager": "True"}),
        ({"eager": "--enforce-eager"}, {"eager": "True"}),
        ({"version": "vllm/vllm-openai:v0.11.0"}, {"version": "0.11.0"}),
        ({"version": "vLLM 0.9.1"}, {"version": "0.9.1"}),
        ({"spec": "deepseek_mtp"}, {"spec": "mtp"}),
        (
            {"model": "/hub/models--meta-llama--Llama-3.1-8B-Instruct/snapshots/0e9e39f249a1"},
            {"model": "meta-llama/Llama-3.1-8B-Instruct"},
        ),
        ({"model": "C:\\models\\Llama-3.1-8B-Instruct"}, {"model": "meta-llama/Llama-3.1-8B-Instruct"}),
    ],
)
def test_settings_are_read_as_logs_and_command_lines_write_them(written, plain):
    one, other = answers(RUN | written, RUN | plain)
    assert one["error"] == ""
    assert one == other


def test_sglang_starts_with_less_than_a_context():
    """It lets in what fits (managers/tp_worker.py); vLLM refuses to start."""
    small = {"model": "Qwen/Qwen3-8B", "gpu": "rtx_4090", "max_model_len": "40960", "util": "0.85"}
    vllm, sglang = answers(small | {"engine": "vllm"}, small | {"engine": "sglang"})
    assert (vllm["starts"], sglang["starts"]) == ("false", "true")
    assert sglang["max_concurrency"] < 1.0
