from pathlib import Path

import pytest

from sizing.base.format import counted, requests_per_s, tokens_per_s, with_noun
from sizing.decision.text import shown
from tests.inert import ADDRESSES, live
from ui.format import as_markdown, listed, unbroken, unbroken_percent
from ui.inputs.trace import plain_name

NAMES = [
    "../../etc/passwd.csv",
    "..",
    ".",
    "",
    "/",
    "a\0b.csv",
    "x" * 300 + ".parquet",
    "\U0001f600" * 300 + ".csv",
    "a\nb.gz",
]


def test_two_prices_in_a_sentence_are_not_a_formula() -> None:
    assert as_markdown("$5 or $6") == r"\$5 or \$6"


def test_names_with_underscores_stars_and_brackets_stay_as_they_are() -> None:
    assert as_markdown("a_b *c* [d](e)") == r"a\_b \*c\* \[d\](e)"


def test_the_icon_and_colour_notation_of_streamlit_stays_text() -> None:
    assert ":" not in as_markdown(":red[x] :material/home:").replace(r"\:", "")


def test_an_address_in_a_name_is_no_link() -> None:
    for address in ADDRESSES:
        assert live(as_markdown(f'=HYPERLINK("{address}") me{address} {address}')) == []


def test_an_address_that_no_reader_links_can_be_copied() -> None:
    assert as_markdown("write http://host:port") == r"write http\://host\:port"


def test_one_thing_is_one_and_any_other_number_several() -> None:
    rates = (requests_per_s(1), requests_per_s(1.0004), requests_per_s(2.4), requests_per_s(0), tokens_per_s(1))
    assert rates == ("1 request/s", "1 request/s", "2.4 requests/s", "0 requests/s", "1 token/s")
    assert [counted(n, "GPU") for n in (1, 1.0, 2, 1000)] == ["1 GPU", "1 GPU", "2 GPUs", "1,000 GPUs"]
    assert (counted(2, "copy", "copies"), with_noun("1", "row or file", "rows or files")) == (
        "2 copies",
        "1 row or file",
    )
    assert [shown(f"workload.{key}", 1) for key in ("peak_rps", "input_tokens")] == ["1 request/s", "1 token"]
    assert (shown("limits.ttft_ms", 1), shown("workload.peak_rps", 1.5)) == ("1 ms", "1.5 requests/s")


def test_a_list_reads_as_a_person_says_it() -> None:
    assert [listed(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


def test_the_noun_follows_the_number() -> None:
    assert [counted(n, "run") for n in (1, 1200)] == ["1 run", "1,200 runs"]
    assert counted(2, "quantity", "quantities") == "2 quantities"


def test_no_line_of_a_label_ends_between_a_number_and_its_unit() -> None:
    assert unbroken("to 2.1 s, 8 GPUs") == "to 2.1\N{NO-BREAK SPACE}s, 8\N{NO-BREAK SPACE}GPUs"


def test_the_sign_of_a_share_stays_on_the_line_of_its_number() -> None:
    assert unbroken_percent(0.98) == "98\N{NO-BREAK SPACE}%"


def test_no_line_of_a_sentence_ends_between_a_number_and_its_unit() -> None:
    """Names and other words may break: "40 x H100 SXM5 80GB" in one piece would not fit on a phone."""
    space = "\N{NO-BREAK SPACE}"
    shown = as_markdown("90 % of 31 requests/s within 590 ms (limit 2 s), 1.56B tokens, 36 of 40 GPUs, 40 x H100 80GB")
    kept = f"90{space}% of 31{space}requests/s within 590{space}ms (limit 2{space}s), 1.56B{space}tokens, "
    assert shown == kept + f"36 of 40{space}GPUs, 40 x H100 80GB"
    others = "8 seconds, 2 GPU-hours, page 3 sorted, 5 MB/second"
    assert as_markdown(others) == others


@pytest.mark.parametrize("name", NAMES)
def test_a_file_may_be_called_anything(tmp_path: Path, name: str) -> None:
    path = tmp_path / plain_name(name)
    path.write_bytes(b"content")
    assert path.parent == tmp_path
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"content"]
    assert path.suffix == Path(name).suffix or "." not in Path(name).name.lstrip(".")


def test_a_usual_name_stays() -> None:
    assert plain_name("Azure trace (2024).csv.gz") == "Azure trace (2024).csv.gz"
