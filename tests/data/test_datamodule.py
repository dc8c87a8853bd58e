from itertools import chain

import datasets
import lightning
import numpy as np
import pytest
import torch
from datasets import Dataset, DatasetDict
from torch import nn

from seq2seq.data import datamodule as module
from seq2seq.data.datamodule import TranslationData
from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.errors import UserError
from seq2seq.symbols import BOS, EOS, PAD

NOUNS = ["mèo", "chó", "bàn", "ghế", "sách", "bạn", "nhà", "cây"]
SETTINGS = {"batch_tokens": 200, "max_length": 60, "max_ratio": 99.0, "seed": 1}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def sentences(count, seed=0):
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(NOUNS, random.integers(1, 9))) for _ in range(count)]


def split_of(sources, targets=None):
    return Dataset.from_dict({"source": sources, "target": targets or sources[::-1]})


@pytest.fixture(scope="module")
def tokenizers():
    return TokenizerPair.train(sentences(60), ["a b c d e"], 290)


@pytest.fixture
def corpus():
    return DatasetDict(train=split_of(sentences(80)), validation=split_of(sentences(30, seed=1)))


def epochs(data, count=1):
    """The rows of every batch of some epochs, as Lightning would ask for them."""
    loader, seen = data.train_dataloader(), []
    for epoch in range(count):
        loader.sampler.set_epoch(epoch)
        assert len(loader) == len(loader.sampler)
        batches = [batch.rows.tolist() for batch in loader]
        assert len(batches) == len(loader)
        seen.append(batches)
    return seen


def as_numbers(batch):
    return {name: value.tolist() if torch.is_tensor(value) else value for name, value in vars(batch).items()}


def test_batches_hold_the_texts_of_their_rows(corpus, tokenizers):
    data = TranslationData(corpus, tokenizers, **SETTINGS)
    for loader, split in ((data.train_dataloader(), "train"), (data.val_dataloader(), "validation")):
        sources, references = data.texts(split)
        rows = []
        for batch in loader:
            rows += batch.rows.tolist()
            assert tokenizers.source.decode(batch.source.tolist()) == [sources[row] for row in batch.rows]
            assert tokenizers.target.decode(batch.target_output.tolist()) == [references[row] for row in batch.rows]
            assert (batch.target_input[:, 0] == BOS).all()
            assert batch.source.numel() <= SETTINGS["batch_tokens"] >= batch.target_input.numel()
            assert (batch.source.gather(1, batch.source_lengths[:, None] - 1) == EOS).all()
            assert batch.tokens == batch.step_tokens == int((batch.target_output != PAD).sum())
        assert sorted(rows) == list(range(len(sources)))


def test_separate_vocabularies_encode_their_own_side(corpus):
    pair = TokenizerPair.train(sentences(60), ["one two three four"] * 3, 285, shared=False)
    batch = next(iter(TranslationData(corpus, pair, **SETTINGS).val_dataloader()))
    row = int(batch.rows[0])
    source, target = corpus["validation"][row].values()
    assert batch.source[0, : batch.source_lengths[0] - 1].tolist() == pair.source.encode([source])[0]
    expected = pair.target.encode([target])[0]
    assert batch.target_output[0, : len(expected)].tolist() == expected


def test_unfit_pairs_are_left_out_of_training_alone_and_counted_once(tokenizers):
    fit, long, longer = "mèo", " ".join(["mèo"] * 15), " ".join(["mèo"] * 40)
    pairs = [(fit, fit), ("", fit), (fit, ""), ("", ""), (longer, longer), (long, fit), (fit, long), ("", longer)]
    split = split_of(*map(list, zip(*pairs, strict=True)))
    data = TranslationData(
        DatasetDict(train=split, validation=split), tokenizers, **SETTINGS | {"max_length": 30, "max_ratio": 4}
    )
    assert data.report["train"] == {
        "pairs": 8, "kept": 1, "empty": 4, "too_long": 1, "over_budget": 0, "out_of_ratio": 2,
    }  # fmt: skip
    assert epochs(data) == [[[0]]]
    assert data.report["validation"] == {"pairs": 8, "kept": 8, "too_long": 0}
    assert sorted(row for batch in data.val_dataloader() for row in batch.rows.tolist()) == list(range(8))


def test_a_pair_longer_than_a_batch_is_left_out_of_training_and_alone_in_validation(tokenizers):
    split = split_of(["mèo", " ".join(["mèo"] * 40), "chó"], ["mèo", "mèo", "chó"])
    data = TranslationData(
        DatasetDict(train=split, validation=split), tokenizers, batch_tokens=30, max_length=99, max_ratio=99, seed=0
    )
    assert data.report["train"]["over_budget"] == 1
    assert [batch.rows.tolist() for batch in data.val_dataloader()] == [[0, 2], [1]]


