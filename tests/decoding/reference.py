"""Search as one would write it on paper: one sentence, Python lists, the whole prefix decoded again at each step."""

import math

import torch
from torch import Tensor

from seq2seq.models.interface import Seq2Seq
from seq2seq.symbols import BOS, EOS

from .toy import next_log_probabilities

Found = tuple[float, list[int], bool]  # score, tokens, finished


def greedy(model: Seq2Seq, source: Tensor, lengths: Tensor, limit: int) -> tuple[list[int], bool]:
    tokens: list[int] = []
    while len(tokens) < limit:
        token = EOS + int(next_log_probabilities(model, source, lengths, tokens)[EOS:].argmax())
        if token == EOS:
            return tokens, True
        tokens.append(token)
    return tokens, False


def beam_search(
    model: Seq2Seq,
    source: Tensor,
    lengths: Tensor,
    beam: int,
    alpha: float,
    limit: int,
    nbest: int,
    coverage: float = 0.0,
) -> list[Found]:
    """The rule of ``search`` for a beam of at least 2, but with no early stop: always on to the limit."""

    def covers(tokens: list[int]) -> float:
        """GNMT's coverage penalty of the steps that gave ``tokens`` and one token more, from one decoding of them."""
        _, attention = model.decode(model.encode(source, lengths), torch.tensor([[BOS, *tokens]]), attention=True)
        each = attention.cross[0, 0, 0].sum(0).tolist()  # of S positions
        return coverage * sum(math.log(min(max(one, 1e-4), 1.0)) for one in each)

    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[Found] = []
    for step in range(1, limit + 1):
        penalty = ((5 + step) / 6) ** alpha
        candidates = []
        for log_probability, tokens in live:
            row = next_log_probabilities(model, source, lengths, tokens).tolist()
            candidates += [(log_probability + row[token], tokens, token) for token in range(EOS, len(row))]
        candidates.sort(reverse=True)
        ending = [(value, tokens) for value, tokens, token in candidates[:beam] if token == EOS]
        finished += [(value / penalty + covers(tokens), tokens, True) for value, tokens in ending]
        live = [(value, [*tokens, token]) for value, tokens, token in candidates if token != EOS][:beam]
    finished.sort(reverse=True)
    return (finished + [(value / penalty + covers(tokens[:-1]), tokens, False) for value, tokens in live])[:nbest]
