import io

import numpy as np
import pandas as pd
import pytest

from sizing.base.errors import InvalidPoints
from sizing.evidence.point_file import read_points, write_points
from sizing.evidence.points import REQUIRED
from sizing.evidence.predict import COLUMNS, METRICS, NUMBERS, predict_points
from sizing.evidence.published import evidence_frame
from sizing.steps.roofline import roofline

HEADER = "engine,model,weight_precision,gpu,gpus,tp,isl,osl,mode,concurrency_or_batch,request_rate_rps"
GOOD = {
    "engine": "vllm",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weight_precision": "bf16",
    "gpu": "h100_sxm",
    "gpus": 1,
    "tp": 1,
    "isl": 1000,
    "osl": 200,
    "mode": "fixed_concurrency",
    "concurrency_or_batch": 16,
    "request_rate_rps": np.nan,
}


def row(**changes):
    return {**GOOD, **changes}


def predict(*rows):
    return predict_points(pd.DataFrame(list(rows)))


def test_columns_are_those_of_the_contract():
    names = []
    for metric in ("ttft_ms", "itl_ms", "e2e_ms", "output_tokens_per_s", "requests_per_s"):
        names += [metric, f"{metric}_low", f"{metric}_high"]
    assert list(predict(GOOD).columns) == [*names, "ttft_ms_p99", "itl_ms_p99", "source", "error"]
    assert list(COLUMNS) == list(predict(GOOD).columns)


def test_one_row_out_for_each_row_in_and_in_order():
    sizes = [64, 1, 8, 256, 2]
    found = predict(*(row(concurrency_or_batch=b) for b in sizes))
    assert len(found) == len(sizes)
    assert (np.argsort(found["output_tokens_per_s"]) == np.argsort(sizes)).all()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"engine": "foo"}, "Unknown engine"),
        ({"gpu": "H1000"}, "Unknown GPU"),
        ({"gpu": ""}, "gpu is empty"),
        ({"weight_precision": "fp3"}, "Unknown precision"),
        ({"kv_precision": "fp3"}, "Unknown KV-cache precision"),
        ({"model": "nobody/nothing"}, "Unknown model"),
        ({"mode": "closed"}, "Unknown mode"),
        ({"isl": "many"}, "isl is not a number"),
        ({"isl": np.nan}, "isl is empty"),
        ({"isl": -5}, "isl must be between"),
        ({"isl": float("inf")}, "isl must be between"),
        ({"osl": 0}, "osl must be between"),
        ({"gpus": 2.5}, "gpus must be a whole number"),
        ({"tp": 0}, "tp must be between"),
        ({"concurrency_or_batch": np.nan}, "concurrency_or_batch is empty"),
        ({"software_year": 26}, "software_year must be between"),
    ],
)
def test_a_bad_cell_fails_its_row_only(changes, reason):
    found = predict(GOOD, row(**changes), GOOD)
    assert found["error"].tolist()[::2] == ["", ""]
    assert reason in found["error"][1]
    assert found.loc[1, list(NUMBERS)].isna().all()
    assert found.loc[[0, 2], "ttft_ms"].notna().all()


def test_more_gpus_in_an_instance_than_stated_is_an_error_of_the_row():
    found = predict(row(gpus=1, tp=8), row(gpus=4, tp=2, pp=4), GOOD)
    assert found["error"].tolist() == [
        "tp 8 x pp 1 needs 8 GPUs, and gpus is 1",
        "tp 2 x pp 4 needs 8 GPUs, and gpus is 4",
        "",
    ]


def test_a_table_without_a_required_column_is_refused_in_one_line():
    with pytest.raises(InvalidPoints, match=r"^The table lacks the columns gpu, isl\.$"):
        predict_points(pd.DataFrame([GOOD]).drop(columns=["gpu", "isl"]))


@pytest.mark.parametrize("text", ["", "model,gpu\n1,2,3,4\n1,2\n1,2,3,4,5,6\n", "\xff\xfe\x00"])
def test_a_malformed_file_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "points.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidPoints) as refused:
        predict_points(read_points(path))
    assert "\n" not in str(refused.value)


