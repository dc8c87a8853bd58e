"""Requirements: what is imported is declared, what is installed and pinned fits, and bad releases are excluded."""

import sys
import tomllib
from importlib.metadata import distribution, packages_distributions, version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_house import CODE, ROOT, imports

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()


def named(lines):
    """Requirements by their names, spelled in one way."""
    return {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines}


NEEDED = named(PROJECT["dependencies"])
FOR_TESTS = named(PROJECT["optional-dependencies"]["test"])
PINS = {name: next(iter(pin.specifier)).version for name, pin in named(CONSTRAINTS).items()}


def packages_of(files):
    """The packages, as they are installed, that files import; our own apart."""
    ours = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]  # peers' environments apart
    own = {"seq2seq", "decoding", *(path.stem for path in ours)}
    tops = {name.partition(".")[0] for path in files for name in imports(path) if name}
    known = packages_distributions()
    return {top: set(map(canonicalize_name, known[top])) for top in tops - own - set(sys.stdlib_module_names)}


@pytest.mark.parametrize("folder", ["seq2seq", "scripts", "tests"])
def test_what_is_imported_is_declared(folder):
    allowed = set(NEEDED)
    if folder == "tests":
        allowed |= FOR_TESTS.keys() | named(distribution("pytest").requires).keys()
    for top, bringing in packages_of(sorted((ROOT / folder).rglob("*.py"))).items():
        assert bringing & allowed, f"{top} is imported, and no requirement brings it"


def test_what_is_declared_is_imported():
    used = set().union(*packages_of([*CODE, *(ROOT / "scripts").glob("*.py")]).values())
    assert set(NEEDED) <= used


@pytest.mark.parametrize("name", [*NEEDED, *FOR_TESTS])
def test_what_is_installed_and_what_is_pinned_fit(name):
    requirement = (NEEDED | FOR_TESTS)[name]
    assert requirement.specifier.contains(version(name))
    assert requirement.specifier.contains(PINS[name])


def test_the_pins_fit_each_other():
    installed = {canonicalize_name(name) for names in packages_distributions().values() for name in names}
    for name in PINS.keys() & installed:
        for line in distribution(name).requires or ():
            needed = Requirement(line)
            pin = PINS.get(canonicalize_name(needed.name))
            if pin and not needed.marker and version(name) == PINS[name]:
                assert needed.specifier.contains(pin, prereleases=True), f"{name} needs {line}, and the pin is {pin}"


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("lightning", "2.6.2"),  # malicious
        ("lightning", "2.6.3"),  # malicious
        ("lightning", "2.5.9"),
        ("datasets", "3.6.0"),  # still runs code of data sets, and has no columns that are read as they are needed
        ("sentencepiece", "0.2.0"),  # a prepared model file corrupts its memory (CVE-2026-1260)
        ("torch", "2.5.1"),  # its `weights_only` loading runs code of a prepared file (CVE-2025-32434)
    ],
)
def test_releases_that_must_not_come_in_are_below_the_bounds(name, release):
    assert not NEEDED[name].specifier.contains(release)


def test_every_requirement_has_a_lower_bound():
    for requirement in (NEEDED | FOR_TESTS).values():
        assert any(clause.operator == ">=" for clause in requirement.specifier), requirement
