"""Traces in every format, and every way in which they can be wrong: a sentence per row."""

import datetime
import gzip
import json
import resource
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sizing.base.errors import InvalidTrace
from sizing.replay.offered_load import requests_of
from sizing.scenario import trace as module
from sizing.scenario import trace_file
from sizing.scenario.trace import read_trace

HEADER = "timestamp,input_tokens,output_tokens\n"


def written(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def problems(path: Path, **kwargs: float) -> tuple[str, ...]:
    with pytest.raises(InvalidTrace) as caught:
        read_trace(path, **kwargs)
    return caught.value.problems


def test_own_format_counts_from_the_first_request(tmp_path: Path) -> None:
    text = "timestamp,input_tokens,output_tokens,cached_tokens\n100,10,5,0\n101.5,20,6,8\n"
    found = read_trace(written(tmp_path, text))
    assert found.time_s.tolist() == [0.0, 1.5]
    assert found.tokens.tolist() == [[10, 20], [5, 6], [0, 8]]
    assert found.notes == ()
    chunk = next(requests_of(found))
    assert chunk[:6].tolist() == [[0, 1.5], [0, 1.5], [10, 20], [5, 6], [0, 8], [-1, -1]]


def test_azure_dates_are_read(tmp_path: Path) -> None:
    rows = "2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n"
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + rows
    assert read_trace(written(tmp_path, text)).time_s.tolist() == pytest.approx([0.0, 0.052])


def test_mooncake_milliseconds_and_gzip_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mooncake.csv.gz"
    with gzip.open(path, "wt") as out:
        out.write(
            "timestamp_ms,input_length,output_length,prefix_tokens_seen_before\n0,6758,500,0\n3000,7322,490,512\n"
        )
    found = read_trace(path)
    assert found.time_s.tolist() == [0.0, 3.0]
    assert found.tokens[2].tolist() == [0, 512]


def test_parquet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    pd.DataFrame({"timestamp": [1.0, 2.0], "input_tokens": [5, 6], "output_tokens": [7, 8]}).to_parquet(path)
    assert read_trace(path).tokens.tolist() == [[5, 6], [7, 8], [0, 0]]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("-1,10,5", "timestamp is negative: -1"),
        ("nan,10,5", "timestamp has no value"),
        ("soon,10,5", "timestamp is not a time: “soon”"),
        ("1,,5", "input_tokens has no value"),
        ("1,inf,5", "input_tokens is not a number: “inf”"),
        ("1,ten,5", "input_tokens is not a number: “ten”"),
        ("1,10,0", "output_tokens must be at least 1, not 0"),
        ("1,-3,5", "input_tokens must be at least 1, not -3"),
        ("1,1000000,5", "1,000,005 tokens (prompt and output) are more than the 131,072 that fit"),
    ],
)
def test_a_faulty_row_is_named(tmp_path: Path, row: str, said: str) -> None:
    path = written(tmp_path, f"timestamp,input_tokens,output_tokens\n0,10,5\n{row}\n2,10,5\n")
    assert problems(path, max_tokens=131_072) == (f"trace.csv, row 3: {said}.",)


def test_many_faults_are_counted_not_listed(tmp_path: Path) -> None:
    path = written(tmp_path, "timestamp,input_tokens,output_tokens\n" + "0,0,5\n" * 1000)
    found = problems(path)
    assert len(found) == 6
    assert found[-1] == "trace.csv: 995 more problems of this kind."


def test_disorder_and_gaps_are_mended_and_mentioned(tmp_path: Path) -> None:
    rows = [f"{t},10,5" for t in [5, 3, *range(10, 300), 2000]]
    found = read_trace(written(tmp_path, "timestamp,input_tokens,output_tokens\n" + "\n".join(rows)))
    assert np.all(np.diff(found.time_s) >= 0)
    assert found.notes == (
        "trace.csv was not in order of time (1 steps back): sorted.",
        "trace.csv has no request for 1,701 s from 296 s on.",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "trace.csv is empty."),
        ("a,b\n1,2\n", "trace.csv lacks timestamp, input_tokens, output_tokens (found: a, b)."),
        ("timestamp,input_tokens,output_tokens\n", "trace.csv holds no requests."),
    ],
)
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert problems(written(tmp_path, text)) == (said,)


