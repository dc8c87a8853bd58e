"""BLEU as a function of source length: the curve that shows what one fixed vector costs.

A length is the number of whitespace words of the raw source. The mean of the buckets' BLEU is not corpus BLEU.
Legend: N sentences of the corpus, M sentences of one bucket, R resamples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from sacrebleu.metrics import BLEU

from seq2seq.errors import UserError
from seq2seq.evaluation.bleu import check_parallel, nfc

EDGES = (1, 10, 20, 30, 40, 50)
ORDER = 4  # BLEU's longest n-gram


@dataclass(frozen=True)
class Bucket:
    """BLEU of the sentences with ``low`` to ``high`` source words, both counted in; ``high`` None is open.

    interval_low, interval_high: 95 % bootstrap interval (percentiles over resamples of the bucket's sentences).
    """

    low: int
    high: int | None
    sentences: int
    bleu: float
    interval_low: float
    interval_high: float

    @property
    def label(self) -> str:
        """``10-19``, ``50+`` or, where a bucket holds one length only, ``7``."""
        if self.high is None:
            return f"{self.low}+"
        return f"{self.low}-{self.high}" if self.high > self.low else f"{self.low}"

    def as_dict(self) -> dict[str, int | float | None]:
        return {
            "from": self.low,
            "to": self.high,
            "sentences": self.sentences,
            "bleu": self.bleu,
            "low": self.interval_low,
            "high": self.interval_high,
        }


def bleu_by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    edges: Sequence[int] = EDGES,
    quantiles: int | None = None,
    bootstrap: int = 1000,
    seed: int = 12345,
) -> list[Bucket]:
    """BLEU of each bucket of source length, shortest first; buckets without sentences are left out.

    edges: first length of each bucket; the last is open. Shorter sentences (an empty source has 0 words) get a bucket
        of their own, so that every sentence is counted exactly once.
    quantiles: given, so many buckets of nearly equal counts take the place of ``edges`` (fewer where lengths tie).
    bootstrap, seed: number of resamples and their seed; with 12345 they are the ones sacreBLEU draws by default.

    In a bucket whose references all have fewer than four tokens BLEU is taken to the longest n-gram there is
    (sacreBLEU's effective order): otherwise perfect output would score 0.

    Raises UserError for unequal lengths, no sentences, edges that do not increase, or counts below 1.
    """
    check_parallel(hypotheses, references)
    if len(sources) != len(references):
        raise UserError(f"{len(sources)} source lines but {len(references)} references: give one source line for each")
    if bootstrap < 1:
        raise UserError(f"{bootstrap} bootstrap resamples give no interval: use at least 1, usually 1000")
    lengths = word_counts(sources)  # (N,)
    starts = bucket_starts(lengths, edges, quantiles)
    return buckets_of(lengths, sentence_statistics(hypotheses, references), starts, bootstrap, seed)


def buckets_of(
    lengths: np.ndarray, statistics: np.ndarray, starts: Sequence[int], bootstrap: int = 1000, seed: int = 12345
) -> list[Bucket]:
    """``bleu_by_length`` from what it counts: lengths (N,), ``sentence_statistics`` and ``bucket_starts``.

    bootstrap: 0 leaves the intervals out (they are then the score itself).
    """
    buckets = []
    for low, end in pairwise([*starts, None]):
        inside = statistics[(lengths >= low) & (True if end is None else lengths < end)]  # (M, 2 + 2·ORDER)
        if len(inside):
            bleu = bleu_of(inside)
            interval = bootstrap_interval(inside, bootstrap, seed) if bootstrap else (bleu, bleu)
            buckets.append(Bucket(low, None if end is None else end - 1, len(inside), bleu, *interval))
    return buckets


def word_counts(lines: Sequence[str]) -> np.ndarray:
    """Lengths (N,) int64."""
    return np.array([len(line.split()) for line in lines], dtype=np.int64)


def bucket_starts(
    lengths: np.ndarray, edges: Sequence[int] = EDGES, quantiles: int | None = None, smallest: int = 1
) -> list[int]:
    """First length of each bucket; other arguments as those of ``bleu_by_length``.

    smallest: as long as a bucket has fewer sentences, the smallest one is pooled with its smaller neighbour (of two
    alike, the shorter one). With 1, the default, buckets stay as they are and empty ones are left out later.
    """
    if quantiles is not None:
        if quantiles < 1:
            raise UserError(f"{quantiles} quantile buckets: use at least 1")
        ordered = np.sort(lengths)
        starts = sorted({int(ordered[i * len(ordered) // quantiles]) for i in range(quantiles)})
    else:
        starts = [int(edge) for edge in edges]
        if not starts or starts[0] < 0 or any(b <= a for a, b in pairwise(starts)):
            raise UserError(f"length buckets must start at increasing word counts such as 1, 10, 20, not at {starts}")
        starts = starts if lengths.min() >= starts[0] else [0, *starts]
    return starts if smallest <= 1 else _pool(starts, lengths, smallest)


def _pool(starts: list[int], lengths: np.ndarray, smallest: int) -> list[int]:
    places = np.searchsorted(starts, lengths, side="right") - 1  # (N,)
    counts = np.bincount(places, minlength=len(starts)).tolist()
    starts = list(starts)
    while len(starts) > 1 and min(counts) < smallest:
        few = counts.index(min(counts))
        beside = [place for place in (few - 1, few + 1) if 0 <= place < len(counts)]
        other = min(beside, key=counts.__getitem__)
        first, second = sorted((few, other))
        counts[first] += counts.pop(second)
        del starts[second]
    return starts


def sentence_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """(N, 2 + 2·ORDER) int64: tokens of hypothesis and reference, n-grams that match, n-grams of the hypothesis."""
    # Nothing is scored here but counted: `force` silences advice on tokenised text that `score` has given already.
    metric = BLEU(max_ngram_order=ORDER, effective_order=True, force=True)
    rows = []
    for hypothesis, reference in zip(nfc(hypotheses), nfc(references), strict=True):
        one = metric.sentence_score(hypothesis, [reference])
        rows.append([one.sys_len, one.ref_len, *one.counts, *one.totals])
    return np.array(rows, dtype=np.int64).reshape(-1, 2 + 2 * ORDER)


def bleu_of(statistics: np.ndarray) -> float:
    """BLEU of some sentences from their (M, 2 + 2·ORDER) counts."""
    return _bleu(statistics.sum(0).tolist(), bool(statistics[:, 1].max() < ORDER))


def sentence_bleu(statistics: np.ndarray) -> list[float]:
    """sacreBLEU's sentence score of each of M sentences, from their (M, 2 + 2·ORDER) counts."""
    return [_bleu(row, effective_order=True) for row in statistics.tolist()]


def _bleu(total: list[int], effective_order: bool) -> float:
    return BLEU.compute_bleu(
        correct=total[2 : 2 + ORDER],
        total=total[2 + ORDER :],
        sys_len=total[0],
        ref_len=total[1],
        smooth_method="exp",  # sacreBLEU's default, as in `score`
        effective_order=effective_order,
        max_ngram_order=ORDER,
    ).score


def bootstrap_interval(statistics: np.ndarray, resamples: int, seed: int) -> tuple[float, float]:
    """Percentile interval (2.5 % to 97.5 %), Koehn 2004; draws and ranks are those of sacreBLEU's own interval."""
    generator = np.random.default_rng(seed)
    count = len(statistics)
    draws = sorted(bleu_of(statistics[generator.choice(count, size=count)]) for _ in range(resamples))
    cut = resamples // 40
    return draws[cut], draws[resamples - cut - 1]
