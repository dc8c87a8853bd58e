"""What the documents name is there: files, scripts, models and settings."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EACH = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)


@EACH
def test_every_link_leads_to_a_file_or_a_heading(path):
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        there = path.parent / file if file else path
        assert there.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}, target


@EACH
def test_every_script_and_model_that_is_named_exists(path):
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"scripts/(\w+)\.py", text):
        assert (ROOT / "scripts" / f"{name}.py").is_file(), name
    models = {name for names in re.findall(r"\bmodel=([a-z0-9_,]+)", text) for name in names.split(",")}
    for name in models:
        assert (ROOT / "conf" / "model" / f"{name}.yaml").is_file(), name


def test_every_model_has_its_command_in_the_lessons():
    text = (ROOT / "docs" / "attention.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"compare\.py .*models=\[(\S+)\]", text)
    assert sorted(command.split(",")) == sorted(path.stem for path in (ROOT / "conf" / "model").glob("*.yaml"))