def test_a_missing_or_broken_file_is_refused(tmp_path: Path) -> None:
    assert "There is no file" in problems(tmp_path / "none.csv")[0]
    for name in ("trace.csv.gz", "trace.csv.bz2", "trace.csv.xz", "trace.zip"):
        assert f"{name} is no {Path(name).suffix} file" in problems(written(tmp_path, "not packed", name))[0]
    assert "is no Parquet file, or a damaged one" in problems(written(tmp_path, "not parquet", "trace.parquet"))[0]


def test_a_packed_file_that_ends_too_early_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    packed = gzip.compress((HEADER + "0,1,1\n" * 1000).encode())
    path.write_bytes(packed[:-12])
    assert problems(path) == ("trace.csv.gz is no .gz file, a damaged one, or one with a password: pack it again.",)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("0,1,1\n\n0,1,1,1\n", "line 4 has 4 cells, and the first 3"),
        ('0,"1,1\n', "a line has more cells than the first, or a quote has no end"),
    ],
)
def test_an_uneven_table_is_told_by_its_line(tmp_path: Path, rows: str, said: str) -> None:
    assert problems(written(tmp_path, HEADER + rows)) == (f"trace.csv cannot be read as a table: {said}.",)


@pytest.mark.parametrize("day", ["2262-04-12", "9999-12-31"])
def test_dates_that_nanoseconds_do_not_reach_are_read(tmp_path: Path, day: str) -> None:
    path = written(tmp_path, f"{HEADER}{day} 10:00:00,1,1\n{day} 10:00:01.5,1,1\n")
    assert read_trace(path).time_s.tolist() == pytest.approx([0.0, 1.5], abs=1e-4)


@pytest.mark.parametrize("day", ["0001-01-01", "1677-01-01", "1969-12-31"])
def test_dates_before_1970_are_refused(tmp_path: Path, day: str) -> None:
    assert problems(written(tmp_path, f"{HEADER}{day},1,1\n")) == (f"trace.csv, row 2: timestamp is negative: {day}.",)


def test_dates_of_a_parquet_file_may_be_of_any_year(tmp_path: Path) -> None:
    path = tmp_path / "late.parquet"
    late = [datetime.datetime(9999, 1, 1), datetime.datetime(9999, 1, 1, 0, 0, 2)]  # noqa: DTZ001
    pq.write_table(pa.table({"timestamp": late, "input_tokens": [1, 1], "output_tokens": [1, 1]}), path)
    assert read_trace(path).time_s.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("column", ["timestamp", "input_tokens", "output_tokens"])
def test_text_of_a_parquet_file_that_is_none_is_damage(tmp_path: Path, column: str) -> None:
    path = tmp_path / "text.parquet"
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    good = {"timestamp": [1], "input_tokens": [1], "output_tokens": [1]}
    pq.write_table(pa.table({**good, "another": broken}), path)
    assert len(read_trace(path)) == 1
    pq.write_table(pa.table({**good, column: broken}), path)
    assert problems(path) == ("text.parquet is no Parquet file, or a damaged one: write it again.",)


@pytest.mark.parametrize("column", ["note", "input_tokens"])
def test_a_text_that_all_rows_share_is_not_written_out(tmp_path: Path, column: str) -> None:
    """Some 20 kB that would be 60 GB in memory."""
    path, rows = tmp_path / "bomb.parquet", 60_000
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["1" * (1 << 20)]))
    plain = {name: pa.array(range(1, rows + 1)) for name in ("timestamp", "input_tokens", "output_tokens")}
    pq.write_table(pa.table({**plain, column: shared}), path, use_dictionary=[column], store_schema=False)
    before = pa.default_memory_pool().max_memory()
    tracemalloc.start()
    if column == "note":
        assert len(read_trace(path)) == rows
    else:
        assert problems(path) == ("bomb.parquet has a cell longer than 16,384 bytes: this is no table of requests.",)
    assert pa.default_memory_pool().max_memory() < before + (100 << 20)
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("row", ["1,1e308,1e308", "1,1e308,1", "1,1,1e300"])
def test_lengths_whose_sum_no_number_holds_are_too_many(tmp_path: Path, row: str) -> None:
    (said,) = problems(written(tmp_path, f"{HEADER}{row}\n"))
    assert said.endswith("e+300 tokens (prompt and output) are more than the 10,000,000 that fit.")


