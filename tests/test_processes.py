"""Several processes on one processor, started by ``scripts/train.py`` as a user does it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny
from test_train import SMALL, board, settings

from seq2seq import cli

CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")


def command(tmp_path, *more):
    """Two processes on the tiny corpus."""
    if not (tmp_path / "corpus").exists():
        tiny.write_corpus(tmp_path / "corpus")
    where = [f"data.dir={tmp_path / 'corpus'}", f"data.cache_dir={tmp_path / 'cache'}", f"run_dir={tmp_path / 'run'}"]
    return [sys.executable, "scripts/train.py", *SMALL, "trainer=ddp", "trainer.accelerator=cpu", *where, *more]


def ends(process):
    """Its exit status and what it said; it is not waited for longer than a hang would be suspected."""
    output, _ = process.communicate(timeout=120)
    return process.returncode, output


def under_way(tmp_path):
    """A training without end on two processes, after its first points; and the number of the second process."""
    endless = ("trainer.max_epochs=-1", "trainer.validate_every=100000", "trainer.save_steps=5")
    process = subprocess.Popen(
        command(tmp_path, *endless), cwd=cli.CONF.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    while not last.exists() and process.poll() is None:
        time.sleep(0.1)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (second,) = (child for child in children if b"train.py" in Path(f"/proc/{child}/cmdline").read_bytes())
    return process, int(second)


def test_two_processes_make_one_run_with_the_gradient_of_one_process_that_accumulates(tmp_path):
    (tmp_path / "gold").write_text("0-0 1-1\n" * len(tiny.ENGLISH))
    same = ["model.dropout=0.0", "trainer.log_every=1", cli.quote(f"data.gold={tmp_path / 'gold'}")]
    done = subprocess.run(
        command(tmp_path, *same), cwd=cli.CONF.parent, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("run")] == ["run"]
    result = json.loads((tmp_path / "run" / "metrics.json").read_text("utf-8"))
    assert result["train"]["steps"] == 2
    assert "validation BLEU" in (tmp_path / "run" / "train.log").read_text("utf-8")
    alone = f"run_dir={tmp_path / 'alone'}"
    tiny.load_script("train").train(settings(tmp_path, *same, "trainer.accumulate=2", alone))
    for tag in ("train/gradient_norm", "validation/loss", "validation/bleu", "alignment/aer"):
        together, single = ([event.value for event in board(tmp_path / name).Scalars(tag)] for name in ("run", "alone"))
        assert together == pytest.approx(single, rel=1e-4), tag
    # the first process' share of the loss; the mean of both is what the single process has
    assert len(board(tmp_path / "run").Scalars("train/loss")) == len(board(tmp_path / "alone").Scalars("train/loss"))


@pytest.mark.skipif(not CHILDREN.exists(), reason="needs /proc")
def test_two_processes_are_stopped_by_one_signal_and_gone_on_with_by_one_process(tmp_path):
    process, _ = under_way(tmp_path)
    process.send_signal(signal.SIGTERM)
    status, output = ends(process)
    assert status == 128 + signal.SIGTERM
    assert f"to go on: python scripts/train.py resume=true run_dir={tmp_path / 'run'}" in output
    stopped = output.partition("stopped at step ")[2].partition(",")[0]
    asked = {"trainer.devices": 1, "trainer.strategy": "auto", "trainer.max_steps": int(stopped) + 3}
    more = ("resume=true", *(f"{key}={value}" for key, value in asked.items()))
    result = tiny.load_script("train").train(settings(tmp_path, *more), asked)
    assert result["train"]["steps"] == int(stopped) + 3


@pytest.mark.skipif(not CHILDREN.exists(), reason="needs /proc")
def test_a_process_that_dies_ends_the_others_with_the_command_to_go_on(tmp_path):
    process, second = under_way(tmp_path)
    os.kill(second, signal.SIGKILL)
    status, output = ends(process)
    assert status == 2
    assert "error: another process of this run has died; to go on: python scripts/train.py resume=true" in output
