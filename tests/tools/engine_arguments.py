"""The arguments of a serving engine, as its own parser has them, written as the list that manifests are tested against.

An engine needs no GPU to read its arguments, but its package imports PyTorch and a hundred others for them. Here all
that is not installed is imported as a stub that answers everything with a stub: the parser is the engine's, whole. So::

    pip install --no-deps --target /tmp/vllm vllm==0.33.0
    python -m tests.tools.engine_arguments vllm /tmp/vllm > tests/sharing/manifests/arguments/vllm-0.33.0.csv

For Dynamo's own arguments its wheel and that of the engine are unpacked into one folder.
"""

import abc
import argparse
import csv
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args

COLUMNS = ("options", "takes", "type", "choices")
SAMPLES = (("str", "x"), ("json", "{}"), ("float", "1.5"), ("int", "3"))
"""A value of each type that those after it do not take."""
ABSENT = {"torch": ("npu", "musa", "hpu", "mps")}
"""Attributes by whose presence a package would take the machine for one of other hardware."""
ALWAYS_STUBBED = {"vllm": {"vllm.ir"}}
"""Modules that compute with stubs while they are imported."""


class Stub(abc.ABCMeta):
    """A class that stands for anything: its attributes, instances and results are stubs, its numbers are 0."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = Stub(name, (), {})
        setattr(cls, name, made)
        return made

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """A decorator gives back what it decorates; a class of the engine is made as usual; all else is a stub."""
        if len(args) == 1 and not kwargs and isinstance(args[0], (type, types.FunctionType)):
            return args[0]
        if any(vars(base).keys() & {"__init__", "__new__"} for base in cls.__mro__[:-1]):
            return super().__call__(*args, **kwargs)
        return Stub(cls.__name__, (), {})

    def __or__(cls, other: Any) -> Any:
        return other

    __ror__ = __add__ = __radd__ = __or__

    def __mul__(cls, other: Any) -> Any:
        return cls

    __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __pow__ = __getitem__ = __mul__

    def __neg__(cls) -> Any:
        return cls

    def __sub__(cls, other: Any) -> int:
        return 0

    __mod__ = __sub__

    def __int__(cls) -> int:
        return 0

    __index__ = __len__ = __int__

    def __float__(cls) -> float:
        return 0.0

    def __lt__(cls, other: Any) -> bool:
        return False

    __gt__ = __contains__ = __lt__

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.any_schema()


class StubModule(types.ModuleType):
    """A module in which everything is there."""

    __version__ = "99.0"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ABSENT.get(self.__name__, ()):
            raise AttributeError(name)
        made = Stub(name, (), {})
        setattr(self, name, made)
        return made


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that are stubbed, before any other finder."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = set(names)

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        stubbed = any(name == one or name.startswith(f"{one}.") for one in self.names)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if stubbed else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StubModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ == "torch":
            module.__dict__["version"] = types.SimpleNamespace(hip=None, cuda=None, musa=None, xpu=None)
            for device in ("cuda", "xpu"):
                nothing: dict[str, Any] = {"is_available": staticmethod(bool), "device_count": staticmethod(int)}
                setattr(module, device, Stub(device, (), nothing))


def version_of(name: str) -> str:
    """The version of an installed package, and of a stub one that is newer than any that is asked for."""
    try:
        return importlib.metadata.distribution(name).version
    except importlib.metadata.PackageNotFoundError:
        return StubModule.__version__


def with_stubs(package: str, make: Callable[[], argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """What ``make`` returns once every module that it misses is a stub."""
    vars(importlib.metadata)["version"] = version_of
    finder = Stubs(ALWAYS_STUBBED.get(package, ()))
    sys.meta_path.insert(0, finder)
    while True:
        try:
            return make()
        except ModuleNotFoundError as error:
            name = error.name or ""
            missing = name if name.partition(".")[0] == package else name.partition(".")[0]
            if not missing or missing in finder.names:
                raise
            finder.names.add(missing)
            for loaded in [module for module in sys.modules if module.partition(".")[0] == package]:
                del sys.modules[loaded]


def vllm() -> argparse.ArgumentParser:
    """``vllm serve``."""
    make: Any = importlib.import_module("vllm.entrypoints.common.cli_args").make_arg_parser
    return with_formats(make(vllm_parser()))


def vllm_engine() -> argparse.ArgumentParser:
    """The arguments of vLLM's engine alone, which Dynamo's worker takes."""
    arguments: Any = importlib.import_module("vllm.engine.arg_utils").AsyncEngineArgs
    return with_formats(arguments.add_cli_args(vllm_parser()))


def vllm_parser() -> argparse.ArgumentParser:
    """vLLM's own kind of parser."""
    made: argparse.ArgumentParser = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser()
    return made


