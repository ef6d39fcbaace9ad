"""The shape of the house (docs/ARCHITECTURE.md): who may import whom, how large things get, what pages must not do.

Every rule is a function from one source file to the sentences that say what is wrong with it. Each is also tried on
planted faults, so that a rule which finds nothing is known to work.
"""

import ast
import gc
import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain

import pytest

from tests.tools.source_files import ROOT, Source, files, is_within, sources

# Arrows point down only: pages -> ui -> reality -> sharing -> (sizing, collectors); api, beside ui, -> sharing.
MAY_IMPORT = {
    "commandline": set(),
    "sizing": {"commandline"},
    "collectors": {"commandline"},
    "reality": {"commandline", "sizing", "collectors", "sharing"},
    "sharing": {"commandline", "sizing", "collectors"},
    "api": {"commandline", "sizing", "sharing"},
    "ui": {"sizing", "collectors", "reality", "sharing"},
    "pages": {"sizing", "collectors", "reality", "sharing", "ui"},
    "app": {"sizing", "collectors", "reality", "sharing", "ui"},
    "inference_sizing": {"commandline", "sizing", "api", "ui"},
}
BESIDE = {"calibration", "bench", "deploy", "tests"}
"""What makes, measures and tests the product: the product imports none of it."""
OURS = {*MAY_IMPORT, *BESIDE}
# Some names of what collectors observe are those of results of the engine, which they do not know.
KNOWS_RESULTS = MAY_IMPORT.keys() - {"collectors", "commandline"}
KNOWS_STREAMLIT = {"ui", "pages", "app"}
# The engine is pure: same inputs, same bytes. No network, no clock, no randomness but a generator that is passed in.
IMPURE_MODULES = {"requests", "urllib.request", "http.client", "http.server", "socket", "time", "random", "secrets"}
CLOCK_CALLS = {"now", "utcnow", "today"}

MODULE_LINES = 500
PAGE_LINES = 120
# Docstrings do not count: they hold equations.
FUNCTION_LINES = 40
EMPTY_NAMES = {"util", "utils", "helper", "helpers", "manager", "managers", "misc", "common"}
# What happened to a value is not what it is.
EMPTY_VARIABLES = {"found", "asked", "said", "told"}
UNSAFE_MARKUP = ("unsafe_allow_html", "unsafe_allow_javascript", "st.html(", "components.v1")
CONSTANT_STYLE = dict.fromkeys(("ui/shell/money.py", "ui/shell/presenting.py", "ui/size/what_if.py"), "st.html(")
"""Places with a style of their own: a constant that hides buttons or enlarges type, with nothing of a user in it."""
# Streamlit draws :rocket: as an emoji; it draws :material/save: as an icon of its own, and :func:`x` is a docstring's.
SHORTCODE = r"(?<!\w):(?!material/)[a-z]+(?:_[a-z]+)*:(?![\w`])"
EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b05-\u2b55\ufe0f]|" + SHORTCODE)
GLUED_PERCENT = re.compile(r":[^{}\s\"']*\.?\d%[}\"']|format=[\"']percent[\"']")
"""A format that writes "62%"; everywhere else it is "62 %"."""
# Written in two parts, or this file would break its own rule.
MACHINE_PATH = re.compile(r"(?<![\w./:-])/" + r"(?:work|root)/")


@pytest.fixture(scope="module", autouse=True)
def trees_are_no_garbage() -> None:
    """A million nodes that stay: looking for garbage among them takes longer than the rules."""
    gc.disable()
    try:
        assert all(source.nodes for source in sources())
    finally:
        gc.enable()
        gc.freeze()


def arrows_pointing_up(source: Source) -> list[str]:
    if source.package not in MAY_IMPORT:
        return []
    forbidden = OURS - MAY_IMPORT[source.package] - {source.package}
    return [f"imports {module}" for module in sorted(source.imports) if is_within(module, forbidden)]


def pages_importing_pages(source: Source) -> list[str]:
    found = sorted(source.imports) if source.is_page else []
    return [f"imports {module}" for module in found if is_within(module, {"pages"})]


def streamlit_below_ui(source: Source) -> list[str]:
    if source.package in KNOWS_STREAMLIT | BESIDE:
        return []
    found = sorted(source.imports)
    return [f"imports {module}" for module in found if is_within(module, {"streamlit"})]


def impurities(source: Source) -> list[str]:
    if source.package != "sizing":
        return []
    found = [f"imports {m}" for m in sorted(source.imports) if is_within(m, IMPURE_MODULES)]
    for node in source.nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr in CLOCK_CALLS:
            found.append(f"line {node.lineno} reads the clock: pass `now`")
        if node.func.attr == "default_rng" and not node.args:
            found.append(f"line {node.lineno} makes an unseeded generator: pass `rng`")
    return found


