"""The import graph of the packages: rooms in one order, no circle of files, few modules at the top.

Imports for types only and imports inside functions count. Each rule is also tried on planted faults.
"""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.tools.source_files import Source, is_within, sources

PACKAGES = {"sizing", "collectors", "reality", "sharing", "api", "ui", "pages", "app", "inference_sizing"}

# The rooms of a package (folders, or modules at its top) in order: each imports only those before it. Its doors may
# import every room, and no room imports them.
ORDERS = {
    "sizing": """
        base reuse catalog scenario question deployments prices steps queueing simulator evidence calibration search
        pipelines mixed
        planning explore replay economics decision methodology
    """,
    "collectors": """
        errors names units format queries prometheus vocabulary source backends reading connect questions benchmarks
        demo huggingface prices
    """,
    "sharing": """
        settings configuration errors form access audit author document library bonds report formats links
        manifests export
    """,
    "api": "problems limits questions routes server tools",
    "ui": """
        place format currency observed database work state gate access shell library figures sources inputs live home
        benchmarks size explore compare cost reality shared scenarios methodology entry
    """,
}
ROOMS = {package: order.split() for package, order in ORDERS.items()}
DOORS = {"sizing": {"__init__", "__main__", "cli"}, "collectors": {"__init__", "__main__", "cli"}}
DOORS |= {"sharing": {"__init__", "__main__", "cli"}, "ui": {"__init__", "__main__"}}
DOORS |= {"api": {"__init__", "__main__", "cli"}}
MODULES_AT_THE_TOP = 8


def arrows_between_rooms(source: Source) -> list[str]:
    """Type-only and local imports count: what a room knows of a later one is an arrow up, whenever it is followed."""
    order = ROOMS.get(source.package, [])
    if source.room in DOORS.get(source.package, set()):
        return []
    if order and source.room not in order:
        return [f"is in {source.room}, which has no place in the order of rooms"]
    earlier = order[: order.index(source.room) + 1] if order else []
    rooms = {
        (module + ".").split(".")[1]: module
        for module in source.imports
        if is_within(module, set(ROOMS) & {source.package})
    }
    return [f"imports {module}" for room, module in sorted(rooms.items()) if room not in earlier]


def crowded_tops(given: Sequence[Source]) -> list[str]:
    top = [source.path for source in given if source.path.startswith("sizing/") and source.path.count("/") == 1]
    return top if len(top) > MODULES_AT_THE_TOP else []


def circle_of_files(given: Sequence[Source]) -> list[str]:
    """The modules of a circle of imports among ``given``, empty without one."""
    modules = {source.module for source in given}
    graph = {s.module: {m for name in s.imports if (m := nearest(name, modules))} - {s.module} for s in given}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        return list(circle.args[1])
    return []


def nearest(name: str, modules: set[str]) -> str:
    """The module that ``from a.b import c`` reads: a.b.c if that is one, else a.b; empty for one that is not ours."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def test_rooms_import_only_those_before_them() -> None:
    assert [f"{source.path} {fault}" for source in sources() for fault in arrows_between_rooms(source)] == []


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circle_of_files([s for s in sources() if s.package in PACKAGES]) == []


def test_few_modules_stand_at_the_top_of_the_engine() -> None:
    assert crowded_tops(sources()) == []
    assert crowded_tops([Source(path=f"sizing/{k}.py", text="") for k in range(MODULES_AT_THE_TOP + 1)])


def test_a_circle_of_files_is_found() -> None:
    given = [
        Source(path="sizing/base/a.py", text="from sizing.base.b import f"),
        Source(path="sizing/base/b.py", text="def f():\n    from sizing.base import c"),
        Source(path="sizing/base/c.py", text="if TYPE_CHECKING:\n    import sizing.base.a"),
    ]
    assert set(circle_of_files(given)) == {"sizing.base.a", "sizing.base.b", "sizing.base.c"}
    assert circle_of_files(given[1:]) == []


def test_every_room_in_the_order_exists_and_has_a_place() -> None:
    for package, order in ROOMS.items():
        assert {s.room for s in sources() if s.package == package} == {*order, *DOORS[package]}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sizing/base/a.py", "from sizing.catalog import gpus"),
        ("sizing/question/a.py", "if TYPE_CHECKING:\n    from sizing.steps.times import StepTimes"),
        ("sizing/search/a.py", "def f():\n    from sizing.planning import plan"),
        ("sizing/steps/a.py", "from sizing import plan"),
        ("sizing/steps/a.py", "import sizing.cli"),
        ("sizing/lumber/a.py", ""),
        ("collectors/prometheus/a.py", "from collectors.reading import observe"),
        ("ui/figures/a.py", "from ui.size import page"),
    ],
)
def test_a_planted_arrow_is_found(path: str, text: str) -> None:
    assert arrows_between_rooms(Source(path=path, text=text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sizing/search/a.py", "from sizing.search import b\nfrom sizing.base.units import GB"),
        ("sizing/cli.py", "from sizing import plan\nfrom sizing.planning import plan"),
        ("ui/size/a.py", "from sizing.planning import plan"),
    ],
)
def test_an_import_of_an_earlier_room_is_fine(path: str, text: str) -> None:
    assert arrows_between_rooms(Source(path=path, text=text)) == []
