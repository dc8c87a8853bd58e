"""The house rules: who imports whom, a comment on every setting."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = sorted((ROOT / "seq2seq").rglob("*.py"))
FLOOR = {"attention": 1, "data": 1, "evaluation": 1, "models": 2, "decoding": 3}
NEUTRAL = {"errors", "linear", "memory", "symbols"}
ALLOWED = {"models": {"attention", "models"}, "decoding": {"models.interface", "decoding"}}


def imports(path):
    """Dotted names of everything a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_from_the_floors_below(path):
    room = path.relative_to(ROOT / "seq2seq").parts[0]
    for name in imports(path):
        package, _, inner = name.partition(".")
        if room in FLOOR and package in ("lightning", "hydra", "omegaconf"):
            assert (package, path.name) == ("lightning", "datamodule.py"), name
        if room not in FLOOR or package != "seq2seq" or not inner or inner.split(".")[0] in NEUTRAL:
            continue
        allowed = ALLOWED.get(room, {room})
        assert any(inner == one or inner.startswith(f"{one}.") for one in allowed), name


@pytest.mark.parametrize("path", sorted((ROOT / "conf").rglob("*.yaml")), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_setting_has_a_comment(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert any(line.startswith("# ") and "@package" not in line for line in lines) or "decoding" in path.parts
    for line in lines:
        if line.startswith("hydra:"):
            break
        setting = re.match(r" *(\w+): \S", line)
        if setting and setting[1] not in ("defaults", "name"):
            assert "#" in line, line
