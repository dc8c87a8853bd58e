"""From a corpus and its tokenizers to Lightning's loaders of batches.

Legend: n pairs of a split, B sentences of a batch.
"""

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import datasets
import numpy as np
import torch
from datasets import Dataset, DatasetDict
from lightning.pytorch import LightningDataModule
from torch.utils import data

from seq2seq.data.batching import LONGEST, Batch, PlannedBatch, Ragged, make_batch, plan_batches
from seq2seq.data.corpora import blocks, fingerprint
from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.errors import UserError

log = logging.getLogger(__name__)

SHORT = 5  # pieces: up to here a pair is never judged by the ratio of its lengths ("Hi." may take four pieces)


@dataclass(frozen=True)
class Split(data.Dataset):
    """The pairs of one split that are used, as pieces. Indexed by a planned batch, it gives the padded batch.

    rows: (n,) int32, the rows' numbers in the corpus; source, target: their pieces, by row number in the corpus.
    """

    rows: np.ndarray
    source: Ragged
    target: Ragged

    def __getitem__(self, planned: PlannedBatch) -> Batch:
        return make_batch(self.source, self.target, planned)

    def plan(self, **settings: Any) -> list[PlannedBatch]:
        """``plan_batches`` over the rows in use; the batches carry row numbers of the corpus."""
        plan = plan_batches(self.source.lengths[self.rows], self.target.lengths[self.rows], **settings)
        return [PlannedBatch(self.rows[batch.rows], batch.step_tokens) for batch in plan]


class PlanSampler(data.Sampler[PlannedBatch]):
    """Gives this rank's share of each epoch's plan. Lightning calls ``set_epoch`` before every epoch."""

    def __init__(self, split: Split, rank: int = 0, world_size: int = 1, **settings: Any) -> None:
        """settings: those of ``plan_batches``, but for epoch and world_size."""
        self._split = split
        self._rank, self._world_size = rank, world_size
        self._settings = settings
        self.skip = 0  # batches left out at the beginning of a pass
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Plan this epoch."""
        plan = self._split.plan(epoch=epoch, world_size=self._world_size, **self._settings)
        self.epoch = epoch
        self._plan = plan[self._rank :: self._world_size]

    def __len__(self) -> int:
        return len(self._plan)

    def __iter__(self) -> Iterator[PlannedBatch]:
        return iter(self._plan[self.skip :])


class TrainLoader(data.DataLoader):
    """A DataLoader that Lightning can stop and resume in the middle of an epoch.

    A pass begins when its first batch is asked for: Lightning makes the first iterator before it calls
    ``set_epoch``, and workers that started at once would load another epoch's batches in a resumed run.
    """

    _given = 0
    _resume: dict[str, int] | None = None

    def __iter__(self) -> Iterator[Batch]:
        resume, self._resume = self._resume, None
        resumed = resume is not None and resume["epoch"] == self.sampler.epoch
        self._given = self.sampler.skip = resume["given"] if resumed else 0
        for batch in super().__iter__():
            self._given += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Where the pass stands, or is going to begin; Lightning puts it into the checkpoint."""
        return dict(self._resume) if self._resume else {"epoch": self.sampler.epoch, "given": self._given}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on behind the batches given; without effect where the next pass is another epoch's."""
        self._resume = dict(state)


