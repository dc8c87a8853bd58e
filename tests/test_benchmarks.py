"""The benchmarks' workload, protocol and workers, on little work."""

import json
import subprocess
import sys

import compare
import numpy as np
import ours
import parts
import processes
import program
import protocol
import pytest
import scaling
import torch
import workload
from flops import training_flops
from torch.utils.flop_counter import FlopCounterMode

from seq2seq.errors import UserError

PAIRS = [([7, 8, 9, 10, 11], [12, 13]), ([14], [15, 16, 17])]  # pieces without special tokens


def batch_of(pairs):
    """The protocol's batch of pairs of ids."""
    sources, targets = ([torch.tensor(ids) for ids in side] for side in zip(*pairs, strict=True))
    singles = [
        protocol.Batch(
            torch.cat([source, torch.tensor([protocol.EOS])])[None],
            torch.cat([torch.tensor([protocol.BOS]), target, torch.tensor([protocol.EOS])])[None],
        )
        for source, target in zip(sources, targets, strict=True)
    ]
    return protocol.joined(singles)


@pytest.fixture(scope="module")
def small():
    return workload.make_workload(vocabulary_size=600, batch_tokens=200, batches=3, sentences=70)


def test_special_ids_are_the_projects():
    from seq2seq import symbols

    names = ("PAD", "UNK", "BOS", "EOS")
    assert [getattr(protocol, name) for name in names] == [getattr(symbols, name) for name in names]


def test_a_batch_gives_what_our_own_batches_hold():
    batch = batch_of(PAIRS)
    assert batch.source.tolist() == [[7, 8, 9, 10, 11, 3], [14, 3, 0, 0, 0, 0]]
    assert batch.target_input.tolist() == [[2, 12, 13, 0], [2, 15, 16, 17]]
    assert batch.target_output.tolist() == [[12, 13, 3, 0], [15, 16, 17, 3]]
    assert (batch.lengths.tolist(), batch.tokens, batch.pieces) == ([6, 2], 7, 15)


def test_the_workload_is_planned_as_training_is(small):
    assert len(small.train) == 3
    for batch in small.train:
        rows, source = batch.source.shape
        assert rows * max(source, batch.target_output.shape[1]) <= 200
        assert batch.lengths.tolist() == sorted(batch.lengths.tolist(), reverse=True)
        assert batch.lengths.max() == source
    lengths = torch.cat([source.ne(protocol.PAD).sum(1) for source in small.decode])
    assert [len(source) for source in small.decode] == [64, 6]
    assert lengths.tolist() == sorted(lengths.tolist(), reverse=True)
    assert lengths.min() >= workload.LEAST


def test_a_workload_comes_back_from_its_file(small, tmp_path):
    small.save(tmp_path / "work.npz")
    loaded = protocol.Workload.load(tmp_path / "work.npz")
    assert loaded.vocabulary == small.vocabulary
    for one, other in ((small.train, loaded.train), (small.decode, loaded.decode)):
        assert len(one) == len(other)
    assert all(torch.equal(a.source, b.source) for a, b in zip(small.train, loaded.train, strict=True))
    assert all(torch.equal(a.target, b.target) for a, b in zip(small.train, loaded.train, strict=True))
    assert all(map(torch.equal, small.decode, loaded.decode))


def test_a_corpus_that_is_too_small_is_refused():
    with pytest.raises(UserError, match="ask for fewer"):
        workload.make_workload(vocabulary_size=600, batch_tokens=200, batches=1, sentences=5000)


@pytest.mark.parametrize("name", ours.SETTINGS)
def test_our_worker_learns_masks_padding_and_makes_thirty_steps(name, small, monkeypatch):
    settings = ours.SETTINGS[name]
    tiny = {key: 32 for key in ("hidden", "embedding", "inner") if key in settings}
    monkeypatch.setitem(ours.SETTINGS, name, settings | tiny)
    torch.manual_seed(0)
    runner = protocol.Runner(ours.Ours(name, small.vocabulary, 1), small, per_slice=2)
    checked = runner.check()
    assert checked["together"] == pytest.approx(checked["alone"], rel=1e-5)
    assert checked["last"] < checked["first"] - 0.05
    trained = runner.answer("train", "bf16", "1")
    assert trained["units"] == small.train[2].pieces + small.train[0].pieces  # around the end of the list
    assert trained["seconds"] > 0
    assert trained["peak_mib"] > 0
    assert runner.answer("greedy", "fp32")["units"] == 70  # else, or with other lengths than 30, it raises


