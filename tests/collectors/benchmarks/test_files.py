import io
import zipfile

import pytest

from collectors.benchmarks import BenchmarkFileError, curves, read_benchmarks
from collectors.benchmarks import files as files_module


def packed(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def loaded(samples, *names):
    return [(name, (samples / name).read_bytes()) for name in names]


def test_sweep_is_one_curve_in_the_order_of_load(samples):
    names = [f"vllm/bench_rate{rate}.json" for rate in (10, 2, 8, 12, 6, 4)]
    imported = read_benchmarks(loaded(samples, *names))
    (curve,) = curves(imported.points)
    assert [point.request_rate_rps for point in curve] == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    assert imported.format == "vLLM bench serve"


def test_other_lengths_are_another_curve(samples):
    imported = read_benchmarks(loaded(samples, "vllm/bench_rate4.json", "vllm/bench_rate5_detail.json"))
    assert [len(curve) for curve in curves(imported.points)] == [1, 1]


def test_aiperf_directory_is_one_point(samples):
    folder = "aiperf_rate5"
    names = [
        f"{folder}/{name}"
        for name in (
            "profile_export.jsonl",
            "profile_export_aiperf.csv",
            "profile_export_aiperf.json",
            "server_metrics_export.json",
        )
    ]
    imported = read_benchmarks(loaded(samples, *names))
    (point,) = imported.points
    assert point.file == f"{folder}/profile_export_aiperf.json"
    assert (point.request_rate_rps, point.requests_cut_off) == (5.0, 0)
    assert imported.errors == ()
    assert any(f"Left aside, no results: {folder}/server_metrics_export.json." in note for note in imported.notes)


def test_guidellm_json_and_csv_are_one_point(samples):
    imported = read_benchmarks(loaded(samples, "guidellm/guidellm_rate4.csv", "guidellm/guidellm_rate4.json"))
    assert [point.file for point in imported.points] == ["guidellm/guidellm_rate4.json"]


def test_llmperf_summary_takes_the_distribution_of_tpot_from_the_responses(samples):
    names = ("made_up/m_550_150_summary.json", "made_up/m_550_150_individual_responses.json")
    (point,) = read_benchmarks(loaded(samples, *names)).points
    assert point.concurrency == 16.0
    assert point.ttft_ms.at(50) == 400.0, "the summary's own"
    assert point.tpot_ms.at(99) is not None


def test_inference_perf_summary_gives_way_to_its_stages(samples):
    names = [f"inference-perf/{name}_lifecycle_metrics.json" for name in ("summary", "stage_3", "stage_0", "stage_6")]
    imported = read_benchmarks(loaded(samples, *names))
    assert [point.request_rate_rps for point in imported.points] == [1.0, 127.75, 254.49]
    assert imported.notes[-1] == f"{names[0]} mixes the stages beside it and is left out."


def test_zip_is_unpacked_and_its_names_keep_their_folders(samples):
    data = packed(
        {
            "run/bench_rate2.json": (samples / "vllm/bench_rate2.json").read_bytes(),
            "run/broken.json": b"{",
            "run/log.txt": b"hello",
            "__MACOSX/run/._bench_rate2.json": b"\x00",
            "run/.hidden": b"",
        }
    )
    imported = read_benchmarks([("sweep.zip", data)])
    assert [point.file for point in imported.points] == ["sweep.zip/run/bench_rate2.json"]
    assert [error.file for error in imported.errors] == ["sweep.zip/run/broken.json"]
    assert imported.notes[-1] == "Left aside, no results: sweep.zip/run/log.txt."


def test_notes_of_several_formats_name_theirs(samples):
    imported = read_benchmarks(loaded(samples, "vllm/bench_rate2.json", "sglang_bench_serving.jsonl"))
    assert all(note.startswith(("vLLM bench serve: ", "SGLang bench_serving: ")) for note in imported.notes)


def test_only_strangers_are_errors():
    imported = read_benchmarks([("a.txt", b"hello"), ("b.json", b"{")])
    assert imported.points == ()
    assert [error.file for error in imported.errors] == ["b.json", "a.txt"]


def test_no_file():
    with pytest.raises(BenchmarkFileError):
        read_benchmarks([])


def test_broken_zip_is_an_error():
    imported = read_benchmarks([("a.zip", b"PK\x03\x04 not really")])
    assert imported.errors[0].message.startswith("a.zip is not a readable zip archive")


def test_damaged_member_is_an_error_and_leaves_the_others(samples):
    good = (samples / "vllm/bench_rate2.json").read_bytes()
    data = packed({"a.json": good, "b.json": good.replace(b"tiny", b"huge")})
    middle = data.index(b"a.json") + 60
    damaged = data[:middle] + bytes(255 - byte for byte in data[middle : middle + 20]) + data[middle + 20 :]
    imported = read_benchmarks([("x.zip", damaged)])
    assert [point.file for point in imported.points] == ["x.zip/b.json"]
    assert imported.errors[0].file == "x.zip/a.json"


def test_limits_of_an_archive(samples, monkeypatch):
    good = (samples / "vllm/bench_rate2.json").read_bytes()
    monkeypatch.setattr(files_module, "MAX_FILES", 2)
    imported = read_benchmarks([("x.zip", packed({f"{i}.json": good for i in range(3)}))])
    assert imported.errors[0].message == "x.zip holds more than 2 files."
    monkeypatch.setattr(files_module, "MAX_UNPACKED_BYTES", len(good) + 10)
    imported = read_benchmarks([("x.zip", packed({f"{i}.json": good for i in range(2)}))])
    assert len(imported.points) == 1
    assert "unpacks to more than" in imported.errors[0].message


def test_the_same_run_dropped_twice_counts_once(samples):
    (name, data), *others = loaded(samples, "vllm/bench_rate4.json", "vllm/bench_rate6.json")
    imported = read_benchmarks([(name, data), ("copy.json", data), *others])
    assert [point.request_rate_rps for point in imported.points] == [4.0, 6.0]
    assert imported.notes[-1] == "One run repeats another in every number and counts once: copy.json row 1."


def test_two_runs_at_one_load_are_both_kept():
    rows = [f"9,9,fixed_concurrency,4,{itl}" for itl in (14.1, 14.2)]
    imported = read_benchmarks([("a.csv", "\n".join(["isl,osl,mode,concurrency,tpot_ms_mean", *rows]).encode())])
    assert [point.tpot_ms.mean for point in imported.points] == [14.1, 14.2]


def test_a_workbook_is_told_from_a_zip_of_results():
    book = packed({"[Content_Types].xml": b"<Types/>", "xl/worksheets/sheet1.xml": b"<worksheet/>"})
    (error,) = read_benchmarks([("results.xlsx", book)]).errors
    assert error.message == "results.xlsx is an Office document: save the table as CSV (UTF-8)."
