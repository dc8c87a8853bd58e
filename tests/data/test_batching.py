import pickle

import numpy as np
import pytest
import torch

from seq2seq.data.batching import Batch, PlannedBatch, Ragged, make_batch, plan_batches, source_batch
from seq2seq.symbols import BOS, EOS, PAD


@pytest.mark.parametrize("shuffle", [True, False])
def test_all_steps_have_the_same_number_of_batches(many, shuffle):
    for world_size, accumulate in [(1, 1), (2, 1), (1, 4), (3, 5)]:
        plan = plan_batches(
            *many, batch_tokens=4096, seed=0, epoch=0, shuffle=shuffle, world_size=world_size, accumulate=accumulate
        )
        assert len(plan) % (world_size * accumulate) == 0


def realistic_lengths(count, random):
    """Sentence lengths as in news text: a long tail, and sides that go together."""
    source = np.clip(random.lognormal(3.1, 0.55, count), 1, 99).astype(np.int64)
    target = np.clip(source * random.lognormal(0.1, 0.2, count), 1, 99).astype(np.int64)
    return source, target


@pytest.fixture
def many():
    return realistic_lengths(20_000, np.random.default_rng(0))


def as_lists(plan):
    return [batch.rows.tolist() for batch in plan]


def test_the_plan_depends_on_seed_and_epoch_alone(many):
    options = {"batch_tokens": 1000, "seed": 3, "epoch": 5}
    plan = as_lists(plan_batches(*many, **options))
    torch.manual_seed(1)
    np.random.seed(1)
    numpy_state, torch_state = np.random.get_state()[1].tolist(), torch.get_rng_state()
    assert as_lists(plan_batches(*many, **options)) == plan
    assert np.random.get_state()[1].tolist() == numpy_state
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert as_lists(plan_batches(*many, **options | {"seed": 4})) != plan
    assert as_lists(plan_batches(*many, **options | {"epoch": 6})) != plan


def test_neighbours_in_a_batch_change_from_epoch_to_epoch(many):
    first, second = (
        {frozenset(batch.rows.tolist()) for batch in plan_batches(*many, batch_tokens=1000, seed=0, epoch=epoch)}
        for epoch in (0, 1)
    )
    assert len(first & second) < 0.05 * len(first)


def test_neighbours_change_even_where_no_two_lengths_are_equal():
    lengths = np.arange(60)
    plans = [as_lists(plan_batches(lengths, lengths, batch_tokens=400, seed=0, epoch=epoch)) for epoch in range(8)]
    assert len({tuple(sorted(map(tuple, plan))) for plan in plans}) > 3


def test_a_batch_may_fill_the_budget_to_the_last_token():
    nine = np.full(4, 9)  # ten with EOS
    plan = plan_batches(nine, nine, batch_tokens=20, seed=0, epoch=0, shuffle=False)
    assert [len(batch.rows) for batch in plan] == [2, 2]


def test_batches_do_not_come_by_length(many):
    plan = plan_batches(*many, batch_tokens=1000, seed=0, epoch=0)
    sizes = np.array([len(batch.rows) for batch in plan])
    assert abs(np.corrcoef(sizes[:-1], sizes[1:])[0, 1]) < 0.1


def test_unshuffled_batches_come_by_length_and_ignore_the_seed(many):
    plan = plan_batches(*many, batch_tokens=1000, seed=0, epoch=0, shuffle=False)
    widths = np.maximum(*many)[np.concatenate([batch.rows for batch in plan])]
    assert (np.diff(widths) >= 0).all()
    assert as_lists(plan) == as_lists(plan_batches(*many, batch_tokens=1000, seed=9, epoch=9, shuffle=False))


@pytest.mark.parametrize("batch_tokens", [1024, 4096])
def test_little_is_padding(many, batch_tokens):
    source, target = many[0] + 1, many[1] + 1
    plan = plan_batches(*many, batch_tokens=batch_tokens, seed=0, epoch=0)
    area = sum(len(batch.rows) * (source[batch.rows].max() + target[batch.rows].max()) for batch in plan)
    assert (source.sum() + target.sum()) / area > 0.9


