"""What the libraries below may keep; each in a process of its own, because it holds for a whole process."""

import os
import subprocess
import sys

import pytest

from seq2seq.linear import ONEDNN
from seq2seq.memory import KERNELS, keep_few_kernels

GROWTH = """
import sys, torch
from pathlib import Path
from torch import nn
from seq2seq.decoding.products import products

def resident():  # MB
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

torch.set_num_threads(1)
model, x = nn.Linear(64, 64), torch.randn(600, 64)
with torch.no_grad(), products(model):
    before = resident()
    for rows in range(1, 601):
        model(x[:rows])
    print(resident() - before)
"""


def growth(**capacities):
    outer = {name: value for name, value in os.environ.items() if not name.endswith("_CACHE_CAPACITY")}
    done = subprocess.run([sys.executable, "-c", GROWTH], env=outer | capacities, capture_output=True, check=True)
    return float(done.stdout)


@pytest.mark.skipif(not ONEDNN or sys.platform != "linux", reason="without oneDNN no kernels are made")
def test_products_of_many_sizes_do_not_fill_the_memory():
    kept = growth()
    assert kept < 100
    assert growth(ONEDNN_PRIMITIVE_CACHE_CAPACITY="1024", LRU_CACHE_CAPACITY="1024") > 3 * kept


def test_what_the_environment_says_holds(monkeypatch):
    monkeypatch.setattr(os, "environ", {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "7"})
    keep_few_kernels()
    assert os.environ == {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "7", "LRU_CACHE_CAPACITY": KERNELS}
