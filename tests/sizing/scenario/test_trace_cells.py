"""Traces as spreadsheets, exporters and people write them: the same two requests in every spelling."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from sizing.base.errors import InvalidTrace
from sizing.scenario.trace import read_trace

HEAD = "timestamp,input_tokens,output_tokens\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("quoted.csv", '"timestamp","input_tokens","output_tokens"\n"0","1200","30"\n"1.5","12300","31"\n'),
        ("bom.csv", f"\ufeff{HEAD}0,1200,30\n1.5,12300,31\n\n\n"),
        ("blank_cells.csv", f"{HEAD}0,1200,30\n1.5,12300,31\n,,\n,,\n"),
        ("windows.csv", f"{HEAD}0,1200,30\n1.5,12300,31\n".replace("\n", "\r\n")),
        ("thousands.csv", f'{HEAD}0,"1,200",30\n1.5,"12,300",31\n'),
        ("spaces.csv", f"{HEAD}0,1 200,30\n1.5,12\u202f300,31\n"),
        ("apostrophe.csv", f"{HEAD}0,1'200,30\n1.5,12'300,31\n"),
        ("decimal_comma.csv", "timestamp;input_tokens;output_tokens\n0,0;1200;30\n1,5;12300;31\n"),
        ("dots.csv", "timestamp;input_tokens;output_tokens\n0;1.200;30\n1,5;12.300;31\n"),
        ("semicolons_in_english.csv", "timestamp;input_tokens;output_tokens\n0.0;1200.0;30\n1.5;12300.0;31\n"),
        ("tabs.tsv", "timestamp\tinput_tokens\toutput_tokens\n0\t1200\t30\n1,5\t12300\t31\n"),
        ("bars.csv", "timestamp|input_tokens|output_tokens\n0|1200|30\n1.5|12300|31\n"),
        ("excel.csv", "sep=;\ntimestamp;input_tokens;output_tokens\n0;1200;30\n1,5;12300;31\n"),
        ("comment.csv", f"# exported by a gateway\n{HEAD}0,1200,30\n1.5,12300,31\n"),
        ("german_dates.csv", f"{HEAD}10.05.2024 00:00:00,1200,30\n10.05.2024 00:00:01.5,12300,31\n"),
        ("iso.csv", f"{HEAD}2024-05-10T00:00:00Z,1200,30\n2024-05-10T00:00:01.500+00:00,12300,31\n"),
        ("epoch_ms.csv", f"{HEAD}1700000000000,1200,30\n1700000001500,12300,31\n"),
        ("epoch_us.csv", f"{HEAD}1700000000000000,1200,30\n1700000001500000,12300,31\n"),
        ("mooncake.jsonl", '{"timestamp": "0", "input_length": "1,200", "output_length": 30}\n'
                           '{"timestamp": 1500, "input_length": "12,300", "output_length": 31}\n\n'),
        ("strings.jsonl", '{"time": "0", "prompt_tokens": "1200", "completion_tokens": "30"}\n'
                          '{"time": "1.5", "prompt_tokens": "12300", "completion_tokens": "31"}\n'),
        ("burstgpt.csv", "Time stamp, Request Tokens ,Response_tokens\n0,1200,30\n1.5,12300,31\n"),
        ("azure.csv", "Timestamp (ms),Context Tokens,Generated Tokens\n0,1200,30\n1500,12300,31\n"),
        ("splitwise.csv", "Arrival Timestamp,Prompt Size,Token Size\n0,1200,30\n1.5,12300,31\n"),
        ("camel.csv", "arrivalTime,promptTokens,completionTokens\n0,1200,30\n1.5,12300,31\n"),
        ("short.csv", "ts,tokens_in,tokens_out\n0,1200,30\n1.5,12300,31\n"),
        ("counts.csv", "request_time,n_prompt_tokens,n_output_tokens\n0,1200,30\n1.5,12300,31\n"),
        ("isl.csv", "arrived,ISL,OSL\n0,1200,30\n1.5,12300,31\n"),
    ],
)  # fmt: skip
def test_the_same_requests_in_every_spelling(tmp_path: Path, name: str, text: str) -> None:
    trace = read_trace(write(tmp_path, name, text))
    assert trace.time_s.tolist() == pytest.approx([0.0, 1.5], abs=1e-4)
    assert trace.tokens.tolist() == [[1200, 12300], [30, 31], [0, 0]]


def test_packed_tables_are_read_as_plain_ones(tmp_path: Path) -> None:
    text = b"timestamp;input_tokens;output_tokens\n0,0;1.200;30\n1,5;12.300;31\n"
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("t.csv", text)
    (tmp_path / "t.zip").write_bytes(packed.getvalue())
    for name in ("t.csv.gz", "t.zip"):
        assert read_trace(tmp_path / name).tokens[0].tolist() == [1200, 12300]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HEAD}05/10/2024 00:00:00,1200,30\n", "timestamp is not a time: “05/10/2024 00:00:00”"),
        (f'{HEAD}0,"1,20",30\n', "input_tokens is not a number: “1,20”"),
        ("date,tokens_in,tokens_out\n2024-05-10,1200,30\n", "lacks timestamp"),
        (f"{HEAD}0,,\n", "input_tokens has no value"),
    ],
)
def test_what_may_mean_two_things_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidTrace, match=said):
        read_trace(write(tmp_path, "t.csv", text))
