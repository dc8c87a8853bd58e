"""What is known of each system: scores over its seeds, BLEU by length, tests against the baseline, alignment errors.

Where a system has several runs, a score is the mean over them, with the standard deviation of a sample (n − 1).
Its *median run*, by BLEU (of two in the middle the lower), stands for it where one output is needed: in the paired
tests, in the examples, and in intervals of a single run.

Legend: N sentences of the test set.
"""

import statistics as stats
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seq2seq.aligner import align_by_each
from seq2seq.assess import assess_texts
from seq2seq.compare.runs import Run, Store, System, digest
from seq2seq.compare.testset import TestSet
from seq2seq.errors import UserError
from seq2seq.evaluation.length import Bucket, bleu_of, bucket_starts, buckets_of, sentence_statistics
from seq2seq.evaluation.links import alignment_error_rate
from seq2seq.evaluation.significance import paired_tests

LONG = 40  # words from which a sentence counts as long
SCORES = ("bleu", "chrf", "ter", "length_ratio", "sentences_per_second")
TRAINING = ("epochs", "steps", "seconds", "tokens_per_second")


@dataclass(frozen=True, eq=False)
class Scored:
    """A run's translations of the test set. counts: ``sentence_statistics``, (N, 10). values: the keys of SCORES."""

    run: Run
    hypotheses: list[str]
    counts: np.ndarray
    values: dict[str, float | None]


def score_run(run: Run, test: TestSet) -> Scored:
    """Its scores: those of its own test where it had this test set, else measured here."""
    seconds = None
    if run.trained and not test.split:
        hypotheses, seconds = run.translate(test.sources)
    else:
        hypotheses = run.hypotheses
    if len(hypotheses) != len(test.references):
        raise UserError(
            f"{run.path}: {len(hypotheses)} translations of {len(test.references)} sentences of {test.name}"
        )
    table = counts(run.store, hypotheses, test.references)
    if run.trained and test.split:
        values = run.metrics["test"]
        seconds = values["seconds"]
        whole = bool(table[:, 1].max() >= 4)  # else they were scored by shorter n-grams
        if whole and abs(bleu_of(table) - values["bleu"]) > 0.01:
            raise UserError(f"{run.path}: test.hyp has BLEU {bleu_of(table):.2f}, metrics.json {values['bleu']:.2f}")
    else:
        depends = [digest(hypotheses), digest(test.references)]
        values = run.store.get("scores", depends, lambda: assess_texts(None, hypotheses, test.references).metrics())
    chosen = {key: values[key] for key in SCORES[:-1]}
    return Scored(run, hypotheses, table, chosen | {SCORES[-1]: len(test.references) / seconds if seconds else None})


def counts(store: Store, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """``sentence_statistics``, (N, 10), stored."""
    depends = [digest(hypotheses), digest(references)]
    table = store.get("counts", depends, lambda: sentence_statistics(hypotheses, references).tolist())
    return np.array(table, dtype=np.int64)


def mean_of(values: Sequence[float | None]) -> dict[str, Any] | None:
    """Mean, standard deviation (None for one value) and the values; None where one is missing."""
    if not values or any(value is None for value in values):
        return None
    spread = stats.stdev(values) if len(values) > 1 else None
    return {"mean": stats.fmean(values), "sd": spread, "values": list(values)}


def median_run(runs: Sequence[Scored]) -> Scored:
    """The run in the middle by BLEU; of two in the middle the lower."""
    return sorted(runs, key=lambda one: one.values["bleu"])[(len(runs) - 1) // 2]


def length_starts(lengths: np.ndarray, options: dict[str, Any]) -> tuple[list[int], bool]:
    """First length of each bucket, and whether small ones were pooled."""
    edges, quantiles = options["edges"], options["quantiles"]
    starts = bucket_starts(lengths, edges, quantiles, options["smallest"])
    asked = bucket_starts(lengths, edges, quantiles)
    return starts, starts != asked


def curve(runs: Sequence[Scored], lengths: np.ndarray, starts: Sequence[int], over_seeds: bool) -> list[Bucket]:
    """BLEU by length. over_seeds: means, from the lowest to the highest seed; else the median run's with intervals."""
    if not over_seeds:
        return buckets_of(lengths, median_run(runs).counts, starts)
    each = [buckets_of(lengths, one.counts, starts, bootstrap=0) for one in runs]
    points = []
    for same in zip(*each, strict=True):
        values, first = [bucket.bleu for bucket in same], same[0]
        points.append(Bucket(first.low, first.high, first.sentences, stats.fmean(values), min(values), max(values)))
    return points


def long_bleu(runs: Sequence[Scored], lengths: np.ndarray, smallest: int) -> dict[str, Any] | None:
    """BLEU of the sentences of LONG words and more, all pooled; None where there are too few."""
    long = lengths >= LONG
    if long.sum() < max(smallest, 1):
        return None
    return mean_of([bleu_of(one.counts[long]) for one in runs])


def paired(one: Scored, baseline: Scored, test: TestSet, store: Store) -> dict[str, Any]:
    """Both tests of one run against another, stored."""
    depends = [digest(lines) for lines in (one.hypotheses, baseline.hypotheses, test.references)]
    return store.get(
        "paired", depends, lambda: paired_tests(one.hypotheses, baseline.hypotheses, test.references).as_dict()
    )


def alignment_errors(run: Run, test: TestSet, layer: int | str, head: int | str) -> dict[str, Any] | None:
    """Alignment scores by each convention, of forced references; None without attention or without gold."""
    if not run.trained or test.gold is None:
        return None

    def make() -> dict[str, Any] | None:
        found = align_by_each(run.translator, test.sources, test.references, layer=layer, head=head)
        return found and {key: alignment_error_rate(links, test.gold).as_dict() for key, links in found.items()}

    gold = digest([str(sorted(map(sorted, (one.sure, one.possible)))) for one in test.gold])
    return run.stored("alignment", [digest(test.sources), digest(test.references), gold, layer, head], make)


def describe(system: System, scored: Sequence[Scored]) -> dict[str, Any]:
    """What the table says of a system but for lengths, tests and alignments."""
    about: dict[str, Any] = {
        "name": system.name,
        "runs": [str(run.path) for run in system.runs],
        "seeds": system.seeds,
        "median_run": str(median_run(scored).run.path),
        "parameters": None,
    }
    if system.trained:
        about["parameters"] = system.runs[0].metrics["model"]["parameters"]
    for key in TRAINING:
        values = [run.metrics["train"][key] for run in system.runs] if system.trained else []
        about["train_seconds" if key == "seconds" else key] = mean_of(values)
    return about | {key: mean_of([one.values[key] for one in scored]) for key in SCORES}