LINE = "vllm,meta-llama/Llama-3.1-8B-Instruct,bf16,h100_sxm,1,1,1000,200,fixed_concurrency,16,"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "points.csv is empty: it needs a header line and one line per configuration."),
        (b" \n\n", "points.csv is empty: it needs a header line and one line per configuration."),
        (f"{HEADER},gpu\n{LINE},l4\n".encode(), "points.csv has the column gpu twice."),
        (
            f"{HEADER}\n{LINE},8\n{LINE}\n".encode(),
            "points.csv has 12 cells in line 2, and 11 columns: quote cells that hold the delimiter.",
        ),
        (
            f'{HEADER},notes\n{LINE},"open\n'.encode(),
            "points.csv is not a CSV table: unexpected end of data in line 2.",
        ),
        (
            f"{HEADER},notes\n{LINE},Gr\xf6\xdfe\n".encode("latin-1"),
            "points.csv is not a text file in UTF-8: save it as CSV (UTF-8).",
        ),
        (b"\x89PNG\r\n\x1a\n\0\0", "points.csv is not a text file in UTF-8: save it as CSV (UTF-8)."),
    ],
)
def test_a_faulty_file_is_refused_with_its_fault(tmp_path, content, sentence):
    path = tmp_path / "points.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidPoints) as refused:
        read_points(path)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    "content",
    [
        f"{HEADER}\n{LINE}\n".replace(",", ";").encode(),
        f"{HEADER}\n{LINE}\n".replace(",", "\t").encode(),
        b"\xef\xbb\xbf" + f"{HEADER}\n{LINE}\n".encode(),
        f"{HEADER}\r\n{LINE}\r\n".encode("utf-16"),
        f"{HEADER.upper()}\n\n{LINE}\n\n".encode(),
        f"{HEADER.replace(',', ' , ')}\n{LINE}\n".encode(),
        f'{HEADER},notes\n{LINE},"two\nlines, and a comma"\n'.encode(),
        f"{HEADER}\n{LINE},,,\n".encode(),
        f"{HEADER},\n{LINE},\n".encode(),
        f"{HEADER}\n{LINE}NaN\n".encode(),
        f"{HEADER}\n{LINE.rstrip(',')}\n".encode(),
    ],
)
def test_what_spreadsheets_write_is_read(tmp_path, content):
    path = tmp_path / "points.csv"
    path.write_bytes(content)
    found = predict_points(read_points(path))
    assert found["error"].tolist() == [""]
    assert found["itl_ms"].tolist() == predict(GOOD)["itl_ms"].tolist()


def test_a_file_is_read_and_written(tmp_path):
    asked, answered = tmp_path / "points.csv", tmp_path / "answers.csv"
    pd.DataFrame([GOOD, row(engine="foo")]).to_csv(asked, index=False)
    write_points(predict_points(read_points(asked)), answered)
    found = pd.read_csv(answered)
    assert list(found.columns) == list(COLUMNS)
    assert found["itl_ms"][0] == pytest.approx(predict(GOOD)["itl_ms"][0], rel=1e-5)
    assert "Unknown engine" in found["error"][1]


def test_an_empty_table_has_an_empty_answer():
    found = predict_points(pd.read_csv(io.StringIO(HEADER)))
    assert list(found.columns) == list(COLUMNS)
    assert found.empty


def test_optional_columns_may_be_missing():
    few = {k: GOOD[k] for k in ("model", "gpu", "gpus", "isl", "osl", "mode", "concurrency_or_batch")}
    assert predict_points(pd.DataFrame([few]))["error"].tolist() == [""]


def test_measured_columns_are_ignored():
    assert predict(row(ttft_ms_mean=1.0, notes="x")).equals(predict(GOOD))


def test_an_empty_precision_is_the_checkpoints_own():
    named = predict(row(model="meta-llama/Llama-3.1-405B-FP8", weight_precision="fp8", gpus=8, tp=8))
    silent = predict(row(model="meta-llama/Llama-3.1-405B-FP8", weight_precision="", gpus=8, tp=8))
    assert named[list(NUMBERS)].equals(silent[list(NUMBERS)])


def test_an_empty_tp_is_all_gpus_of_the_node():
    assert predict(row(gpus=4, tp=4)).equals(predict(row(gpus=4, tp=np.nan)))


def test_replicas_share_the_concurrency():
    one, two = predict(row(), row(gpus=2, dp=2, concurrency_or_batch=32)).to_dict("records")
    assert two["itl_ms"] == pytest.approx(one["itl_ms"])
    assert two["output_tokens_per_s"] == pytest.approx(2 * one["output_tokens_per_s"])


def test_a_table_of_bursts_is_answered_as_its_rows_one_by_one():
    burst = {"mode": "offline_max_throughput", "concurrency_or_batch": np.nan, "engine": "sglang"}
    rows = [
        row(**burst, requests=100, model="Qwen/Qwen3-32B", tp=2, gpus=2),
        row(**burst, requests=1000, isl=4000),
        row(**burst, requests=20, model="openai/gpt-oss-120b", weight_precision="", isl=500),
    ]
    together = predict(*rows)[[*METRICS]].to_numpy(float)
    alone = pd.concat([predict(one) for one in rows])[[*METRICS]].to_numpy(float)
    assert np.isfinite(together).any(axis=1).all()
    assert together == pytest.approx(alone, rel=1e-12, nan_ok=True)


