import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.data.batching import Batch, PlannedBatch, Ragged, make_batch, plan_batches, source_batch
from seq2seq.symbols import BOS, EOS, PAD

pairs = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=120)
plans = {
    "batch_tokens": st.integers(41, 300),
    "seed": st.integers(0, 2**32),
    "epoch": st.integers(0, 99),
    "shuffle": st.booleans(),
    "world_size": st.integers(1, 4),
    "accumulate": st.integers(1, 4),
}


def lengths_of(pairs):
    source, target = np.array(pairs).T
    return source, target


def rows_of(plan):
    return np.concatenate([batch.rows for batch in plan])


def repeats(plan, pairs, options):
    """Whether rows may be repeated: the ranks cannot get equal shares of batches with a row or more each."""
    return options["shuffle"] and len(plan) > len(pairs)


@given(pairs, st.fixed_dictionaries(plans))
@settings(deadline=None)
def test_every_row_is_in_exactly_one_batch(pairs, options):
    plan = plan_batches(*lengths_of(pairs), **options)
    assert all(len(batch.rows) for batch in plan)
    rows = rows_of(plan).tolist()
    assert set(rows) == set(range(len(pairs)))
    if not repeats(plan, pairs, options):
        assert len(rows) == len(pairs)


@given(pairs, st.fixed_dictionaries(plans))
@settings(deadline=None)
def test_no_batch_is_over_budget(pairs, options):
    source, target = lengths_of(pairs)
    for batch in plan_batches(source, target, **options):
        longest = max(source[batch.rows].max(), target[batch.rows].max()) + 1
        assert len(batch.rows) * longest <= options["batch_tokens"]


@given(pairs, st.fixed_dictionaries(plans | {"shuffle": st.just(True)}))
@settings(deadline=None)
def test_all_ranks_get_the_same_number_of_training_batches(pairs, options):
    plan = plan_batches(*lengths_of(pairs), **options)
    assert len(plan) % options["world_size"] == 0


@pytest.mark.parametrize("shuffle", [True, False])
def test_all_steps_have_the_same_number_of_batches(many, shuffle):
    for world_size, accumulate in [(1, 1), (2, 1), (1, 4), (3, 5)]:
        plan = plan_batches(
            *many, batch_tokens=4096, seed=0, epoch=0, shuffle=shuffle, world_size=world_size, accumulate=accumulate
        )
        assert len(plan) % (world_size * accumulate) == 0


@given(pairs, st.fixed_dictionaries(plans))
@settings(deadline=None)
def test_step_tokens_are_the_target_tokens_of_all_batches_of_a_step(pairs, options):
    _, target = lengths_of(pairs)
    plan = plan_batches(*lengths_of(pairs), **options)
    group = options["world_size"] * options["accumulate"]
    for start in range(0, len(plan), group):
        step = plan[start : start + group]
        assert {batch.step_tokens for batch in step} == {int((target[rows_of(step)] + 1).sum())}


@given(pairs, st.fixed_dictionaries(plans), st.integers(0, 99))
@settings(deadline=None)
def test_every_epoch_has_the_same_number_of_batches(pairs, options, epoch):
    lengths = lengths_of(pairs)
    assert len(plan_batches(*lengths, **options)) == len(plan_batches(*lengths, **options | {"epoch": epoch}))


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
    widths = np.maximum(*many)[rows_of(plan)]
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