def test_no_pair_left_is_an_error_that_counts_the_reasons(tokenizers):
    corpus = DatasetDict(train=split_of(["", " ".join(NOUNS)]))
    with pytest.raises(UserError, match=r"no training pair is left of 2 \(2 empty, 0 too long"):
        TranslationData(corpus, tokenizers, **SETTINGS)
    with pytest.raises(UserError, match="empty"):
        TranslationData(DatasetDict(train=split_of([], [])), tokenizers, **SETTINGS)


def test_epochs_differ_and_the_same_seed_repeats_them(corpus, tokenizers):
    first, second = epochs(TranslationData(corpus, tokenizers, **SETTINGS), 2)
    assert first != second
    assert sorted(chain.from_iterable(first)) == sorted(chain.from_iterable(second))
    assert epochs(TranslationData(corpus, tokenizers, **SETTINGS), 2) == [first, second]
    assert epochs(TranslationData(corpus, tokenizers, **SETTINGS | {"seed": 2})) != [first]


@pytest.fixture
def start_method(request):
    """Processes start in another way than the system's."""
    usual = torch.multiprocessing.get_start_method()
    torch.multiprocessing.set_start_method(request.param, force=True)
    yield
    torch.multiprocessing.set_start_method(usual, force=True)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("start_method", ["fork", pytest.param("spawn", marks=pytest.mark.long)], indirect=True)
@pytest.mark.usefixtures("start_method")
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_any_number_of_workers_gives_the_same_batches(corpus, tokenizers, workers):
    alone, shared = (TranslationData(corpus, tokenizers, **SETTINGS, workers=number) for number in (0, workers))
    loaders = alone.train_dataloader(), shared.train_dataloader()
    for epoch in range(2):
        for loader in loaders:
            loader.sampler.set_epoch(epoch)
        assert list(map(as_numbers, loaders[0])) == list(map(as_numbers, loaders[1]))
    assert list(map(as_numbers, alone.val_dataloader())) == list(map(as_numbers, shared.val_dataloader()))


def test_loading_leaves_the_global_random_state_alone(corpus, tokenizers):
    data = TranslationData(corpus, tokenizers, **SETTINGS)
    before = torch.get_rng_state()
    list(data.train_dataloader())
    list(data.val_dataloader())
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("loader", ["train_dataloader", "val_dataloader"])
def test_ranks_share_one_list_in_equal_parts(corpus, tokenizers, monkeypatch, loader):
    data = TranslationData(corpus, tokenizers, **SETTINGS, accumulate=2)
    parts = []
    for rank in range(3):
        monkeypatch.setattr(module, "_rank_and_world_size", lambda rank=rank: (rank, 3))
        parts.append(list(getattr(data, loader)()))
    assert len({len(part) for part in parts}) == 1
    rows = [row for part in parts for batch in part for row in batch.rows.tolist()]
    assert sorted(rows) == list(range(len(rows)))
    group = 2 if loader == "train_dataloader" else 1
    for start in range(0, len(parts[0]), group):
        step = [batch for part in parts for batch in part[start : start + group]]
        assert {batch.step_tokens for batch in step} == {sum(batch.tokens for batch in step)}


