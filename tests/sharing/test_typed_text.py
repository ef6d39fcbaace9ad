"""What somebody types as a name, source or customer is text in every file that leaves: no link, formula or element."""

import io
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from typing import Any

import openpyxl
import pypdf
import pytest
import yaml
from pptx import Presentation

from sharing.formats import FORMATS
from sharing.formats.brand import Brand
from sharing.formats.source import ReportSource, source_of
from sharing.manifests import manifests
from sharing.manifests.bundle import README
from sharing.report.content import Released
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.scenario.prefix_reuse import REPLICAS
from tests.inert import TYPED, live
from tests.sharing.manifests.validation import check_files
from tests.sharing.report_cases import MADE_AT
from tests.sharing.test_report_files import Page

TEXT = " ".join(TYPED)
RESOLVED = re.compile(
    r"deployment\.(gpus|slice|engines|precisions|kv_precisions)|benchmark\.(gpu|engine|model|\w+_precision)|measured\.system"
    r"|prices\.(system|gpu)|pipeline\.(gpu|slice)|prices\.\w+\.\w+\.(system|gpu|date)|costs\..*|model"
)
"""Keys whose texts have to be names that the catalogue knows, or a day."""


def asked() -> dict[str, Any]:
    """A scenario with such a text wherever it takes any."""
    point = {"mode": "fixed_concurrency", "concurrency": 8, "input_tokens": 1200, "output_tokens": 200, "itl_ms": 9}
    own = {"id": "ours", "name": TEXT[:80], "memory_gb": 80, "bandwidth_gbs": 3350, "fp16_tflops": 989}
    rented = {"gpu": "ours", "usd": 2, "provider": TEXT[:80], "region": TEXT[:100], "source": TEXT}
    bought = {"system": "dgx_h100", "usd": 250_000, "source": TEXT}
    lengths = {"trace": TEXT, "groups": [800, 1200, 2000]}
    prices = {"systems": [bought], "gpu_hours": [rented]}
    return {
        "name": TEXT[-80:],
        "model": {"name": TEXT[:80], "params_b": 8},
        "workload": {
            "input_tokens": lengths, "output_tokens": lengths, "arrivals": {"trace": TEXT, "rps": [3, 6, 4]},
            "prefix_reuse": {"trace": TEXT, "capacity_tokens": [9_000], "hit_shares": [[0.1]] * len(REPLICAS)},
        },
        "deployment": {"gpus": ["ours", "h100_sxm"], "engines": ["vllm"], "custom_gpus": [own | {"price_usd": 30_000}]},
        "benchmark": {"gpu": "ours", "engine": "vllm", "weight_precision": "fp16", "source": TEXT, "points": [point]},
        "prices": {"negotiated": prices, "listed": prices},
        "pipeline": [{"stage": "other", "model": TEXT[:80], "gpu": "l4", "measured_items_per_s": 100}],
    }  # fmt: skip


def measured() -> dict[str, Any]:
    """The same, sized by a measured record."""
    record = {"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 900, "itl_ms": 20, "source": TEXT}
    return {key: value for key, value in asked().items() if key != "benchmark"} | {"measured": record}


SCENARIOS = {"estimated": asked, "measured": measured}


@cache
def source(name: str) -> ReportSource:
    scenario = Scenario.model_validate(SCENARIOS[name]())
    return source_of(
        Answer.of(scenario, analytic_plan),
        released=Released.OWN_PRICES,
        made_at=MADE_AT,
        author=TEXT,
        customer=TEXT,
        brand=Brand(name=TEXT[:80], footer=TEXT[:200]),
    )


def texts_of(schema: dict[str, Any], node: dict[str, Any], path: str = "") -> Iterator[str]:
    """Paths of the keys that take a text."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    if node.get("type") == "string" and not {"enum", "const", "pattern"} & set(node):
        yield path
    for one in (*node.get("anyOf", ()), *node.get("oneOf", ()), *([node["items"]] if "items" in node else ())):
        yield from texts_of(schema, one, path)
    for name, one in node.get("properties", {}).items():
        yield from texts_of(schema, one, f"{path}.{name}".lstrip("."))


def filled(value: object, path: str = "") -> Iterator[str]:
    """Paths of the keys that hold some of the text."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from filled(one, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for one in value:
            yield from filled(one, path)
    elif isinstance(value, str) and value in TEXT:
        yield path


def test_every_key_that_takes_any_text_is_tried() -> None:
    schema = Scenario.model_json_schema()
    free = {path for path in texts_of(schema, schema) if not RESOLVED.fullmatch(path)}
    assert len(free) >= 10
    assert free <= {*filled(asked()), *filled(measured())}


@pytest.mark.parametrize("name", SCENARIOS)
def test_html_has_no_element_or_link_of_it(name: str) -> None:
    page = Page(FORMATS[".html"].write(source(name)))
    assert not {tag for tag, _ in page.elements} & {"script", "img", "iframe", "form"}
    assert all(value.startswith("#") for _, given in page.elements for key, value in given.items() if key == "href")
    assert "<script>alert(1)</script>" in page.text, "it is shown"


@pytest.mark.parametrize("name", SCENARIOS)
def test_markdown_has_no_element_or_link_of_it(name: str) -> None:
    for line in FORMATS[".md"].write(source(name)).decode().splitlines():
        assert live(line) == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_pdf_has_no_link_of_it(name: str) -> None:
    pages = pypdf.PdfReader(io.BytesIO(FORMATS[".pdf"].write(source(name)))).pages
    assert not any(page.get("/Annots") for page in pages)
    assert "javascript:alert" in "".join(page.extract_text() for page in pages), "it is shown"


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_workbook_has_no_formula_or_link_of_it(name: str) -> None:
    content = FORMATS[".xlsx"].write(source(name))
    shown = ""
    for sheet in openpyxl.load_workbook(io.BytesIO(content)).worksheets:
        for cell in (cell for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str)):
            assert cell.hyperlink is None or cell.hyperlink.location, "a link leads within the workbook"
            assert cell.data_type != "f" or not re.search(r"cmd|HYPERLINK|evil", cell.value)
            shown += cell.value
    assert "evil.example" in shown, "it is shown"
    assert not external(content)


@pytest.mark.parametrize("name", SCENARIOS)
def test_slides_have_no_link_of_it(name: str) -> None:
    content = FORMATS[".pptx"].write(source(name))
    assert Presentation(io.BytesIO(content)).slides
    assert not external(content)


def external(content: bytes) -> list[str]:
    """Parts of an Office file that lead out of it."""
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        return [one for one in parts.namelist() if b'TargetMode="External"' in parts.read(one)]


def test_manifests_hold_it_as_text() -> None:
    keys = asked() | {"deployment": {"gpus": ["h100_sxm"], "engines": ["vllm"]}}
    del keys["prices"], keys["benchmark"]
    scenario = Scenario.model_validate(keys)
    contents = manifests(Answer.of(scenario, analytic_plan))
    check_files(contents)
    code = re.compile(r"`[^`]*`")
    for line in contents[README].splitlines():
        assert live(code.sub("", line)) == []
    for file, content in contents.items():
        if file.endswith(".yaml"):
            assert all(part is None or isinstance(part, dict) for part in yaml.safe_load_all(content))