def test_numbers_beyond_any_float_are_no_times(tmp_path: Path) -> None:
    (said,) = problems(written(tmp_path, f"{HEADER}{'9' * 400},1,1\n"))
    assert said == f"trace.csv, row 2: timestamp is not a time: “{'9' * 37}...”."


def test_what_a_terminal_obeys_is_shown_as_an_escape(tmp_path: Path) -> None:
    assert problems(written(tmp_path, f"{HEADER}1,\x1b[31m,1\n")) == (
        "trace.csv, row 2: input_tokens is not a number: “\\x1b[31m”.",
    )
    (said,) = problems(written(tmp_path, "timestamp,\u202einput_tokens,output_tokens\n1,1,1\n"))
    assert said.endswith("(found: timestamp, \\u202einput_tokens, output_tokens).")


def test_too_many_rows_are_refused_before_they_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 2_500)
    monkeypatch.setattr(trace_file, "ROWS_AT_ONCE", 1_000)
    path = written(tmp_path, "timestamp,input_tokens,output_tokens\n" + "0,1,5\n" * 4000)
    assert problems(path) == ("trace.csv has more than 2,500 rows: cut it into shorter traces.",)


def test_times_in_another_unit_are_noticed(tmp_path: Path) -> None:
    """An hour in nanoseconds read as seconds would be a hundred thousand years."""
    path = tmp_path / "ns.csv"
    path.write_text("timestamp,input_tokens,output_tokens\n0,10,10\n3600000000000,10,10\n")
    with pytest.raises(InvalidTrace, match="covers more than 10 years: give timestamps in seconds"):
        read_trace(path)


@pytest.mark.parametrize(
    "timestamp",
    [
        pd.date_range("2024-01-01", periods=3, freq="100ms"),
        pd.date_range("2024-01-01", periods=3, freq="100ms").as_unit("us"),
        pd.date_range("2024-01-01", periods=3, freq="100ms", tz="Asia/Tokyo"),
        pd.to_timedelta([0.0, 0.1, 0.2], unit="s"),
    ],
    ids=["ns", "us", "zone", "since the start"],
)
def test_dates_of_a_parquet_file_are_dates_and_no_numbers(tmp_path: Path, timestamp: pd.Index) -> None:
    path = tmp_path / "dates.parquet"
    pd.DataFrame({"timestamp": timestamp, "input_tokens": 5, "output_tokens": 7}).to_parquet(path)
    assert read_trace(path).time_s.tolist() == pytest.approx([0.0, 0.1, 0.2])


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("input_tokens", [True, True], "row 2: input_tokens is not a number: “True”"),
        ("output_tokens", pd.date_range("2024-01-01", periods=2), "row 2: output_tokens is not a number"),
        ("timestamp", [True, False], "row 2: timestamp is not a time: “True”"),
        ("timestamp", [[1.0], [2.0]], "row 2: timestamp is not a time: “[1.]”"),
        ("input_tokens", [[1], [2]], "row 2: input_tokens is not a number: “[1]”"),
        ("timestamp", pd.Categorical(["x", "y"]), "row 2: timestamp is not a time: “x”"),
        ("input_tokens", [b"x", b"y"], "row 2: input_tokens is not a number: “b'x'”"),
    ],
)
def test_parquet_columns_of_another_type_are_named(tmp_path: Path, column: str, values: object, said: str) -> None:
    path = tmp_path / "types.parquet"
    good = {"timestamp": [0.0, 1.0], "input_tokens": [1, 2], "output_tokens": [1, 2]}
    pd.DataFrame({**good, column: values}).to_parquet(path)
    assert said in problems(path)[0]


