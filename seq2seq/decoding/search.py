"""One search for every model: batched beam search; a beam of one is greedy search.

Legend: B sentences of the batch, A sentences still searched, K beam (1 on the first step), N = A·K rows,
V target vocabulary, R = 2K candidates kept of a sentence, n n-best, T steps.

What the search maximises is the score of Wu et al. (2016, arXiv 1609.08144, section 7, eq. 14),
``log P(Y|X) / lp(Y) + cp(X, Y)`` with ``lp(Y) = ((5 + |Y|) / 6) ** alpha``, where |Y| counts EOS, and
``cp(X, Y) = coverage · Σ_s log(min(Σ_t a_ts, 1))``, which punishes source positions that got little attention a.
"""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.errors import UserError
from seq2seq.models.interface import Memory, Rows, Seq2Seq, State
from seq2seq.symbols import BOS, EOS, PAD, UNK

# A sentence of s source ids (EOS among them) gets at most LENGTH_FACTOR·s + LENGTH_EXTRA generated ids.
LENGTH_FACTOR, LENGTH_EXTRA = 2, 20
# Never generated: the ids below EOS. UNK is one of them: byte fallback leaves no text to which it would be right.
FIRST_ALLOWED = EOS
assert {PAD, UNK, BOS} == set(range(FIRST_ALLOWED)), "search closes the first columns"
# Finished sentences leave the batch as soon as they are this part of it: thinning copies what stays.
LEAVE_AT = 1 / 8
BLOCK = 64  # numbers of a row, in the search for the largest
IMPOSSIBLE = float("-inf")
LEAST_COVERED = 1e-4  # attention that a source position counts as having had: the logarithm of none has no bound


@dataclass(frozen=True)
class Hypothesis:
    """One translation. tokens: without BOS and EOS. score: what search ranks by, log_probability / lp + cp.

    log_probability: natural, the sum over the tokens and EOS. finished: False if the length limit cut it off;
    then there is no EOS, in the tokens or in the sum.
    """

    tokens: list[int]
    score: float
    log_probability: float
    finished: bool


def length_penalty(length: float | Tensor, alpha: float) -> float | Tensor:
    """GNMT's ``((5 + length) / 6) ** alpha``; ``length`` counts EOS."""
    return ((5 + length) / 6) ** alpha


@dataclass(frozen=True)
class _Finished(Rows):
    """The n best finished hypotheses of each sentence, best first; a free place has score −inf.

    The tokens are found by walking back from ``slot``, the beam that EOS was appended to, ``length`` tokens.
    """

    score: Tensor  # (A, n)
    log_probability: Tensor  # (A, n)
    slot: Tensor  # (A, n)
    length: Tensor  # (A, n)


@dataclass(frozen=True)
class _Beams(Rows):
    """Everything search knows of the sentences still in the batch. Frozen for those that are done."""

    sentence: Tensor  # (A,) row in the batch as it was given
    limit: Tensor  # (A,) most ids that may be generated, EOS among them
    ceiling: Tensor  # (A,) length penalty at the limit, the largest there can be
    log_probability: Tensor  # (A, K) of the live hypotheses, best first; −inf where there is none
    penalty: Tensor  # (A, K) cp of the live hypotheses
    length: Tensor  # (A,) tokens of the live hypotheses
    done: Tensor  # (A,) bool
    finished: _Finished


@dataclass(frozen=True)
class _Decoder(Rows):
    """What one step hands to the next, a row for each live hypothesis."""

    state: State
    covered: Tensor | None  # (N, S) attention that each source position has had; None where it costs nothing


class _History:
    """The tokens of all steps and the beams they continue: a hypothesis is read off backwards at the end."""

    def __init__(self, steps: int, sentences: int, beam: int, device: torch.device) -> None:
        self.tokens = torch.empty(steps, sentences, beam, dtype=torch.int32, device=device)  # (T, B, K)
        self.parents = torch.empty_like(self.tokens)  # (T, B, K)

    def write(self, step: int, sentence: Tensor, tokens: Tensor, parents: Tensor) -> None:
        self.tokens[step - 1, sentence] = tokens.int()  # (A, K)
        self.parents[step - 1, sentence] = parents.int()  # (A, K)

    def read(self, sentence: Tensor, slot: Tensor, length: Tensor) -> list[list[list[int]]]:
        """The tokens that end in beam ``slot`` (A, n) after ``length`` (A, n) steps."""
        steps = int(length.max()) if length.numel() else 0
        out = torch.zeros(*slot.shape, steps, dtype=torch.int32, device=slot.device)  # (A, n, T)
        for step in reversed(range(steps)):
            out[..., step] = self.tokens[step, sentence].gather(1, slot)  # (A, n)
            before = self.parents[step, sentence].gather(1, slot).long()  # (A, n)
            slot = torch.where(step < length, before, slot)  # (A, n)
        rows = zip(out.tolist(), length.tolist(), strict=True)
        return [[ids[:size] for ids, size in zip(*row, strict=True)] for row in rows]


