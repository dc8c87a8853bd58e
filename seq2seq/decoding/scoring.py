"""Given sentences under a model: exact log-probabilities and exact attention weights, by teacher forcing.

Legend: B batch, S source length, T target length, H feature size, V target vocabulary, P positions at a time.
"""

import torch
from torch import Tensor

from seq2seq.models.interface import Attention, Seq2Seq
from seq2seq.symbols import BOS, PAD

POSITIONS_AT_ONCE = 2048  # bounds the memory that logits take: P · V numbers


@torch.no_grad()
def score_references(
    model: Seq2Seq, source: Tensor, lengths: Tensor, target_input: Tensor, target_output: Tensor
) -> tuple[Tensor, Tensor]:
    """The log-probability of given targets, and how many tokens it is the sum of.

    source: (B, S), lengths: (B,), target_input: (B, T) = BOS + tokens, target_output: (B, T) = tokens + EOS,
    padded on the right with PAD, which does not count. Gives log_probability (B,) fp32, natural, and
    tokens (B,) int64. The model scores in the mode it is in: call ``model.eval()`` first.
    """
    features, _ = model.decode(model.encode(source, lengths), target_input)  # (B, T, H)
    parts = []
    pieces = zip(
        features.flatten(0, 1).split(POSITIONS_AT_ONCE), target_output.flatten().split(POSITIONS_AT_ONCE), strict=True
    )
    for feature, target in pieces:
        logits = model.project(feature).float()  # (P, V)
        parts.append(logits.gather(-1, target[:, None]).squeeze(-1) - logits.logsumexp(-1))  # (P,)
    real = target_output != PAD  # (B, T)
    values = torch.cat(parts).view_as(target_output).masked_fill(~real, 0.0)  # (B, T)
    return values.sum(1), real.sum(1)


@torch.no_grad()
def forced_attention(model: Seq2Seq, source: Tensor, lengths: Tensor, hypotheses: list[list[int]]) -> Attention:
    """All attention weights of finished hypotheses, one (no BOS, no EOS) for each row of ``source``.

    One teacher-forced pass gives the weights that search had, whatever the beam. T is the longest hypothesis
    + 1: row t holds the weights of the step that generates token t, and the row after the last token those of
    the step that generates EOS; the rows after that, of shorter hypotheses, mean nothing.
    """
    steps = 1 + max(len(tokens) for tokens in hypotheses)
    rows = [[BOS, *tokens] + [PAD] * (steps - 1 - len(tokens)) for tokens in hypotheses]
    target = torch.tensor(rows, dtype=torch.long, device=source.device)  # (B, T)
    _, attention = model.decode(model.encode(source, lengths, attention=True), target, attention=True)
    return attention