def test_older_software_is_slower():
    new, old = predict(row(), row(software_year=2024.0)).to_dict("records")
    assert old["itl_ms"] > new["itl_ms"]


def test_every_answer_lies_in_its_interval():
    found = predict(*(row(mode=m, request_rate_rps=2) for m in ("static_batch", "fixed_concurrency", "fixed_rate")))
    for name in METRICS:
        assert (found[f"{name}_low"] <= found[name]).all()
        assert (found[name] <= found[f"{name}_high"]).all()


def test_open_loop_has_percentiles_and_serves_the_asked_rate():
    found = predict(row(mode="fixed_rate", request_rate_rps=2.0)).iloc[0]
    assert found["requests_per_s"] == pytest.approx(2.0)
    assert found["ttft_ms_p99"] > found["ttft_ms"]
    assert found["itl_ms_p99"] > found["itl_ms"]


def test_e2e_is_ttft_and_the_gaps():
    found = predict(GOOD).iloc[0]
    assert found["e2e_ms"] == pytest.approx(found["ttft_ms"] + 199 * found["itl_ms"], rel=5e-3)


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_the_library_is_answered_whole(every):
    frame = evidence_frame().iloc[::every].reset_index(drop=True)
    found = predict_points(frame, roofline())
    assert len(found) == len(frame)
    assert set(found["error"]) == {"", "isl is empty"}
    answered = found[found["error"] == ""]
    rates = answered[["output_tokens_per_s", "requests_per_s"]]
    steady = ~answered["source"].str.contains("largest stable rate")
    latencies = answered.loc[steady, ["ttft_ms", "e2e_ms"]]
    assert np.isfinite(rates).all().all()
    assert np.isfinite(latencies).all().all()
    assert (rates > 0).all().all()
    assert (latencies > 0).all().all()
    assert set(frame.loc[answered.index[~steady], "mode"]) == {"fixed_rate"}


def test_the_source_says_what_weight_the_tables_have():
    experts = {"model": "Qwen/Qwen3-30B-A3B", "gpu": "h100_sxm", "engine": "vllm", "weight_precision": "bf16"}
    closed, dense, open_loop, elsewhere = (
        predict(asked)
        for asked in (
            row(**experts),
            row(),
            row(**experts, mode="fixed_rate", request_rate_rps=1.0),
            row(**{**experts, "gpu": "mi300x"}),
        )
    )
    assert closed["source"][0].startswith("kernel+roofline: ")
    assert "aiconfigurator" in closed["source"][0]
    assert open_loop["source"][0] == closed["source"][0], "one source for closed and open loops"
    for alone in (dense, elsewhere):
        assert alone["source"][0].startswith("roofline (")
    assert closed["itl_ms"][0] != predict_points(pd.DataFrame([row(**experts)]), roofline())["itl_ms"][0]


class OneQuestionAtATime:
    """The roofline as any other source of step times: one model and one pair of lengths per call."""

    name = "asked in groups"

    def times(self, model, candidates, traffic, concurrency):
        return roofline().times(model, candidates, traffic, concurrency)


def test_any_source_can_be_asked_and_groups_answer_as_rows_do():
    modes = ("static_batch", "fixed_concurrency", "offline_max_throughput", "fixed_rate")
    rows = [
        row(mode=m, request_rate_rps=2, isl=isl, tp=tp, gpus=tp) for m in modes for isl in (500, 3000) for tp in (1, 4)
    ]
    frame = pd.DataFrame(
        [*rows, row(model="openai/gpt-oss-120b", weight_precision="mxfp4", ep=4, tp=4, gpus=4), row(gpus=4, tp=2, pp=2)]
    )
    whole, grouped = (predict_points(frame, source) for source in (roofline(), OneQuestionAtATime()))
    numbers = list(NUMBERS)
    np.testing.assert_allclose(whole[numbers].to_numpy(float), grouped[numbers].to_numpy(float), rtol=1e-9)


def test_a_table_without_its_columns_is_refused_at_its_header(tmp_path):
    path = tmp_path / "wrong.csv"
    path.write_text('a,b\n1,"not read\n')
    with pytest.raises(InvalidPoints, match="The table lacks the columns model, gpu"):
        read_points(path, REQUIRED)
    path.write_text(",".join(f"c{i}" for i in range(5000)) + "\n")
    with pytest.raises(InvalidPoints, match="5,000 columns"):
        read_points(path)
