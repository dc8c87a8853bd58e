"""Whether one system's BLEU is higher than another's by more than chance: two paired tests, both sacreBLEU's own.

- paired bootstrap (Koehn 2004): the same sentences are drawn again and again for both systems;
- paired approximate randomisation (Riezler and Maxwell 2005): the two outputs of a sentence are swapped by chance.

sacreBLEU's p-value is (c + 1) / (n + 1) for c of n trials with a difference *larger* than the one measured. Two systems
that say the same (or both nothing right) have no trial with a larger one, and would be called different with
p = 1 / (n + 1). Here p is 1 where there is no difference in the score.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from seq2seq.evaluation.bleu import check_parallel, nfc
from seq2seq.evaluation.length import sentence_statistics

BOOTSTRAP, RANDOMISATION = 1000, 10000  # trials, sacreBLEU's defaults
CELLS = (
    2e7  # sentences x trials: randomisation holds a few such tables in memory, so a large test set gets fewer trials
)


@dataclass(frozen=True)
class Paired:
    """A system beside a baseline on the same sentences.

    bleu, baseline: their BLEU. bootstrap, randomisation: p-values of the two tests, two-sided.
    trials: of the two tests. identical: they match the references in every sentence alike.
    """

    bleu: float
    baseline: float
    bootstrap: float
    randomisation: float
    trials: tuple[int, int]
    identical: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return asdict(self) | {"trials": list(self.trials)}


def paired_tests(
    hypotheses: Sequence[str], baseline: Sequence[str], references: Sequence[str], trials: tuple[int, int] | None = None
) -> Paired:
    """Both tests of BLEU. trials: of bootstrap and randomisation; None: the defaults above.

    Raises UserError where the three do not have the same number of sentences, or none.
    """
    check_parallel(hypotheses, references)
    check_parallel(baseline, references)
    system, other, stream = nfc(hypotheses), nfc(baseline), [nfc(references)]
    trials = trials or (BOOTSTRAP, int(np.clip(CELLS // len(references), BOOTSTRAP, RANDOMISATION)))
    logging.getLogger("sacrebleu").setLevel(logging.WARNING)
    bleu = BLEU(force=True).corpus_score(system, stream).score
    if bleu == BLEU(force=True).corpus_score(other, stream).score:
        same = np.array_equal(sentence_statistics(system, references), sentence_statistics(other, references))
        return Paired(bleu, bleu, 1.0, 1.0, trials, identical=same)
    results = {}
    for kind, count in zip(("bs", "ar"), trials, strict=True):
        systems = [("baseline", other), ("system", system)]
        _, found = PairedTest(systems, {"BLEU": BLEU(force=True)}, stream, kind, n_samples=count)()
        results[kind] = found["BLEU"]
    (first, bootstrap), (_, randomisation) = results["bs"], results["ar"]
    values = (bootstrap.score, first.score, bootstrap.p_value, randomisation.p_value)
    return Paired(*map(float, values), trials, identical=False)
