"""What a deployment installs is locked with hashes, holds every requirement, and is listed with its licences."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.deploy.files import DEPLOY, ROOT

GROUPS = ("requirements.txt", *(f"requirements-{name}.txt" for name in ("postgres", "login", "api", "mcp")))
PYTHONS, PLATFORMS = ("3.11", "3.12", "3.13"), (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"))


@cache
def locked() -> tuple[tuple[Requirement, int], ...]:
    """Every pin with the number of its hashes."""
    text = (DEPLOY / "requirements.lock").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return tuple((Requirement(line.partition("--hash")[0].strip()), line.count("--hash=sha256:")) for line in lines)


def asked() -> Iterator[Requirement]:
    for name in GROUPS:
        lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
        yield from (Requirement(line) for line in lines if line and not line.startswith("-r"))


def environments() -> Iterator[Mapping[str, str]]:
    for version in PYTHONS:
        for system, machine in PLATFORMS:
            here = {"python_version": version, "python_full_version": f"{version}.0", "sys_platform": system}
            here |= {"platform_machine": machine, "platform_system": system.capitalize()}
            yield {**{key: str(value) for key, value in default_environment().items()}, **here}


def test_every_requirement_is_locked_once_within_its_range_on_every_platform() -> None:
    for there in environments():
        pins = [pin for pin, _ in locked() if pin.marker is None or pin.marker.evaluate(dict(there))]
        by_name = {canonicalize_name(pin.name): pin for pin in pins}
        assert len(by_name) == len(pins), "two versions of one package at once"
        for wanted in asked():
            if wanted.marker is None or wanted.marker.evaluate(dict(there)):
                (pin,) = by_name[canonicalize_name(wanted.name)].specifier
                assert pin.operator == "=="
                assert wanted.specifier.contains(pin.version), f"{wanted}: make lock"


def test_every_package_has_hashes() -> None:
    assert [str(pin) for pin, hashes in locked() if not hashes] == []


def test_the_bill_of_materials_and_the_licences_name_what_is_locked() -> None:
    bill = json.loads((DEPLOY / "sbom.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    listed = {canonicalize_name(one["name"]): one["version"] for one in bill["components"]}
    there = next(env for env in environments() if (env["sys_platform"], env["platform_machine"]) == PLATFORMS[0])
    pins = {canonicalize_name(pin.name): pin for pin, _ in locked()}
    needed = {name for name, pin in pins.items() if pin.marker is None or pin.marker.evaluate(dict(there))}
    assert needed <= listed.keys()
    assert all(pins[name].specifier.contains(listed[name]) for name in needed)
    table = (DEPLOY / "LICENSES.md").read_text()
    licensed = {
        canonicalize_name(name): kind.strip()
        for name, kind in re.findall(r"^\| (\S+) +\| \S+ +\| ([^|]+)", table, re.M)
    }
    assert needed <= licensed.keys()
    assert [name for name in needed if licensed[name] in ("", "UNKNOWN")] == []
    strict = [f"{name}: {licensed[name]}" for name in needed if re.search(r"\bA?GPL", licensed[name])]
    assert strict == [], "licences that reach beyond their package"