def with_formats(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """With the formats that vLLM knows, which its parser leaves to plugins."""
    cache = importlib.import_module("vllm.config.cache")
    quantization = importlib.import_module("vllm.model_executor.layers.quantization")
    parser._option_string_actions["--kv-cache-dtype"].choices = get_args(cache.CacheDType)
    parser._option_string_actions["--quantization"].choices = get_args(quantization.QuantizationMethods)
    return parser


def vllm_bench() -> argparse.ArgumentParser:
    """``vllm bench serve``."""
    parser = vllm_parser()
    importlib.import_module("vllm.benchmarks.serve").add_cli_args(parser)
    return parser


def sglang() -> argparse.ArgumentParser:
    """``sglang.launch_server``."""
    parser = argparse.ArgumentParser()
    importlib.import_module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    return parser


def dynamo(module: str, group: str, *, runtime: bool = True) -> Callable[[], argparse.ArgumentParser]:
    """Arguments that a worker or the frontend of Dynamo has beside those of the engine."""

    def make() -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(conflict_handler="resolve")
        if runtime:
            shared = importlib.import_module("dynamo.common.configuration.groups.runtime_args")
            shared.DynamoRuntimeArgGroup().add_arguments(parser)
        getattr(importlib.import_module(module), group)().add_arguments(parser)
        return parser

    return make


PARSERS: dict[str, Callable[[], argparse.ArgumentParser]] = {
    "vllm": vllm,
    "vllm-engine": vllm_engine,
    "vllm-bench": vllm_bench,
    "sglang": sglang,
    "dynamo-frontend": dynamo("dynamo.frontend.frontend_args", "FrontendArgGroup", runtime=False),
    "dynamo-vllm": dynamo("dynamo.vllm.backend_args", "DynamoVllmArgGroup"),
    "dynamo-sglang": dynamo("dynamo.sglang.backend_args", "DynamoSGLangArgGroup"),
    "dynamo-trtllm": dynamo("dynamo.trtllm.backend_args", "DynamoTrtllmArgGroup"),
}


def rows(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, str, str]]:
    """One for each option: its names, how many values it takes, their type and choices."""
    names: dict[int, list[str]] = {}
    for name, action in sorted(parser._option_string_actions.items()):
        names.setdefault(id(action), []).append(name)
    actions = {id(action): action for action in parser._option_string_actions.values()}
    for key, spelled in names.items():
        action = actions[key]
        if isinstance(action, argparse._HelpAction):
            continue
        several = action.nargs in ("*", "+") or isinstance(action, argparse._AppendAction)
        takes = "flag" if action.nargs == 0 else "optional" if action.nargs == "?" else "many" if several else "one"
        choices = sorted(str(one) for one in action.choices or () if one is not None)
        yield " ".join(spelled), takes, "" if takes == "flag" else value_type(action.type), " ".join(choices)


def value_type(read: Any) -> str:
    """What kind of text an argument takes: the first whose sample it takes, and ``json`` where it takes none."""
    if read is None or read is str:
        return "str"
    return next((name for name, sample in SAMPLES if takes(read, sample)), "json")


def takes(read: Callable[[str], Any], sample: str) -> bool:
    """Whether an argument's own type reads a text."""
    try:
        read(sample)
    except (argparse.ArgumentTypeError, ValueError, TypeError):
        return False
    return True


def main() -> None:
    """Write the list of one engine to standard output."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("engine", choices=PARSERS)
    options.add_argument("folder", help="where the package is unpacked")
    given = options.parse_args()
    sys.path.insert(0, given.folder)
    os.environ["VLLM_TARGET_DEVICE"] = "cpu"
    package = given.engine.partition("-")[0]
    written = csv.writer(sys.stdout, lineterminator="\n")
    written.writerow(COLUMNS)
    written.writerows(rows(with_stubs(package, PARSERS[given.engine])))


if __name__ == "__main__":
    main()
