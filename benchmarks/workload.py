"""Writes the work that all toolkits are given: batches to train on and sentences to translate, as piece ids.

    python benchmarks/workload.py work.npz [FOLDER with train.en, train.vi, test.en, test.vi]

Vocabulary and batches are this project's: joint byte-pair encoding, sentences of like length together, no batch of
more than ``--batch-tokens`` padded positions. Without a folder the built-in corpus is taken.
"""

import argparse
from itertools import islice
from pathlib import Path

import torch
from protocol import BOS, PAD, STEPS, Batch, Workload
from torch import Tensor

from seq2seq.data.batching import source_batch
from seq2seq.data.corpora import lines, load_corpus
from seq2seq.data.datamodule import TranslationData
from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.decoding.search import LENGTH_EXTRA, LENGTH_FACTOR
from seq2seq.errors import UserError

LEAST = -(-(STEPS - LENGTH_EXTRA) // LENGTH_FACTOR)  # ids of a source for which our search takes STEPS steps
ROWS = 64  # sentences of a decoding batch


def make_workload(
    folder: str | None = None,
    *,
    vocabulary_size: int = 8000,
    batch_tokens: int = 4096,
    batches: int = 200,
    sentences: int = 256,
    seed: int = 1,
) -> Workload:
    """At most the first ``batches`` of the epoch that ``seed`` plans, and ``sentences`` of the test split.

    folder: ``{train,test}.{en,vi}`` lie there; None: the built-in corpus. The test sentences are spread evenly over
    the split, those left out that are so short that our search would stop before ``STEPS``.
    Raises UserError for a corpus that is not as it should be, or has too few such sentences.
    """
    corpus = load_corpus("files", dir=folder) if folder else load_corpus("grammar")
    if not {"train", "test"} <= corpus.keys():
        raise UserError(f"{folder} needs train.en, train.vi, test.en and test.vi")
    corpus = type(corpus)({split: corpus[split] for split in ("train", "test")})
    texts = (lines(corpus["train"], side) for side in ("source", "target"))
    tokenizers = TokenizerPair.train(*texts, vocabulary_size)
    data = TranslationData(
        corpus, tokenizers, batch_tokens=batch_tokens, max_length=128, max_ratio=3.0, seed=seed, workers=0
    )
    train = [_sorted(batch.source, batch.target_output) for batch in islice(data.train_dataloader(), batches)]
    encoded = [ids for ids in tokenizers.source.encode(list(corpus["test"]["source"])) if len(ids) + 1 >= LEAST]
    if len(encoded) < sentences:
        raise UserError(f"the test split has {len(encoded)} sentences of {LEAST} pieces and more: ask for fewer")
    chosen = sorted((encoded[number * len(encoded) // sentences] for number in range(sentences)), key=len, reverse=True)
    decode = [source_batch(chosen[first : first + ROWS])[0] for first in range(0, sentences, ROWS)]
    return Workload(len(tokenizers.target), train, decode)


def _sorted(source: Tensor, target_output: Tensor) -> Batch:
    """Longest source first, as packed recurrences want it. source: (B, S), target_output: (B, T)."""
    order = source.ne(PAD).sum(1).argsort(descending=True, stable=True)  # (B,)
    begin = torch.full((len(source), 1), BOS)  # (B, 1)
    return Batch(source[order], torch.cat([begin, target_output], 1)[order])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="file to write, .npz")
    parser.add_argument("folder", nargs="?", help="corpus; default: the built-in one")
    parser.add_argument("--vocabulary-size", type=int, default=8000)
    parser.add_argument("--batch-tokens", type=int, default=4096, help="padded positions of a batch")
    parser.add_argument("--batches", type=int, default=200, help="to train on, at most")
    parser.add_argument("--sentences", type=int, default=256, help="to translate")
    parser.add_argument("--seed", type=int, default=1)
    options = vars(parser.parse_args())
    output = options.pop("output")
    try:
        workload = make_workload(**options)
    except UserError as error:
        parser.error(str(error))
    workload.save(output)
    pieces = sum(batch.pieces for batch in workload.train)
    area = sum(batch.source.numel() + batch.target_output.numel() for batch in workload.train)
    print(
        f"{output}: {len(workload.train)} batches, {pieces:,} pieces ({pieces / area:.0%} of the padded area); "
        f"{sum(map(len, workload.decode))} sentences; vocabulary {workload.vocabulary:,}"
    )


if __name__ == "__main__":
    main()
