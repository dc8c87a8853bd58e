"""Fixtures that several files of tests share."""

import sys

import pytest
from tiny import load_script

from seq2seq import cli


@pytest.fixture
def script(monkeypatch, tmp_path):
    """Call a script's function with the settings of a command line, in an empty folder; gives what it returns."""
    monkeypatch.chdir(tmp_path)

    def _script(name, *arguments, stdin=None):
        function, results = getattr(load_script(name), name), []
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        if stdin is not None:
            (tmp_path / ".stdin").write_bytes(stdin)
            monkeypatch.setattr(sys, "stdin", open(tmp_path / ".stdin", "rb"))  # noqa: SIM115
        cli.run(name, lambda settings: results.append(function(settings)), "", multirun=False)
        return results[0]

    return _script


@pytest.fixture
def fails(script, capfd):
    """Like ``script``, for a mistake: gives the one line that it ends in."""

    def _fails(*arguments, **stdin):
        with pytest.raises(SystemExit) as stop:
            script(*arguments, **stdin)
        assert stop.value.code == 2
        (line,) = (line for line in capfd.readouterr().err.splitlines() if line.startswith("error: "))
        return line

    return _fails