def oversize(source: Source) -> list[str]:
    limit = PAGE_LINES if source.is_page else MODULE_LINES
    found = [f"has {source.lines} lines, limit {limit}"] if source.lines > limit else []
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = body_lines(node)
            if lines > FUNCTION_LINES:
                found.append(f"{node.name} has {lines} lines, limit {FUNCTION_LINES}")
    return found


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function from ``def`` to its end, without its docstring."""
    last = function.end_lineno or function.lineno
    total = last - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        total -= (first.end_lineno or first.lineno) - first.lineno + 1
    return total


def empty_names(source: Source) -> list[str]:
    parts = source.path.removesuffix(".py").split("/")
    return [f"{part} says nothing about what is in it" for part in parts if part in EMPTY_NAMES]


def empty_variables(source: Source) -> list[str]:
    if source.package == "tests":
        return []
    named = [(node.lineno, node.arg) for node in source.nodes if isinstance(node, ast.arg)]
    names = (node for node in source.nodes if isinstance(node, ast.Name))
    named += [(node.lineno, node.id) for node in names if isinstance(node.ctx, ast.Store)]
    return [f"line {line}: {name} does not say what it holds" for line, name in named if name in EMPTY_VARIABLES]


def unsafe_markup_and_emoji(source: Source) -> list[str]:
    if source.package not in KNOWS_STREAMLIT:
        return []
    found = [
        f"uses {sign}" for sign in UNSAFE_MARKUP if sign in source.text and CONSTANT_STYLE.get(str(source.path)) != sign
    ]
    strings = (n for n in source.nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
    found += [f"line {node.lineno} has an emoji" for node in strings if EMOJI.search(node.value)]
    return found


def glued_percent(source: Source) -> list[str]:
    if source.package in BESIDE:
        return []
    lines = enumerate(source.text.splitlines(), 1)
    return [f"line {n} writes 62%, not 62 %: use percent()" for n, line in lines if GLUED_PERCENT.search(line)]


def missing_guard(source: Source) -> list[str]:
    """A cold deep link runs a page without app.py, and so without login, unless its first statement is the guard."""
    if not source.is_page:
        return []
    body = source.tree.body[1:] if ast.get_docstring(source.tree) is not None else source.tree.body
    statements = [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom)]
    guard = f"shell.require({source.name!r})"
    if statements and ast.unparse(statements[0]) == guard:
        return []
    return [f"does not start with {guard}"]


@cache
def derived_from(base: str) -> frozenset[str]:
    """Names of the classes that derive from ``base``, through others or not, where results of the engine are known."""
    ours = (source for source in sources() if source.package in KNOWS_RESULTS)
    classes = [node for source in ours for node in source.nodes if isinstance(node, ast.ClassDef)]
    names = {base}
    while more := {c.name for c in classes if any(last_name(b) in names for b in c.bases)} - names:
        names |= more
    return frozenset(names - {base})


def is_typed_dict(annotation: ast.expr | None) -> bool:
    return annotation is not None and last_name(annotation) in derived_from("TypedDict")


@cache
def typed_fields() -> frozenset[str]:
    """Names of the functions that return a TypedDict, of which mypy knows keys and types."""
    functions = (node for source in sources() for node in source.nodes if isinstance(node, ast.FunctionDef))
    return frozenset(function.name for function in functions if is_typed_dict(function.returns))


def last_name(node: ast.expr) -> str:
    """``Plan`` of ``result.Plan``; nothing of what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def unchecked_results(source: Source) -> list[str]:
    """mypy cannot see which fields a dictionary holds, nor what model_construct is given."""
    if source.package not in KNOWS_RESULTS:
        return []
    typed = {node.arg for node in source.nodes if isinstance(node, ast.arg) and is_typed_dict(node.annotation)}
    calls = [node for node in source.nodes if isinstance(node, ast.Call)]
    found = [f"line {call.lineno} uses model_construct" for call in calls if last_name(call.func) == "model_construct"]
    for call in calls:
        if last_name(call.func) in derived_from("Result"):
            for fields in (keyword.value for keyword in call.keywords if keyword.arg is None):
                made = isinstance(fields, ast.Call) and last_name(fields.func) in typed_fields()
                if not made and last_name(fields) not in typed:
                    found.append(f"line {call.lineno} builds {last_name(call.func)} from a dictionary")
    return found