class TranslationData(LightningDataModule):
    """Encodes a corpus once and loads its batches; see ``report`` for the pairs that training leaves out."""

    def __init__(
        self,
        corpus: DatasetDict,
        tokenizers: TokenizerPair,
        *,
        batch_tokens: int,
        max_length: int,
        max_ratio: float,
        seed: int,
        accumulate: int = 1,
        workers: int = 0,
    ) -> None:
        """Encode all splits (cached by content) and choose the training pairs.

        corpus: splits with columns ``source`` and ``target``. batch_tokens: the largest area of a batch, see
        ``plan_batches``. max_length: pieces of either side; max_ratio: longer side over shorter. Both hold for
        ``train`` alone, and so does the budget for single pairs; other splits keep every pair up to ``LONGEST``.
        Raises UserError where no pair to train on or to validate with is left.
        """
        super().__init__()
        if "train" in corpus and len(corpus["train"]) == 0:
            raise UserError("the training split is empty")
        self._corpus = corpus
        self._settings = {"batch_tokens": batch_tokens, "seed": seed, "accumulate": accumulate}
        self._workers = workers
        self.report: dict[str, dict[str, int]] = {}
        self._splits: dict[str, Split] = {}
        for name, dataset in corpus.items():
            source, target = _encode(dataset, tokenizers)
            if name == "train":
                rows, left_out = _usable(source.lengths, target.lengths, max_length, max_ratio, batch_tokens)
            else:
                long = np.maximum(source.lengths, target.lengths) > LONGEST  # (n,)
                rows, left_out = np.flatnonzero(~long).astype(np.int32), {"too_long": int(long.sum())}
            self.report[name] = {"pairs": len(dataset), "kept": len(rows)} | left_out
            self._splits[name] = Split(rows, source, target)
        if "train" in corpus:
            self._check_train()
        if "validation" in corpus:
            self._check_validation()

    def _check_validation(self) -> None:
        report = self.report["validation"]
        if report["kept"] == 0:
            raise UserError(f"no validation pair is left of {report['pairs']}: all have more than {LONGEST} pieces")
        if report["too_long"]:
            counts = report["too_long"], report["pairs"], LONGEST
            log.warning("validation leaves out %d of %d pairs: they have more than %d pieces", *counts)

    def _check_train(self) -> None:
        report = self.report["train"]
        left_out = {reason: count for reason, count in report.items() if reason not in ("pairs", "kept")}
        reasons = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in left_out.items())
        if report["kept"] == 0:
            raise UserError(
                f"no training pair is left of {report['pairs']} ({reasons}); "
                "raise data.max_length, data.max_ratio or data.batch_tokens, or look at the corpus"
            )
        if report["kept"] < report["pairs"]:
            log.info(
                "training leaves out %d of %d pairs: %s", report["pairs"] - report["kept"], report["pairs"], reasons
            )

    def texts(self, split: str) -> tuple[list[str], list[str]]:
        """The normalised sources and references of a split, in its order."""
        table = self._corpus[split].with_format("arrow")[:]
        return table["source"].to_pylist(), table["target"].to_pylist()

    def train_dataloader(self) -> TrainLoader:
        """This rank's training batches, in another order every epoch."""
        return self._loader(TrainLoader, "train", shuffle=True, **self._settings)

    def val_dataloader(self) -> data.DataLoader:
        """This rank's validation batches, by length; ``Batch.rows`` tells where each sentence belongs."""
        return self._loader(data.DataLoader, "validation", shuffle=False, **self._settings | {"accumulate": 1})

    def _loader(self, kind: type[data.DataLoader], name: str, **settings: Any) -> data.DataLoader:
        rank, world_size = _rank_and_world_size()
        split = self._splits[name]
        return kind(
            split,
            batch_size=None,
            sampler=PlanSampler(split, rank, world_size, **settings),
            num_workers=self._workers,
            collate_fn=_as_it_is,
            generator=torch.Generator(),  # else the loader draws from the global one, and the model's numbers change
            pin_memory=torch.cuda.is_available(),
            persistent_workers=self._workers > 0,
        )


def _as_it_is(batch: Batch) -> Batch:
    return batch


def _rank_and_world_size() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def _usable(
    source: np.ndarray, target: np.ndarray, max_length: int, max_ratio: float, batch_tokens: int
) -> tuple[np.ndarray, dict[str, int]]:
    """Row numbers fit for training, and how many are left out for which (first) reason. source, target: (n,) pieces."""
    shorter, longer = np.minimum(source, target), np.maximum(source, target)  # (n,)
    reasons = {
        "empty": lambda: shorter == 0,
        "too_long": lambda: longer > max_length,
        "over_budget": lambda: longer + 1 > batch_tokens,
        "out_of_ratio": lambda: (longer > SHORT) & (longer > max_ratio * shorter),
    }
    usable = np.ones(len(source), dtype=bool)  # (n,)
    counts = {}
    for reason, is_bad in reasons.items():
        bad = is_bad()  # (n,)
        counts[reason] = int((usable & bad).sum())
        usable &= ~bad
    return np.flatnonzero(usable).astype(np.int32), counts


def _encode(dataset: Dataset, tokenizers: TokenizerPair) -> tuple[Ragged, Ragged]:
    """The pieces of both columns, kept on disk under a name made of the texts and the vocabularies."""
    digest = hashlib.sha256(fingerprint(DatasetDict(split=dataset)).encode())
    for model in (tokenizers.source.to_bytes(), tokenizers.target.to_bytes()):
        digest.update(hashlib.sha256(model).digest())
    folder = Path(datasets.config.HF_DATASETS_CACHE) / "seq2seq_pieces" / digest.hexdigest()[:32]
    if not folder.is_dir():
        _write_pieces(folder, dataset, tokenizers)
    return Ragged.load(folder / "source"), Ragged.load(folder / "target")


def _write_pieces(folder: Path, dataset: Dataset, tokenizers: TokenizerPair) -> None:
    """Write beside, then rename: another process finds all of it or nothing."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".") as temporary:
        made = Path(temporary) / "pieces"
        made.mkdir()
        for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
            Ragged.write(made / side, map(tokenizer.encode, blocks(dataset, side)))
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise
