"""bf16 against fp32, by what a whole training gives: ten minutes on two cores."""

import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from seq2seq.training.settings import precision

TRAIN = Path(__file__).resolve().parents[2] / "scripts" / "train.py"
SEEDS = 1, 2, 3


@pytest.mark.long
@pytest.mark.skipif(precision("auto", "cpu") != "bf16-mixed", reason="bf16 is slow on this processor, and not used")
def test_bf16_translates_as_well_as_fp32(tmp_path):
    bleu = {"32-true": [], "bf16-mixed": []}
    for seed in SEEDS:
        started = []
        for name in bleu:
            options = ["model=luong", f"seed={seed}", "trainer.max_epochs=3", "trainer.accelerator=cpu"]
            command = [sys.executable, TRAIN, *options, f"trainer.precision={name}", f"run_dir={name}-{seed}"]
            environment = os.environ | {"OMP_NUM_THREADS": "1"}
            with open(tmp_path / f"{name}-{seed}.log", "w") as log:
                started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log))
        assert [process.wait() for process in started] == [0, 0]
        for name, found in bleu.items():
            metrics = json.loads((tmp_path / f"{name}-{seed}" / "metrics.json").read_text("utf-8"))
            assert metrics["train"]["precision"] == name
            found.append(metrics["test"]["bleu"])
    wide, narrow = bleu.values()
    noise = math.sqrt((statistics.variance(wide) + statistics.variance(narrow)) / len(SEEDS))
    print(bleu)
    assert min(wide) > 40  # they have learnt something
    assert abs(statistics.mean(wide) - statistics.mean(narrow)) < max(1.0, 2 * noise)
