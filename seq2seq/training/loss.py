"""Label-smoothed cross-entropy over real target tokens.

Szegedy et al. 2016, arXiv 1512.00567, §7; the mass ε is spread over every token but PAD.
Legend: N tokens, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor

from seq2seq.symbols import PAD

_CHUNK_ELEMENTS = 1 << 20  # of logits, in fp32: 4 MB, which stays in a processor's cache


def reference_loss(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The readable definition, which a test binds to ``smoothed_cross_entropy``.

    logits: (N, V); target: (N,) without PAD. Gives the sums over tokens of the smoothed loss and of the plain
    negative log-likelihood, in nats.
    """
    log_probabilities = logits.float().log_softmax(-1)  # (N, V)
    nll = -log_probabilities.gather(1, target[:, None]).sum()
    spread = -(log_probabilities.sum(-1) - log_probabilities[:, PAD]).sum() / (logits.shape[1] - 1)
    return (1 - smoothing) * nll + smoothing * spread, nll


class _SmoothedCrossEntropy(torch.autograd.Function):
    """``reference_loss`` with its gradient computed in the same pass, chunk by chunk.

    ∂loss/∂logits = softmax(logits) − (1 − ε)·onehot(target) − ε/(V − 1) on every column but PAD.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        size = logits.shape[1]
        share = smoothing / (size - 1)
        gradient = torch.empty_like(logits)  # (N, V)
        loss = logits.new_zeros((), dtype=torch.float32)
        nll = logits.new_zeros((), dtype=torch.float32)
        rows = max(1, _CHUNK_ELEMENTS // size)
        for chunk, wanted, slot in zip(logits.split(rows), target.split(rows), gradient.split(rows), strict=True):
            scores = chunk.float()  # (n, V)
            work = scores.softmax(-1)
            normaliser = scores.amax(-1) - work.amax(-1).log()  # (n,), logsumexp without a second exponential
            plain = (normaliser - scores.gather(1, wanted[:, None])[:, 0]).sum()
            nll += plain
            loss += (1 - smoothing) * plain
            if share:
                loss += share * (normaliser.sum() * (size - 1) - scores.sum() + scores[:, PAD].sum())
            work[torch.arange(len(wanted), device=wanted.device), wanted] -= 1 - smoothing
            work[:, PAD] += share
            torch.sub(work, share, out=slot)
        ctx.save_for_backward(gradient)
        ctx.spent = False
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        if ctx.spent:
            raise RuntimeError("this loss can be differentiated once only: its gradient is scaled in place")
        ctx.spent = True
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(scale), None, None


def smoothed_cross_entropy(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """See ``reference_loss``; without gradients wanted, that very function."""
    if not (torch.is_grad_enabled() and logits.requires_grad):
        return reference_loss(logits, target, smoothing)
    return _SmoothedCrossEntropy.apply(logits, target, smoothing)