def check_search(beam: int, alpha: float, max_length: int, nbest: int, coverage: float = 0.0) -> None:
    if beam < 1:
        raise UserError(f"beam is {beam}: give at least 1 (1 is greedy search)")
    if not 1 <= nbest <= beam:
        raise UserError(f"nbest is {nbest} with beam {beam}: give 1 to {beam}, or a wider beam")
    if max_length < 1:
        raise UserError(f"max_length is {max_length}: give at least 1")
    if not 0 <= alpha < float("inf"):
        raise UserError(f"alpha is {alpha}: the exponent of the length penalty is a number that is not below 0")
    if not 0 <= coverage < float("inf"):
        raise UserError(f"coverage is {coverage}: the weight of the coverage penalty is a number that is not below 0")


def _begin(lengths: Tensor, alpha: float, max_length: int, nbest: int) -> _Beams:
    """Each sentence has one live hypothesis, the empty one."""
    limit = (LENGTH_FACTOR * lengths + LENGTH_EXTRA).clamp(max=max_length)  # (B,)
    score = torch.full((len(lengths), nbest), IMPOSSIBLE, device=lengths.device)  # (B, n)
    none = torch.zeros_like(score, dtype=torch.long)  # (B, n)
    return _Beams(
        sentence=torch.arange(len(lengths), device=lengths.device),
        limit=limit,
        ceiling=length_penalty(limit.float(), alpha),
        log_probability=torch.zeros(len(lengths), 1, device=lengths.device),
        penalty=torch.zeros(len(lengths), 1, device=lengths.device),
        length=torch.zeros_like(limit),
        done=torch.zeros_like(limit, dtype=torch.bool),
        finished=_Finished(score, score, none, none),
    )