def idle_future_import(source: Source) -> list[str]:
    """It is for annotations that name a class further down or a type-only import; ruff finds where it is missing."""
    if "__future__.annotations" not in source.imports:
        return []
    known_after = {node.name: node.end_lineno or 0 for node in source.nodes if isinstance(node, ast.ClassDef)}
    for node in source.tree.body:
        if isinstance(node, ast.Assign):
            known_after |= {last_name(target): node.lineno for target in node.targets}
        elif isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING":
            imports = (child for child in node.body if isinstance(child, ast.Import | ast.ImportFrom))
            known_after |= {alias.asname or alias.name: source.lines for child in imports for alias in child.names}
    annotations = [node.annotation for node in source.nodes if isinstance(node, ast.arg | ast.AnnAssign)]
    functions = (node for node in source.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    annotations += [function.returns for function in functions]
    names = (name for node in annotations if node for name in ast.walk(node) if isinstance(name, ast.Name))
    early = any(name.lineno <= known_after.get(name.id, 0) for name in names)
    return [] if early else ["puts annotations off by an import from __future__ that it does not need"]


RULES: list[Callable[[Source], list[str]]] = [
    arrows_pointing_up,
    pages_importing_pages,
    streamlit_below_ui,
    impurities,
    oversize,
    empty_names,
    empty_variables,
    unsafe_markup_and_emoji,
    glued_percent,
    missing_guard,
    unchecked_results,
    idle_future_import,
]


def test_every_package_has_its_place() -> None:
    assert {source.package for source in sources()} == OURS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_house_keeps_the_rule(rule: Callable[[Source], list[str]]) -> None:
    assert list(chain.from_iterable((f"{s.path}: {fault}" for fault in rule(s)) for s in sources())) == []


LONG_FUNCTION = "def f():\n" + "    x = 1\n" * FUNCTION_LINES
PLANTED = [
    (arrows_pointing_up, "sizing/a.py", "import collectors.prometheus"),
    (arrows_pointing_up, "sizing/a.py", "from ui import shell"),
    (arrows_pointing_up, "collectors/a.py", "def f():\n    from sizing import plan"),
    (arrows_pointing_up, "reality/a.py", "from ui import shell"),
    (arrows_pointing_up, "sharing/a.py", "from ui import shell"),
    (arrows_pointing_up, "sharing/a.py", "import reality.compare"),
    (arrows_pointing_up, "ui/a.py", "import pages.size"),
    (arrows_pointing_up, "api/a.py", "from ui import state"),
    (arrows_pointing_up, "sharing/a.py", "import api.routes"),
    (pages_importing_pages, "pages/a.py", "from pages import size"),
    (streamlit_below_ui, "sizing/a.py", "import streamlit as st"),
    (streamlit_below_ui, "reality/a.py", "from streamlit import cache_data"),
    (impurities, "sizing/a.py", "import requests"),
    (impurities, "sizing/a.py", "import random"),
    (impurities, "sizing/a.py", "from time import perf_counter"),
    (impurities, "sizing/a.py", "from urllib import request"),
    (impurities, "sizing/a.py", "import datetime\n\ndef f():\n    return datetime.datetime.now()"),
    (impurities, "sizing/a.py", "import numpy as np\nrng = np.random.default_rng()"),
    (oversize, "sizing/a.py", "x = 1\n" * (MODULE_LINES + 1)),
    (oversize, "pages/a.py", "x = 1\n" * (PAGE_LINES + 1)),
    (oversize, "ui/a.py", LONG_FUNCTION),
    (empty_names, "ui/utils.py", ""),
    (empty_names, "ui/helpers/a.py", ""),
    (empty_variables, "sizing/a.py", "found = 1"),
    (empty_variables, "calibration/a.py", "def f(asked):\n    return asked"),
    (empty_variables, "ui/a.py", "names = [told for told in names]"),
    (unsafe_markup_and_emoji, "ui/a.py", "st.markdown('<b>', unsafe_allow_html=True)"),
    (unsafe_markup_and_emoji, "ui/a.py", "st.html('<style></style>')"),
    (unsafe_markup_and_emoji, "pages/a.py", "st.title('Go \U0001f680')"),
    (unsafe_markup_and_emoji, "app.py", "st.title('Go :rocket:')"),
    (glued_percent, "ui/a.py", "text = f'{share:.0%} of it'"),
    (glued_percent, "collectors/a.py", 'KV = "KV {:.1%}"'),
    (glued_percent, "ui/a.py", "st.column_config.NumberColumn(format='percent')"),
    (missing_guard, "pages/size.py", "import streamlit as st\nst.title('Size')"),
    (missing_guard, "pages/size.py", "from ui import shell\nshell.require('home')"),
    (missing_guard, "pages/size.py", ""),
    (unchecked_results, "sizing/a.py", "Plan(answer='', **fields)"),
    (unchecked_results, "sizing/a.py", "results.CostAnswer(**{'answer': ''})"),
    (unchecked_results, "reality/a.py", "TrafficRow(**vars(row))"),
    (unchecked_results, "sizing/a.py", "Plan.model_construct(answer='')"),
    (idle_future_import, "sizing/a.py", "from __future__ import annotations\nclass A: ...\ndef f(a: A) -> int: ..."),
]
TYPE_ONLY = "from __future__ import annotations\nif TYPE_CHECKING:\n    import pandas as pd\ndef f(a: pd.Index): ..."
INNOCENT = [
    (arrows_pointing_up, "sizing/a.py", "from . import units\nfrom sizing.steps import kernel\nimport numpy"),
    (arrows_pointing_up, "reality/a.py", "import sizing, collectors"),
    (streamlit_below_ui, "ui/a.py", "import streamlit as st"),
    (impurities, "sizing/a.py", "import numpy as np\n\ndef f(seed):\n    return np.random.default_rng(seed)"),
    (impurities, "sizing/a.py", "import datetime\nSTART = datetime.date(2026, 1, 1)"),
    (oversize, "ui/a.py", LONG_FUNCTION.replace("    x = 1\n" * 10, '    """' + "long\n" * 10 + '"""\n', 1)),
    (empty_variables, "sizing/a.py", "quantity('TTFT', 'asked')"),
    (unsafe_markup_and_emoji, "ui/a.py", "st.button('Save', icon=':material/save:'); t = 'a → b × c ≥ 3, 12:30:15'"),
    (unsafe_markup_and_emoji, "ui/a.py", '"""Format: see :func:`sizing.plan`."""'),
    (glued_percent, "ui/a.py", "text = f'{percent(share)} of 95 %, {at:%H:%M}'"),
    (unchecked_results, "sizing/a.py", "Plan(answer='', **of_every_plan(question))"),
    (unchecked_results, "sizing/a.py", "def f(simulated: Simulated):\n    return SimulationResult(**simulated)"),
    (idle_future_import, "sizing/a.py", "from __future__ import annotations\nclass A:\n    def f(self) -> A: ..."),
    (idle_future_import, "ui/a.py", TYPE_ONLY),
    (missing_guard, "pages/size.py", '"""Size."""\nfrom ui import shell\n\nshell.require("size")\nx = 1'),
]


@pytest.mark.parametrize(("rule", "path", "text"), PLANTED)
def test_rule_finds_a_planted_fault(rule: Callable[[Source], list[str]], path: str, text: str) -> None:
    assert rule(Source(path=path, text=text))


@pytest.mark.parametrize(("rule", "path", "text"), INNOCENT)
def test_rule_lets_good_code_pass(rule: Callable[[Source], list[str]], path: str, text: str) -> None:
    assert rule(Source(path=path, text=text)) == []


def namesakes(given: Iterable[Source]) -> dict[str, list[str]]:
    """The paths of public classes and choices of the product that share a name: one word means one thing."""
    places: dict[str, list[str]] = {}
    for source in given:
        if source.package != "tests":
            names = [node.name for node in source.nodes if isinstance(node, ast.ClassDef)]
            assigned = (node for node in source.tree.body if isinstance(node, ast.Assign))
            names += [
                last_name(node.targets[0])
                for node in assigned
                if isinstance(node.value, ast.Subscript) and last_name(node.value.value) == "Literal"
            ]
            for name in names:
                if not name.startswith("_"):
                    places.setdefault(name, []).append(source.path)
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def test_no_two_public_classes_or_choices_have_one_name() -> None:
    assert namesakes(sources()) == {}


def test_namesakes_are_found_in_packages_that_lie_apart() -> None:
    fleets = [Source(path=path, text="class Fleet: ...") for path in ("sizing/a.py", "ui/b.py", "tests/c.py")]
    private = [Source(path=path, text="class _Fleet: ...") for path in ("sizing/d.py", "bench/e.py")]
    choice = Source(path="reality/f.py", text='Fleet = Literal["one", "two"]')
    assert namesakes([*fleets, *private, choice]) == {"Fleet": ["sizing/a.py", "ui/b.py", "reality/f.py"]}


def test_no_file_names_a_path_of_one_machine() -> None:
    found = []
    for path in files():
        text = path.read_bytes().decode(errors="ignore")
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in MACHINE_PATH.finditer(text)]
    assert found == []


def test_machine_path_is_recognised() -> None:
    path = "/".join(["", "root", ".cache"])
    assert MACHINE_PATH.search(f"HOME={path}")
    assert not MACHINE_PATH.search(f"https://example.org{path}")
