import re
from functools import cache
from pathlib import Path

import pytest

from calibration.crossvalidate import LATER
from sizing.catalog.files import DATA_DIR, read_rows
from sizing.methodology import MethodologyChapter, content, sections
from sizing.methodology import accuracy as accuracy_chapter
from sizing.methodology import numbers as numbers_chapter
from sizing.methodology import reader as reader_chapter
from sizing.methodology.__main__ import documents, main
from sizing.methodology.catalogue import LOADERS
from sizing.methodology.chapters import reference
from sizing.methodology.docstrings import document
from sizing.methodology.formulas import FLOW, modules
from sizing.methodology.glossary import fields, glossary
from sizing.methodology.inputs import keys
from sizing.methodology.markdown import entry, heading_anchor, plain, rich
from sizing.methodology.numbers import module_constants
from sizing.scenario.schema import Scenario


@cache
def by_slug() -> dict[str, MethodologyChapter]:
    return {section.slug: section for section in sections()}


def cells(section: MethodologyChapter) -> set[str]:
    return {str(cell) for table in section.tables for row in table.rows for cell in row}


def test_chapters_are_built_once() -> None:
    assert sections() is sections()


def test_every_chapter_has_content_and_rows_fit_their_columns() -> None:
    for section in sections():
        assert section.prose or section.intro or section.entries or section.tables, section.slug
        for table in section.tables:
            assert table.rows, f"{table.title} is empty"
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title


def test_slugs_and_titles_are_unique() -> None:
    assert len(by_slug()) == len(sections()) == len({section.title for section in sections()})


@pytest.mark.parametrize("words", ["Sequence bytes", "Poisson peak", "Expert coverage", "Prompt queue", "Knee"])
def test_the_formulas_of_the_engine_are_there(words: str) -> None:
    (found,) = [e for e in by_slug()["formulas"].entries if e.title == words]
    assert found.formula
    assert found.where.startswith("sizing.")


def test_formulas_come_in_the_order_of_the_engine() -> None:
    order = list(dict.fromkeys(e.where.split(".")[1] for e in by_slug()["formulas"].entries))
    rooms = ("scenario", "deployments", "steps", "queueing", "search", "prices")
    assert [room for room in order if room in rooms] == list(rooms)


def test_the_flow_names_modules_that_exist() -> None:
    names = {module.name for module in modules()}
    packages = {name.rpartition(".")[0] for name in names}
    assert {f"sizing.{name}" for name in FLOW} <= names | packages


def test_every_scenario_key_is_listed_with_its_default() -> None:
    rows = {key.path: key for key in keys(Scenario)}
    assert rows["limits.percentile"].default == "95"
    assert rows["limits.percentile"].accepts == "at least 50, at most 99.9"
    assert rows["workload.peak_rps"].default == "none"
    assert rows["model"].default == "required"
    assert rows["deployment.gpus"].default == "all"
    assert rows["deployment.custom_gpus[].memory_gb"].accepts == "at least 1, at most 10,000"
    assert rows["workload.arrivals.profile"].accepts == "24 entries"
    assert set(Scenario.model_fields) <= set(rows)


def test_every_data_file_is_described_with_its_rows() -> None:
    files = {path.name for path in DATA_DIR.glob("*.csv")}
    assert files <= set(LOADERS)
    shown = {row[0]: row for row in by_slug()["sources"].tables[0].rows}
    for name in files:
        assert shown[name][2] == len(read_rows(name))
        assert len(str(shown[name][1])) > 10
        assert "20" in str(shown[name][3])


def test_quantisation_losses_name_their_source() -> None:
    losses, ways = by_slug()["quantisation"].tables
    for table in (losses, ways):
        at = table.columns.index("Source")
        assert all(row[at] and row[at + 1] for row in table.rows)
    assert {"Quantisation-aware training (QAT)", "ONNX", "2:4 sparsity"} <= {row[0] for row in ways.rows}


def test_every_result_field_and_term_is_shown() -> None:
    assert {e.name for e in fields()} <= cells(by_slug()["results"])
    assert [e.title for e in by_slug()["glossary"].entries] == [t.name for t in glossary()]


def test_numbers_beside_the_code_are_shown_with_their_comment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers_chapter, "module_name", lambda path: "sizing.sample")
    source = tmp_path / "sample.py"
    source.write_text(
        'A = 2 * 3.0\n"""Why ``A`` is six."""\nB = 70 * GIB  # large\nC = 1\n_D = 4  # own\nE = "x"  # text\n'
    )
    assert list(module_constants(source)) == [
        ("A", 6.0, "Why `A` is six.", "sizing.sample"),
        ("B", 70 * 2**30, "large", "sizing.sample"),
    ]


def test_accuracy_is_left_out_until_it_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy_chapter, "DATA_DIR", tmp_path)
    assert accuracy_chapter.accuracy() is None


def test_the_accuracy_chapter_shows_every_figure_of_the_report() -> None:
    figures = accuracy_chapter.accuracy_figures()
    section = accuracy_chapter.accuracy()
    lists = {key for key, value in figures.items() if isinstance(value, list)}
    assert lists == set(accuracy_chapter.TITLES), "each list of accuracy.json has a title"
    assert figures["date"] in section.intro
    assert f"{figures['rows']:,}" in section.intro
    for key, table in zip(accuracy_chapter.TITLES, section.tables, strict=True):
        shown = sorted(repr(cell) for row in table.rows for cell in row if isinstance(cell, int | float))
        held = sorted(repr(v) for r in figures[key] for v in r.values() if isinstance(v, int | float))
        assert shown == held, key
        assert len(table.rows) == len(figures[key])


