"""Corpus scores. sacreBLEU does all the counting; training and evaluation call the same function.

BLEU: Papineni et al. 2002, in the form of Post 2018 (arXiv 1804.08771), whose signature is kept beside each score.
chrF2: Popović 2015 and 2016. TER: Snover et al. 2006. All are on a scale of 0 to 100; TER is better when lower.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU, CHRF, TER

from seq2seq.errors import UserError


@dataclass(frozen=True)
class Scores:
    """Scores of one corpus, with the sacreBLEU signatures that say how they were computed.

    ter: None when it was not asked for.
    length_ratio: hypothesis tokens to reference tokens, as BLEU's brevity penalty counts them (0 without reference).
    """

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    ter: float | None
    length_ratio: float


def nfc(texts: Sequence[str]) -> list[str]:
    """The same letters as the same code points: `ế` may come as one or as three."""
    return [unicodedata.normalize("NFC", text) for text in texts]


def check_parallel(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raise UserError unless there is one hypothesis for each reference, and at least one of them."""
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} hypotheses cannot be scored against {len(references)} references: "
            "give exactly one line of output for each line of the reference"
        )
    if not references:
        raise UserError("there is nothing to score: hypotheses and references have no sentences")


def score(hypotheses: Sequence[str], references: Sequence[str], with_ter: bool = True) -> Scores:
    """Score plain (detokenised) text against one reference each.

    with_ter: TER searches for shifts and takes the longer the worse the output is (often ten times as long as BLEU and
        chrF together), so validation in training does without.
    Raises UserError for unequal lengths or no sentences.
    """
    check_parallel(hypotheses, references)
    hypotheses = nfc(hypotheses)
    stream = [nfc(references)]  # sacreBLEU's outer list is over reference streams, not over sentences
    bleu, chrf = BLEU(), CHRF()
    bleu_score = bleu.corpus_score(hypotheses, stream)
    chrf_score = chrf.corpus_score(hypotheses, stream)
    return Scores(
        bleu=float(bleu_score.score),
        bleu_signature=str(bleu.get_signature()),
        chrf=float(chrf_score.score),
        chrf_signature=str(chrf.get_signature()),
        ter=float(TER().corpus_score(hypotheses, stream).score) if with_ter else None,
        length_ratio=float(bleu_score.ratio),
    )