def largest(scores: Tensor, base: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The ``count`` largest of base + scores of each sentence, best first, with the beams and columns they are of.

    scores: (A, K, V), contiguous; base: (A, K). Gives (A, count) each.
    ``topk`` reads number by number. Looking for the largest of each block, several numbers at a time, and then into the
    best blocks of a sentence alone takes a third of the time, for one number a quarter.
    """
    size = scores.shape[2]
    blocks = -(-size // BLOCK)
    if scores.shape[1] * blocks <= count:
        values, flat = (base[..., None] + scores).flatten(1).topk(count)
        return values, flat // size, flat % size
    whole = size // BLOCK * BLOCK
    most = scores[..., :whole].unflatten(2, (-1, BLOCK)).amax(-1)  # (A, K, ⌊V / BLOCK⌋)
    if whole < size:
        most = torch.cat([most, scores[..., whole:].amax(-1, keepdim=True)], 2)  # (A, K, ⌈V / BLOCK⌉)
    _, chosen = (base[..., None] + most).flatten(1).topk(count, sorted=False)  # the others have count above theirs
    beam, first = chosen // blocks, chosen % blocks * BLOCK  # (A, count) each
    columns = (first[..., None] + torch.arange(BLOCK, device=scores.device)).flatten(1)  # (A, count · BLOCK)
    beams, none = beam.repeat_interleave(BLOCK, 1), columns >= size
    columns = columns.clamp(max=size - 1)  # where there is none as well: it may be chosen among others of −inf
    values = base.gather(1, beams) + scores.flatten(1).gather(1, beams * size + columns)
    values, place = values.masked_fill(none, IMPOSSIBLE).topk(count)  # (A, count)
    return values, beams.gather(1, place), columns.gather(1, place)


def _candidates(beams: _Beams, logits: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The ``count`` best continuations of each sentence, best first.

    logits: (N, V). Gives log-probabilities of the whole hypotheses, the beams they continue and their last
    tokens, each (A, count).
    """
    scores = logits.log_softmax(-1, dtype=torch.float32)  # (N, V)
    scores[:, :FIRST_ALLOWED] = IMPOSSIBLE
    live = beams.log_probability.masked_fill(beams.done[:, None], IMPOSSIBLE)  # (A, K)
    found = min(count, live.shape[1] * scores.shape[1])  # a small vocabulary has fewer continuations than asked for
    values, parent, token = largest(scores.view(*live.shape, -1), live, found)
    short = (0, count - found)
    return F.pad(values, short, value=IMPOSSIBLE), F.pad(parent, short), F.pad(token, short, value=EOS)


def _finish(finished: _Finished, values: Tensor, parent: Tensor, penalty: Tensor, step: int, alpha: float) -> _Finished:
    """Merge what ends in this step into the n best. values, penalty: (A, K), −inf where the candidate does not end."""
    score = torch.cat([finished.score, values / length_penalty(step, alpha) + penalty], 1)  # (A, n + K)
    score, place = score.topk(finished.score.shape[1])  # (A, n)

    def merge(old: Tensor, new: Tensor) -> Tensor:
        return torch.cat([old, new], 1).gather(1, place)  # (A, n)

    return _Finished(
        score=score,
        log_probability=merge(finished.log_probability, values),
        slot=merge(finished.slot, parent),
        length=merge(finished.length, torch.full_like(parent, step - 1)),
    )


def _advance(
    beams: _Beams, logits: Tensor, step: int, beam: int, alpha: float
) -> tuple[_Beams, Tensor, Tensor, Tensor]:
    """One step of search. Gives the new beams, their parents and last tokens (A, K), and whether there was a NaN.

    ``beams.penalty`` is that of the hypotheses with this step's attention.

    EOS ends a hypothesis only where it is among the K best candidates; the K best of the others live on, and
    2K candidates always hold K of them. A sentence is done when no live hypothesis can still overtake its n
    finished ones: log-probabilities only fall and coverage only costs, so the largest length penalty bounds every
    score to come. A beam of
    one keeps one candidate only: its first EOS leaves nothing alive, which is greedy search.
    """
    count = 1 if beam == 1 else 2 * beam  # R
    values, parent, token = _candidates(beams, logits, count)  # (A, R) each
    ends = token == EOS  # (A, R)
    ending = values.masked_fill(~ends, IMPOSSIBLE)[:, :beam]  # (A, K)
    penalty = beams.penalty.gather(1, parent)  # (A, R)
    finished = _finish(beams.finished, ending, parent[:, :beam], penalty[:, :beam], step, alpha)
    live, place = values.masked_fill(ends, IMPOSSIBLE).topk(beam)  # (A, K)
    bound = live[:, 0] / beams.ceiling  # (A,)
    done = (finished.score[:, -1] >= bound) | (step >= beams.limit)  # (A,)
    was = beams.done  # (A,)
    after = replace(
        beams,
        log_probability=torch.where(was[:, None], beams.log_probability, live),  # (A, K)
        penalty=torch.where(was[:, None], beams.penalty.expand(live.shape), penalty.gather(1, place)),  # (A, K)
        length=torch.where(was, beams.length, step),  # (A,)
        done=was | done,
        finished=finished,
    )
    return after, parent.gather(1, place), token.gather(1, place), values.isnan().any()


def _collect(left: list[_Beams], history: _History, alpha: float, nbest: int) -> list[list[Hypothesis]]:
    """Hypotheses of all sentences in the order of the batch; cut-off ones only where finished ones are too few."""
    results: dict[int, list[Hypothesis]] = {}
    for beams in left:
        cut = beams.log_probability  # (A, K)
        length = beams.length[:, None].expand_as(cut)  # (A, K)
        slots = torch.arange(cut.shape[1], device=cut.device).expand_as(cut)  # (A, K)
        log_probability = torch.cat([beams.finished.log_probability, cut], 1).tolist()
        score = torch.cat([beams.finished.score, cut / length_penalty(length, alpha) + beams.penalty], 1).tolist()
        slot = torch.cat([beams.finished.slot, slots], 1)  # (A, n + K)
        tokens = history.read(beams.sentence, slot, torch.cat([beams.finished.length, length], 1))
        for row, sentence in enumerate(beams.sentence.tolist()):
            columns = zip(tokens[row], score[row], log_probability[row], strict=True)
            found = [Hypothesis(*column, i < nbest) for i, column in enumerate(columns) if column[1] > IMPOSSIBLE]
            results[sentence] = found[:nbest]
    if not all(results.values()):
        raise UserError("search found no hypothesis: the model gives every possible token the probability 0")
    return [results[sentence] for sentence in sorted(results)]


def _thin(
    memory: Memory, decoder: _Decoder, beams: _Beams, parents: Tensor, tokens: Tensor, width: int, keep: Tensor | None
) -> tuple[Memory, _Decoder, _Beams, Tensor]:
    """Re-order the decoder as the beams moved (it had ``width`` rows a sentence); drop sentences not in ``keep``."""
    first = torch.arange(len(parents), device=parents.device)[:, None] * width  # (A, 1)
    rows = first + parents  # (A, K)
    if keep is not None:
        memory, beams, rows, tokens = memory.select(keep), beams.select(keep), rows[keep], tokens[keep]
    return memory, decoder.select(rows.flatten()), beams, tokens


def _covered(memory: Memory, covered: Tensor, weights: Tensor | None, coverage: float) -> tuple[Tensor, Tensor]:
    """With one step's weights (N, S): what each position has had by now, (N, S), and the penalty of that, (A, N/A)."""
    if weights is None:
        raise UserError(f"coverage is {coverage}, but this model has no attention that could be counted: give 0")
    covered = covered + weights
    least = covered.clamp(LEAST_COVERED, 1.0).log().unflatten(0, (len(memory.mask), -1))  # (A, N/A, S)
    return covered, coverage * least.masked_fill(~memory.mask[:, None], 0.0).sum(-1)


@torch.no_grad()
def search(
    model: Seq2Seq,
    source: Tensor,
    lengths: Tensor,
    *,
    beam: int = 1,
    alpha: float = 0.6,
    max_length: int = 200,
    nbest: int = 1,
    coverage: float = 0.0,
) -> list[list[Hypothesis]]:
    """Translate a batch: up to ``nbest`` hypotheses for each sentence, in the order of the batch, best first.

    source: (B, S) ids padded on the right; lengths: (B,), both as ``Seq2Seq.encode`` takes them.
    max_length: most ids generated for a sentence, EOS among them; a short source gets fewer
    (LENGTH_FACTOR, LENGTH_EXTRA). coverage: the weight of the coverage penalty, 0 for none. Finished hypotheses come
    first, and those that the limit cut off only fill places left over; there is always at least one. The model
    decodes in the mode it is in: call ``model.eval()`` first. Log-probabilities are summed in fp32 whatever the type
    of the logits.
    Raises UserError for settings that make no sense (a negative alpha would make the bound that ends the
    search wrong), for a coverage penalty without attention, and for a model whose logits are not numbers.
    """
    check_search(beam, alpha, max_length, nbest, coverage)
    if len(source) == 0:
        return []
    memory = model.encode(source, lengths)
    nothing = torch.zeros(memory.mask.shape, device=source.device) if coverage else None  # (B, S)
    decoder = _Decoder(model.start(memory), nothing)
    beams = _begin(lengths.to(source.device), alpha, max_length, nbest)
    steps = int(beams.limit.max())
    history = _History(steps, len(source), beam, source.device)
    tokens = source.new_full((len(source), 1), BOS)  # (A, K)
    in_place = torch.arange(beam, device=source.device)  # (K,)
    left: list[_Beams] = []
    for step in range(1, steps + 1):
        width = tokens.shape[1]
        features, weights, state = model.step(memory, tokens.flatten(), decoder.state, coverage > 0)  # (N, H)
        covered = decoder.covered
        if covered is not None:
            covered, penalty = _covered(memory, covered, weights, coverage)
            beams = replace(beams, penalty=penalty)
        decoder = _Decoder(state, covered)
        beams, parents, tokens, nan = _advance(beams, model.project(features), step, beam, alpha)
        history.write(step, beams.sentence, tokens, parents)
        moved = (parents != in_place).any()
        *done, nan, moved = torch.cat([beams.done, nan[None], moved[None]]).tolist()  # the one wait of a step
        if nan:
            raise UserError(f"the model's output at step {step} is not a number: use a checkpoint that did not diverge")
        keep = None
        if sum(done) >= LEAVE_AT * len(done):
            rows = {flag: [row for row, is_done in enumerate(done) if is_done == flag] for flag in (True, False)}
            left.append(beams.select(torch.tensor(rows[True], device=source.device)))
            if not rows[False]:
                break
            keep = torch.tensor(rows[False], device=source.device)  # (A',)
        if moved or keep is not None or width != beam:
            memory, decoder, beams, tokens = _thin(memory, decoder, beams, parents, tokens, width, keep)
    return _collect(left, history, alpha, nbest)
