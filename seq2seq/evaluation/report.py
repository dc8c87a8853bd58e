"""What a run says at its end: tables for the eye, and the same numbers as JSON."""

import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from seq2seq.evaluation.bleu import Scores
from seq2seq.evaluation.length import Bucket
from seq2seq.evaluation.patterns import HeadPattern

TRAIN_KEYS = ("seconds", "epochs", "steps", "tokens_per_second", "best_step", "seed", "precision")
PACKAGES = ("torch", "lightning", "sacrebleu")
# Of each attention: its name, and what its first and its last column are.
ATTENTIONS = {
    "cross": ("Cross-attention", "first piece", "</s>"),
    "decoder_self": ("Self-attention of the decoder", "<s>", "last piece"),
    "encoder_self": ("Self-attention of the encoder", "first piece", "</s>"),
}


def scores_table(scores: Scores, decoding: str) -> Table:
    """Scores of one corpus, one a row. decoding: how the hypotheses were found, such as ``beam 5, alpha 0.6``."""
    table = Table(title=Text(f"Scores ({decoding})" if decoding else "Scores"), title_justify="left")
    table.add_column("score")
    table.add_column("value", justify="right")
    table.add_column("how it was computed", overflow="fold")
    table.add_row("BLEU", f"{scores.bleu:.2f}", Text(scores.bleu_signature))
    table.add_row("chrF", f"{scores.chrf:.2f}", Text(scores.chrf_signature))
    if scores.ter is not None:
        table.add_row("TER", f"{scores.ter:.2f}", "edits per 100 reference words, lower is better")
    table.add_row("length ratio", f"{scores.length_ratio:.3f}", "hypothesis tokens / reference tokens")
    return table


def length_table(buckets: Sequence[Bucket]) -> Table:
    """BLEU of each bucket of source length with its 95 % bootstrap interval."""
    table = Table(title="BLEU by source length", title_justify="left")
    for heading in ("words", "sentences", "BLEU", "95 % interval"):
        table.add_column(heading, justify="right")
    for bucket in buckets:
        interval = f"{bucket.interval_low:.1f} – {bucket.interval_high:.1f}"
        table.add_row(bucket.label.replace("-", "–"), str(bucket.sentences), f"{bucket.bleu:.2f}", interval)
    return table


def print_tables(console: Console, scores: Scores, buckets: Sequence[Bucket], decoding: str) -> None:
    """Print both tables."""
    console.print(scores_table(scores, decoding))
    console.print(length_table(buckets))


def patterns_table(kind: str, heads: Sequence[HeadPattern]) -> Table:
    """What each head of one attention does, a row a head. kind: of ``patterns.KINDS``."""
    title, first, last = ATTENTIONS[kind]
    table = Table(title=title, title_justify="left")
    shares = ("diagonal",) if kind == "cross" else ("itself", "previous")
    for heading in ("layer", "head", *shares, "largest column", "where", "entropy", "of ln n"):
        table.add_column(heading, justify="left" if heading == "where" else "right")
    for one in heads:
        at, share = max(one.sink_at.items(), key=lambda item: item[1])
        place = Text(f"{ {'first': first, 'last': last, 'other': 'another'}[at] } ({share:.0%})")
        numbers = (getattr(one, name) for name in shares)
        cells = ("–" if number is None else f"{number:.2f}" for number in (*numbers, one.sink))
        table.add_row(str(one.layer), str(one.head), *cells, place, f"{one.entropy:.2f}", f"{one.entropy_most:.2f}")
    return table


def alignment_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Aligners beside each other.

    rows: ``aligner``, ``convention`` or None, and what there is of ``AlignmentScores`` and of ``agreement`` (F1 with
    eflomal's links); the same in all rows.
    """
    headings = {"precision": "precision", "recall": "recall", "aer": "AER", "agreement": "F1 with eflomal"}
    shown = [key for key in headings if key in rows[0]]
    table = Table(title="Word alignment", title_justify="left")
    for heading in ("aligner", "convention", *(headings[key] for key in shown)):
        table.add_column(heading, justify="left" if heading in ("aligner", "convention") else "right")
    for row in rows:
        numbers = (f"{row[key]:.3f}" for key in shown)
        table.add_row(Text(row["aligner"]), row["convention"] or "–", *numbers)
    return table


def score_metrics(scores: Scores, buckets: Sequence[Bucket], decoding: str, seconds: float) -> dict[str, Any]:
    """The ``test`` part of metrics.json. seconds: wall time of translating the split."""
    return {
        "decoding": decoding,
        "bleu": scores.bleu,
        "bleu_signature": scores.bleu_signature,
        "chrf": scores.chrf,
        "ter": scores.ter,
        "length_ratio": scores.length_ratio,
        "seconds": seconds,
        "bleu_by_length": [bucket.as_dict() for bucket in buckets],
    }


def metrics(
    *,
    model: str,
    parameters: int,
    data: str,
    fingerprint: str,
    pairs: Mapping[str, int],
    train: Mapping[str, Any],
    test: Mapping[str, Any],
) -> dict[str, Any]:
    """All of metrics.json. pairs: counts by split. train: exactly TRAIN_KEYS. test: from ``score_metrics``.

    Raises ValueError for a missing or an unknown key of ``train``.
    """
    if set(train) != set(TRAIN_KEYS):
        raise ValueError(f"train needs exactly the keys {TRAIN_KEYS}, got {tuple(train)}")
    return {
        "model": {"name": model, "parameters": parameters},
        "data": {"name": data, "fingerprint": fingerprint, "pairs": dict(pairs)},
        "train": {key: train[key] for key in TRAIN_KEYS},
        "test": dict(test),
        "versions": {package: version(package) for package in PACKAGES},
    }


def write_json(path: str | Path, data: Mapping[str, Any]) -> None:
    """Write UTF-8 JSON in one piece: a reader finds the old file or the new one, never half of it.

    Raises ValueError for NaN and infinity, which JSON does not have.
    """
    path = Path(path)
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, because a rename across file systems is a copy.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