def test_the_accuracy_chapter_has_no_names_of_the_code() -> None:
    section = accuracy_chapter.accuracy()
    said = [str(cell) for table in section.tables for row in (table.columns, *table.rows) for cell in row]
    raw = {"fixed_concurrency", "fixed_rate", "static_batch", "offline_max_throughput", "itl", "e2e", "h100_sxm"}
    assert not raw & set(said)
    assert not [word for word in said if word.endswith("pct")]


def test_errors_stand_in_the_order_of_the_report() -> None:
    section = accuracy_chapter.accuracy()
    errors = next(table for table in section.tables if table.title == "Errors by protocol")
    assert errors.rows[0][:4] == ("Nothing (seen in the fit)", "Closed loop", "ITL", "good")
    judged = [words for scheme, words in accuracy_chapter.WORDS["scheme"].items() if scheme != LATER]
    assert [row[0] for row in errors.rows[:6]] == judged


def test_a_docstring_is_taken_apart() -> None:
    found = document(
        "m",
        "f",
        "One sentence.\n\nEquation: y = a x\nin words\nValid: x > 0\nSource: Me (2026).\n\n"
        "More ``code``. Raises SizingError for 0.1 and less.",
    )
    assert (found.summary, found.equation, found.valid, found.source) == (
        "One sentence.",
        "y = a x in words",
        "x > 0",
        "Me (2026).",
    )
    assert found.text == "More `code`."


def test_a_formula_in_prose_is_found() -> None:
    assert document("m", "f", "Weight: a x b; nothing else.").equation == "a x b; nothing else."
    assert document("m", "f", "Weight.\n\nw = a x b. Source: deck.").equation == "w = a x b."
    assert document("m", "f", "Reads a file and returns its rows.").equation == ""


@pytest.mark.parametrize(("query", "first"), [("ttft", "glossary"), ("KV cache", "glossary"), ("replica", "glossary")])
def test_search_brings_the_term_itself_first(query: str, first: str) -> None:
    found = content(sections(), query)
    assert found[0].slug == first
    names = [found[0].entries[0].title, *found[0].entries[0].also, *found[0].entries[0].related]
    assert query.casefold() in [name.casefold() for name in names]


def test_search_finds_rows_by_all_words_in_any_order() -> None:
    rows = [row for s in content(sections(), "sxm h100") for t in s.tables for row in t.rows]
    assert rows
    assert all("h100" in str(row).casefold() and "sxm" in str(row).casefold() for row in rows)


def test_search_for_nothing_finds_everything_and_for_nonsense_nothing() -> None:
    assert content(sections(), "  ") == sections()
    assert content(sections(), "qwxyz [") == ()


def test_markdown_keeps_text_and_code() -> None:
    assert plain("a_b $5") == r"a\_b \$5"
    assert rich("see `a_b` of c_d") == r"see `a_b` of c\_d"
    (found,) = [e for e in by_slug()["formulas"].entries if e.title == "Knee"]
    assert entry(found).startswith("**Knee**: ")


def test_the_documents_are_those_of_the_engine() -> None:
    assert main(["--check"]) == 0, "docs/METHODOLOGY*.md is out of date: run python -m sizing.methodology"


def test_a_reader_needs_at_most_4000_words_and_every_link_leads_to_a_heading() -> None:
    texts = {path.name: text for path, text in documents().items()}
    text = texts["METHODOLOGY.md"]
    assert len(text.split()) <= 4_000
    targets = {tuple(re.split("#", found)) for found in re.findall(r"\]\(reference/([^)]+)\)", text)}
    assert len(targets) > 20
    for name, *heading in targets:
        headings = {heading_anchor(line.lstrip("# ")) for line in texts[name].splitlines() if line.startswith("#")}
        assert set(heading) <= headings


def test_the_index_of_the_reference_leads_to_every_chapter() -> None:
    index, *chapters = [path for path in documents() if path.name != "METHODOLOGY.md"]
    assert re.findall(r"\]\((reference/[^)]+)\)", documents()[index]) == [f"reference/{path.name}" for path in chapters]


def test_every_number_of_the_reader_is_used_and_an_unknown_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = reader_chapter.TEXT.read_text(encoding="utf-8")
    assert set(re.findall(r"\{(\w+)\}", text)) == set(reader_chapter.numbers())
    for broken in ("{no_such_number}", "[x](formula:No such formula)", "[x](chapter:no_such_chapter)"):
        path = tmp_path / "reader.md"
        path.write_text(broken)
        monkeypatch.setattr(reader_chapter, "TEXT", path)
        with pytest.raises(KeyError, match=r"(?i)no.such"):
            reader_chapter.reader(reference(), reader_chapter.on_page)


def test_search_reads_the_reader_s_version_too() -> None:
    (method,) = [section for section in content(sections(), "kernel tables roofline") if section.slug == "method"]
    assert "Step times" in [part.title for part in method.prose]


def test_layers_that_are_not_those_of_the_model_card_are_explained_beside_them() -> None:
    models = next(table for section in sections() for table in section.tables if table.title == "Models")
    row = next(
        dict(zip(models.columns, row, strict=True)) for row in models.rows if "LongCat-Flash-Chat" in str(row[0])
    )
    assert row["Layers, as computed"] == 140
    assert "each of its 28 layers is shown as five" in str(row["Assumptions"])