def test_a_search_that_stops_early_is_no_result(small):
    contender = ours.Ours("rnn", small.vocabulary, 1)
    contender.translate = lambda sources, beam, precision: [[5] * 30] * 69 + [[5] * 29]
    with pytest.raises(RuntimeError, match="29"):
        protocol.Runner(contender, small, 1).decode(1, "fp32")


def test_operations_of_a_transformer_step_are_those_counted_by_hand():
    # one pair of 2 source and 3 target positions, vocabulary 10; multiplications of a forward pass
    encoder = 2 * (4 * 256 * 256 + 2 * 256 * 1024) + 2 * 256 * 2 * 2
    decoder = 3 * (4 * 256 * 256 + 2 * 256 * 1024) + 2 * 256 * 3 * 3  # self-attention, feed-forward
    cross = 3 * 2 * 256 * 256 + 2 * 2 * 256 * 256 + 2 * 256 * 3 * 2
    by_hand = 6 * (3 * (encoder + decoder + cross) + 3 * 256 * 10)
    assert training_flops("transformer", np.array([2]), np.array([3]), 10) == by_hand


def _recurrence(inputs, weight_inputs, weight_hidden, *_, **__):
    """Operations of a fused LSTM: (T, B, I) inputs with (4H, I) and (4H, H)."""
    rows = inputs[0] * inputs[1]
    return 2 * rows * (weight_inputs[0] * weight_inputs[1] + weight_hidden[0] * weight_hidden[1])


def _attention(query, keys, values, *_, **__):
    """Operations of fused attention: (B, h, T, d) with (B, h, S, d)."""
    return 4 * query[0] * query[1] * query[2] * query[3] * keys[2]


ATEN = torch.ops.aten
FUSED = {
    ATEN.mkldnn_rnn_layer: _recurrence,
    ATEN.mkldnn_rnn_layer_backward: lambda *sizes, **_: 2 * _recurrence(*sizes),
    ATEN._scaled_dot_product_flash_attention_for_cpu: _attention,
    ATEN._scaled_dot_product_flash_attention_for_cpu_backward: lambda gradient, *sizes, **_: 2 * _attention(*sizes),
}


@pytest.mark.parametrize("name", ours.SETTINGS)
def test_operations_that_a_step_needs_are_those_that_it_does(name):
    pairs = [([5] * 11, [6] * 8)] * 4  # nothing is padded
    batch, vocabulary = batch_of(pairs), 50
    contender = ours.Ours(name, vocabulary, 1)
    contender.model.train()
    with FlopCounterMode(display=False, custom_mapping=FUSED) as counter:
        contender.loss(batch).backward()
    needed = training_flops(name, np.full(4, 12), np.full(4, 9), vocabulary)
    assert counter.get_total_flops() == pytest.approx(needed, rel=0.01)


def test_ratios_are_those_of_each_round():
    worker = type("Worker", (), {"toolkit": "peer", "hello": {"parameters": 1, "versions": {}}})
    mine, other = (compare.Entry(worker, "bf16", rates, [1.0] * 3) for rates in ([10, 40, 9], [5, 10, 9]))
    row = other.result("rnn", mine, None)
    assert (row["ratios"], row["ratio"], row["rate"]) == ([2, 4, 1], 2, 9)