class TestCache:
    @pytest.fixture
    def encoded(self, monkeypatch):
        """How many rows were really encoded, split by split."""
        rows, write = [], module._write_pieces

        def counted(folder, dataset, tokenizers):
            rows.append(len(dataset))
            write(folder, dataset, tokenizers)

        monkeypatch.setattr(module, "_write_pieces", counted)
        return rows

    def test_the_same_text_is_encoded_once_whatever_the_batch_settings(self, corpus, tokenizers, encoded):
        first = epochs(TranslationData(corpus, tokenizers, **SETTINGS))
        again = DatasetDict({name: Dataset.from_dict(split.to_dict()) for name, split in corpus.items()})
        assert epochs(TranslationData(again, tokenizers, **SETTINGS)) == first
        TranslationData(corpus, tokenizers, **SETTINGS | {"batch_tokens": 99, "max_length": 9, "seed": 5})
        assert encoded == [80, 30]

    def test_other_text_or_another_vocabulary_is_encoded_anew(self, corpus, tokenizers, encoded):
        TranslationData(corpus, tokenizers, **SETTINGS)
        corpus["train"] = split_of(sentences(80), sentences(80))
        TranslationData(corpus, tokenizers, **SETTINGS)
        other = TokenizerPair.train(sentences(60), ["a b c d e"], 280)
        batch = next(iter(TranslationData(corpus, other, **SETTINGS).val_dataloader()))
        assert encoded == [80, 30, 80, 80, 30]
        texts = [corpus["validation"][row]["source"] for row in batch.rows.tolist()]
        assert other.source.decode(batch.source.tolist()) == texts

    def test_a_process_that_comes_second_takes_what_the_first_wrote(self, corpus, tokenizers, monkeypatch):
        write = module._write_pieces

        def twice(*arguments):
            write(*arguments)
            write(*arguments)

        monkeypatch.setattr(module, "_write_pieces", twice)
        assert epochs(TranslationData(corpus, tokenizers, **SETTINGS))
        assert len(list((datasets.config.HF_DATASETS_CACHE / "seq2seq_pieces").iterdir())) == 2  # and nothing beside

    def test_encoding_that_fails_leaves_nothing(self, corpus, tokenizers, monkeypatch):
        def failing(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(module.Ragged, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            TranslationData(corpus, tokenizers, **SETTINGS)
        assert not list((datasets.config.HF_DATASETS_CACHE / "seq2seq_pieces").iterdir())


class Recorder(lightning.LightningModule):
    """Remembers the rows of each training batch, by epoch, and the tokens of each optimiser step."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.seen, self.validated, self.steps = {}, [], []
        self.tokens = 0

    def training_step(self, batch):
        self.seen.setdefault(self.current_epoch, []).append(batch.rows.tolist())
        self.tokens += batch.tokens
        self.expected = batch.step_tokens
        return self.weight * batch.tokens

    def on_before_optimizer_step(self, optimizer):
        self.steps.append((self.tokens, self.expected))
        self.tokens = 0

    def validation_step(self, batch):
        self.validated += batch.rows.tolist()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.0)


class Saver(lightning.Callback):
    """Writes a checkpoint where it is told to: after a training batch, or after validation."""

    def __init__(self, path, batch=None):
        self.path, self.batch = path, batch

    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        if self.batch is not None and number == self.batch and trainer.current_epoch == 1:
            trainer.save_checkpoint(self.path)

    def on_validation_end(self, trainer, module):
        if self.batch is None and trainer.current_epoch == 1 and not trainer.sanity_checking:
            trainer.save_checkpoint(self.path)


def fit(data, folder, epochs, accumulate=1, saver=None, checkpoint=None):
    recorder = Recorder()
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=epochs, use_distributed_sampler=False, accumulate_grad_batches=accumulate,
        logger=False, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
        default_root_dir=folder, callbacks=saver,
    )  # fmt: skip
    trainer.fit(recorder, datamodule=data, ckpt_path=checkpoint, weights_only=True if checkpoint else None)
    return recorder


@pytest.mark.filterwarnings("ignore")
class TestUnderLightning:
    def test_every_epoch_has_its_own_order_and_all_rows(self, corpus, tokenizers, tmp_path):
        recorder = fit(TranslationData(corpus, tokenizers, **SETTINGS), tmp_path, 3)
        assert list(recorder.seen.values()) == epochs(TranslationData(corpus, tokenizers, **SETTINGS), 3)
        for epoch in recorder.seen.values():
            assert sorted(chain.from_iterable(epoch)) == list(range(80))
        assert set(recorder.validated) == set(range(30))

    def test_workers_change_nothing(self, corpus, tokenizers, tmp_path):
        recorder = fit(TranslationData(corpus, tokenizers, **SETTINGS, workers=1), tmp_path, 3)
        assert list(recorder.seen.values()) == epochs(TranslationData(corpus, tokenizers, **SETTINGS), 3)

    def test_step_tokens_are_the_tokens_of_lightnings_steps(self, corpus, tokenizers, tmp_path):
        data = TranslationData(corpus, tokenizers, **SETTINGS, accumulate=3)
        recorder = fit(data, tmp_path, 2, accumulate=3)
        assert len(recorder.steps) == 2 * len(data.train_dataloader()) // 3
        assert all(tokens == expected for tokens, expected in recorder.steps)

    @pytest.mark.parametrize("workers", [0, 1])
    @pytest.mark.parametrize("batch", [None, 0, 3])
    def test_a_resumed_run_sees_what_the_uninterrupted_one_saw(self, corpus, tokenizers, tmp_path, batch, workers):
        data = TranslationData(corpus, tokenizers, **SETTINGS, workers=workers)
        path = tmp_path / "saved.ckpt"
        whole = fit(data, tmp_path, 3, saver=Saver(path, batch)).seen
        resumed = fit(data, tmp_path, 3, checkpoint=path).seen
        rest = {} if batch is None else {1: whole[1][batch + 1 :]}
        assert resumed == rest | {2: whole[2]}