def test_a_zip_holds_one_table(tmp_path: Path) -> None:
    path = tmp_path / "trace.zip"
    for names in (["a.csv"], ["a.csv", "b.csv"], []):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, HEADER + "0,1,2\n3,4,5\n")
        if len(names) == 1:
            assert len(read_trace(path)) == 2
        else:
            assert f"trace.zip holds {len(names)} files" in problems(path)[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ((HEADER + "0,1,1\n").encode("utf-16"), "is no text in UTF-8, as it holds zero bytes"),
        (
            HEADER.encode() + "é,1,1\n".encode("latin-1"),
            "is no text in UTF-8: save it as CSV in UTF-8, as JSON Lines, or as Parquet.",
        ),
        (HEADER.encode() + b"0," + b"9" * 60_000 + b",1\n", "row 2: longer than 16,384 bytes, so this is no table"),
        (b"PK\x03\x04" + bytes(100), "is no text in UTF-8"),
    ],
)
def test_what_is_no_table_of_text_is_refused_with_one_sentence(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(data)
    (sentence,) = problems(path)
    assert said in sentence


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(HEADER + "0,1,1\n1,1,1\n", encoding="utf-8-sig")
    assert len(read_trace(path)) == 2


def test_a_file_without_rows_takes_no_memory_whatever_its_size(tmp_path: Path) -> None:
    plain, packed = tmp_path / "sparse.csv", tmp_path / "one_line.csv.gz"
    with plain.open("wb") as file:
        file.truncate(5 << 30)
    with gzip.open(packed, "wb", compresslevel=1) as file:
        file.write(HEADER.encode())
        for _ in range(20):
            file.write(b"9" * 10_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for path in (plain, packed):
        assert len(problems(path)) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


MOONCAKE = (
    '{"timestamp": 0, "input_length": 1000, "output_length": 50, "hash_ids": [0, 1]}\n'
    '{"timestamp": 2500, "input_length": 1500, "output_length": 60, "hash_ids": [0, 1, 2]}\n'
    '{"timestamp": 4000, "input_length": 600, "output_length": 70, "hash_ids": [0, 9]}\n'
)


def test_mooncake_as_published_is_read_with_what_could_be_reused(tmp_path: Path) -> None:
    """Of 3,100 prompt tokens, three blocks of 512 stand at the beginning of an earlier prompt."""
    found = read_trace(written(tmp_path, MOONCAKE, "mooncake.jsonl"))
    assert found.time_s.tolist() == [0.0, 2.5, 4.0]
    assert found.tokens.tolist() == [[1000, 1500, 600], [50, 60, 70], [0, 0, 0]]
    (note,) = found.notes
    assert note.startswith(
        "mooncake.jsonl: 50 % of the prompt tokens were in an earlier prompt (hash_ids, blocks of 512)."
    )


def test_bailian_counts_in_seconds_and_blocks_of_16(tmp_path: Path) -> None:
    rows = (
        f'{{"chat_id": {k}, "timestamp": {k}.5, "input_length": 32, "output_length": 4, "hash_ids": [7, {k}]}}\n'
        for k in range(3)
    )
    found = read_trace(written(tmp_path, "".join(rows), "qwen.jsonl"))
    assert found.time_s.tolist() == [0.0, 1.0, 2.0]
    assert "33 % of the prompt tokens were in an earlier prompt (hash_ids, blocks of 16)" in found.notes[0]


def test_blocks_that_contradict_a_length_are_said(tmp_path: Path) -> None:
    text = MOONCAKE.replace('"hash_ids": [0, 9]', '"hash_ids": [0]')
    assert read_trace(written(tmp_path, text)).notes[0] == (
        "trace.csv: 1 of 3 requests have more or fewer blocks than their prompts in blocks of 512."
    )


def test_burstgpt_is_read_without_the_requests_that_failed(tmp_path: Path) -> None:
    text = (
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,0,1087,API log\n118,GPT-4,417,276,693,API log\n"
    )
    found = read_trace(written(tmp_path, text))
    assert found.time_s.tolist() == [0.0, 113.0]
    assert found.tokens[0].tolist() == [472, 417]
    assert found.notes == ("trace.csv: left out 1 request without an answer (0 output tokens).",)


def test_splitwise_is_read(tmp_path: Path) -> None:
    text = "request_id,arrival_timestamp,batch_size,prompt_size,token_size\n0,0.5,1,300,20\n1,1.25,1,400,30\n"
    found = read_trace(written(tmp_path, text))
    assert (found.time_s.tolist(), found.tokens[:2].tolist()) == ([0.0, 0.75], [[300, 400], [20, 30]])


@pytest.mark.parametrize("line", ["[1]", "{", "7", '{"a": ' * 10_000])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    (said,) = problems(written(tmp_path, MOONCAKE + line + "\n"))
    assert said == "trace.csv, row 4 is no JSON object, as the first is: give one a line."


def test_objects_are_read_in_chunks(tmp_path: Path) -> None:
    rows = (f'{{"timestamp": {k}, "input_tokens": 5, "output_tokens": 2}}\n' for k in range(4_500))
    assert len(read_trace(written(tmp_path, "".join(rows)))) == 4_500


def spelled(*times: object, names: str = "timestamp,input_tokens,output_tokens", between: str = ",") -> str:
    """A table of requests of 100 and 20 tokens at these times."""
    rows = [names, *(f"{time},100,20" for time in times)]
    return "\n".join(rows).replace(",", between) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        spelled(1_700_000_000, 1_700_000_004),
        spelled(1_700_000_000_000, 1_700_000_004_000),
        spelled(1_700_000_000_000_000, 1_700_000_004_000_000),
        spelled(1_700_000_000_000_000_000, 1_700_000_004_000_000_000),
        spelled(1_700_000_000_000, 1_700_000_004_000, names="timestamp_ms,input_length,output_length"),
        spelled(0, 4000, names="arrival_time_ms,prompt_len,output_len"),
        spelled("2025-01-01T00:00:00Z", "2025-01-01T00:00:04Z", names="startTime,prompt_tokens,completion_tokens"),
        spelled('"2025-01-01 00:00:00,500"', '"2025-01-01 00:00:04,500"'),
        spelled(0, 4, between=";"),
        spelled(0, 4, between="\t"),
        spelled(0, 4, names="arrival_time,num_prompt_tokens,num_output_tokens"),
        spelled(0, 4, names="startTime,promptTokens,completionTokens"),
        spelled("2025-01-01T00:00:00Z", "2025-01-01T00:00:04Z", names="created_at,tokens_prompt,tokens_completion"),
        spelled(0, 4, names="request_created_at,prompt_tokens,completion_tokens"),
        spelled(0, 4, names="start_time,attributes.llm.token_count.prompt,attributes.llm.token_count.completion"),
        spelled(0, 4, names="start_time,gen_ai.usage.input_tokens,gen_ai.usage.output_tokens"),
    ],
)
def test_units_names_and_separators_of_the_field_are_understood(tmp_path: Path, text: str) -> None:
    found = read_trace(written(tmp_path, text))
    assert found.time_s.tolist() == pytest.approx([0.0, 4.0], abs=1e-6)
    assert found.tokens.tolist() == [[100, 100], [20, 20], [0, 0]]


def test_answers_of_no_tokens_are_left_out_of_published_traces(tmp_path: Path) -> None:
    rows = [{"chat_id": k, "timestamp": k, "input_length": 40, "output_length": k} for k in range(4)]
    found = read_trace(written(tmp_path, "\n".join(map(json.dumps, rows)), "bailian.jsonl"))
    assert len(found) == 3
    assert found.notes == ("bailian.jsonl: left out 1 request without an answer (0 output tokens).",)