@pytest.mark.long
@pytest.mark.parametrize("task", ["check", "train", "greedy"])
def test_the_command_compares_all_that_are_installed(task, tmp_path):
    work, output = tmp_path / "work.npz", tmp_path / "result.json"
    workload.make_workload(vocabulary_size=600, batch_tokens=200, batches=3, sentences=8).save(work)
    command = [sys.executable, str(compare.HERE / "compare.py"), task, "--workload", str(work), "--output", str(output)]
    command += ["--rounds", "2", "--per-slice", "1", "--threads", "1"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = json.loads(output.read_text("utf-8"))["rows"]
    environments = compare.parse([]).environments
    for model, toolkits in compare.PEERS.items():
        for toolkit in ("ours", *toolkits):
            found = [row for row in rows if (row["model"], row["toolkit"]) == (model, toolkit)]
            possible = task == "greedy" or toolkit != "ctranslate2"
            installed = compare.python_of(toolkit, environments).exists()
            assert bool(found) == (installed and (possible or task == "check"))
            for row in found:
                assert toolkit in printed
                if task == "check" and "alone" in row:
                    assert row["together"] == pytest.approx(row["alone"], rel=1e-4)
                    assert row["last"] < row["first"] - 0.5


def test_scaling_varies_one_thing_at_a_time():
    assert scaling.settings_of("rnn", 2)["hidden"] == 2 * protocol.HIDDEN
    assert scaling.settings_of("transformer", 0.5)["inner"] == protocol.INNER // 2
    batch = scaling.random_batch(length=16, positions=200, vocabulary=50)
    assert batch.source.shape == (12, 16)
    assert batch.target.shape == (12, 17)
    assert batch.tokens == 12 * 16
    assert batch.pieces == 2 * 12 * 16
    assert len(scaling.random_batch(length=300, positions=200, vocabulary=50).source) == 1


def test_scaling_measures_tabulates_and_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(scaling, "POSITIONS", 64)
    monkeypatch.setitem(scaling.AXES, "size", (0.125, 0.25))
    monkeypatch.setitem(scaling.AXES, "length", (4, 8))
    picture = tmp_path / "curve.png"
    arguments = ["size", "length", "--models", "rnn", "--repeats", "2", "--threads", "1", "--precision", "fp32"]
    rows = scaling.run([*arguments, "--output", str(picture)])
    places = [("size", 0.125), ("size", 0.25), ("length", 4), ("length", 8)]
    assert [(row["axis"], row["value"]) for row in rows] == places
    assert all(len(row["seconds"]) == 2 and row["pieces_per_second"] > 0 for row in rows)
    assert f"| rnn | {rows[0]['pieces_per_second']:,.0f} |" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(json.loads(picture.with_suffix(".json").read_text("utf-8"))["rows"]) == 4


@pytest.mark.parametrize(("model", "beam"), [("transformer", 2), ("rnn", 1)])
def test_the_parts_of_a_search_make_the_whole(small, model, beam):
    contender = ours.Ours(model, small.vocabulary, 1, ours.SETTINGS[model] | {"hidden": 16})
    contender.model.eval()
    contender.block_end()
    names = ("encode", "step", "project", "choose", "move", "rest")
    found = parts.parts_of(contender, small, beam, "fp32")
    assert sum(found.get(part, 0) for part in names) == pytest.approx(found["whole"])
    assert all(found[part] > 0 for part in ("encode", "step", "project", "choose", "rest"))
    assert ("move" in found) == (beam > 1)
    assert (found.get("attention", 0) > 0) == (model == "transformer")
    assert "encode" not in vars(contender.model)  # nothing is left behind


@pytest.mark.long
def test_the_whole_program_and_the_bare_loop_run(tmp_path):
    program.write_corpus(tmp_path, pairs=60)
    assert len((tmp_path / "train.vi").read_text("utf-8").splitlines()) == 60
    assert program.program("rnn", tmp_path, steps=2) > 0
    assert program.bare("rnn", tmp_path, steps=2) > 0


@pytest.mark.long
def test_two_processes_and_one_run(capsys):
    turns = processes.run(["rnn", "--steps", "2", "--rounds", "1", "--pairs", "60", "--positions", "200"])
    assert all(len(rates) == 1 and rates[0] > 0 for rates in turns["rnn"].values())
    assert "rnn: 2 processes" in capsys.readouterr().out