def test_a_pair_over_the_budget_is_a_batch_by_itself():
    plan = plan_batches(np.array([3, 50, 3]), np.array([3, 60, 3]), batch_tokens=20, seed=0, epoch=0, shuffle=False)
    assert as_lists(plan) == [[0, 2], [1]]


def test_no_rows_make_no_batches():
    empty = np.array([], dtype=np.int64)
    assert plan_batches(empty, empty, batch_tokens=20, seed=0, epoch=0) == []


def ragged(rows):
    return Ragged(np.array([piece for row in rows for piece in row], dtype=np.int32), np.cumsum([0, *map(len, rows)]))


SOURCE = [[10, 11], [], [12], [13, 14, 15]]
TARGET = [[20], [21, 22, 23], [], [24]]


def test_a_batch_is_padded_right_with_bos_and_eos_where_they_belong():
    batch = make_batch(ragged(SOURCE), ragged(TARGET), PlannedBatch(np.array([3, 1, 2]), 99))
    assert batch.rows.tolist() == [3, 1, 2]
    assert batch.source.tolist() == [[13, 14, 15, EOS], [EOS, PAD, PAD, PAD], [12, EOS, PAD, PAD]]
    assert batch.source_lengths.tolist() == [4, 1, 2]
    assert batch.target_input.tolist() == [[BOS, 24, PAD, PAD], [BOS, 21, 22, 23], [BOS, PAD, PAD, PAD]]
    assert batch.target_output.tolist() == [[24, EOS, PAD, PAD], [21, 22, 23, EOS], [EOS, PAD, PAD, PAD]]
    assert batch.tokens == int((batch.target_output != PAD).sum()) == 7
    assert batch.step_tokens == 99
    for tensor in (batch.rows, batch.source, batch.source_lengths, batch.target_input, batch.target_output):
        assert tensor.dtype == torch.int64


def test_a_sliced_array_of_pieces_reads_the_same():
    whole = ragged([[7, 7, 7], *SOURCE])
    sliced = Ragged(whole.values, whole.offsets[1:])
    assert sliced.lengths.tolist() == [2, 0, 1, 3]
    assert sliced.padded(np.array([0, 3]))[0].tolist() == [[10, 11, PAD], [13, 14, 15]]


def test_a_source_batch_is_the_source_of_a_full_batch():
    source, lengths = source_batch(SOURCE)
    batch = make_batch(ragged(SOURCE), ragged(TARGET), PlannedBatch(np.arange(4), 0))
    assert torch.equal(source, batch.source)
    assert torch.equal(lengths, batch.source_lengths)


def test_no_sentences_make_an_empty_source_batch():
    source, lengths = source_batch([])
    assert source.shape == (0, 0)
    assert lengths.shape == (0,)


def test_to_moves_every_tensor_and_keeps_the_counts():
    batch = make_batch(ragged(SOURCE), ragged(TARGET), PlannedBatch(np.arange(4), 5)).to("meta")
    tensors = [value for value in vars(batch).values() if isinstance(value, torch.Tensor)]
    assert len(tensors) == 5
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert isinstance(batch, Batch)
    assert (batch.tokens, batch.step_tokens) == (9, 5)


def test_rows_come_back_from_files_and_a_spawned_worker_gets_no_copy(tmp_path):
    many = [SOURCE * 300, [[], []], SOURCE]
    Ragged.write(tmp_path / "pieces", iter(many))
    read, expected = Ragged.load(tmp_path / "pieces"), ragged([row for block in many for row in block])
    sent = pickle.dumps(read)
    assert len(sent) < 500
    for found in (read, pickle.loads(sent)):
        assert np.array_equal(found.values, expected.values)
        assert np.array_equal(found.offsets, expected.offsets)
        assert np.array_equal(found.lengths, expected.lengths)
        assert isinstance(found.values.base, np.memmap)
    assert np.array_equal(pickle.loads(pickle.dumps(expected)).values, expected.values)


@pytest.mark.parametrize("many", [[], [[[], []]]])
def test_rows_without_pieces_come_back_from_files(tmp_path, many):
    Ragged.write(tmp_path / "pieces", many)
    assert Ragged.load(tmp_path / "pieces").lengths.tolist() == [0] * sum(map(len, many))
