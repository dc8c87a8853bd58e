"""Label-smoothed cross-entropy over real target tokens, of features: the projection to the vocabulary is a part of it.

Szegedy et al. 2016, arXiv 1512.00567, §7; the mass ε is spread over every token but PAD.
Legend: N tokens, H features, V vocabulary, n rows of a block or chunk.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seq2seq.linear import affine, compute_dtype, rounded
from seq2seq.symbols import PAD

BLOCK, WIDE_BLOCK = 1024, 8192  # tokens whose logits are in memory at a time: on a CPU, elsewhere
ROUND = 256  # divides the rows of larger blocks in bf16: see ``rounded``; a kernel for a whole vocabulary takes long
_CHUNK_ELEMENTS = 1 << 18  # of logits, in fp32: 1 MB, which stays in a processor's cache


def reference_loss(logits: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The readable definition, which a test binds to ``projected_loss``.

    logits: (N, V); target: (N,) without PAD. Gives the sums over tokens of the smoothed loss and of the plain
    negative log-likelihood, in nats.
    """
    log_probabilities = logits.float().log_softmax(-1)  # (N, V)
    nll = -log_probabilities.gather(1, target[:, None]).sum()
    spread = -(log_probabilities.sum(-1) - log_probabilities[:, PAD]).sum() / (logits.shape[1] - 1)
    return (1 - smoothing) * nll + smoothing * spread, nll


def projected_loss(output: nn.Linear, features: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """``reference_loss`` of what ``output`` makes of features (N, H), without ever having all logits in memory."""
    if not torch.is_grad_enabled():
        return reference_loss(output(features), target, smoothing)
    return _ProjectedLoss.apply(features, output.weight, output.bias, target, smoothing)


class _ProjectedLoss(torch.autograd.Function):
    """Block by block: logits, loss, their gradient in their place, and from it at once those of what made them.

    The loss of a token with logits z is logΣexp(z) − (1 − ε)·z_target − share·Σ z over every column but PAD, with
    share = ε/(V − 1). The last term is linear: its sum and its gradients take vectors alone.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        dtype = compute_dtype(features)
        matrix, shift = weight.to(dtype), bias.to(dtype)  # (V, H), (V,)
        share, every = smoothing / (len(weight) - 1), weight.float().sum(0) - weight[PAD]  # (H,)
        gradients = (
            torch.empty_like(features),
            *(torch.zeros_like(parameter, dtype=torch.float32) for parameter in (weight, bias)),
        )
        sums = features.new_zeros(2, dtype=torch.float32)
        size = BLOCK if features.device.type == "cpu" else WIDE_BLOCK
        for block, wanted, slot in zip(*(part.split(size) for part in (features, target, gradients[0])), strict=True):
            count = len(wanted)
            rows = rounded(block, dtype, ROUND if dtype == torch.bfloat16 and count > ROUND else 1)  # (n, H)
            logits = affine(rows, matrix, shift)  # (n, V)
            sums += _differentiate(logits[:count], wanted, 1 - smoothing)
            logits[count:] = 0
            slot.copy_((logits @ matrix)[:count] - share * every)
            gradients[1].add_(logits.t() @ rows)
            gradients[2].add_(logits.sum(0))
        loss, nll = sums.unbind()
        if share:
            whole, count = features.float().sum(0), len(target)  # (H,)
            # not whole @ every, which autocast would take to bf16
            loss = loss - share * ((whole * every).sum() + count * (bias.sum() - bias[PAD]))
            for gradient, part in zip(gradients[1:], (whole, count), strict=True):
                gradient.sub_(share * part)
                gradient[PAD] += share * part
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        return *(gradient * scale for gradient in ctx.saved_tensors), None, None


def _differentiate(logits: Tensor, target: Tensor, mass: float) -> Tensor:
    """Sums over tokens of logΣexp(z) − mass·z_target, and of the same with a mass of 1, (2,).

    In the place of logits z (n, V) comes the gradient of the first, softmax(z) − mass·onehot(target).
    """
    found = logits.new_zeros(2, dtype=torch.float32)
    rows = max(1, _CHUNK_ELEMENTS // logits.shape[1]) if logits.device.type == "cpu" else len(logits)
    for chunk, wanted in zip(logits.split(rows), target[:, None].split(rows), strict=True):
        scores = chunk.float()  # (n, V)
        picked = scores.gather(1, wanted)  # (n, 1)
        most = scores.amax(-1, keepdim=True)  # (n, 1)
        chances = scores.softmax(-1)  # (n, V); the most likely one's is 1 / Σexp(z − most)
        normaliser = most - chances.amax(-1, keepdim=True).log()  # (n, 1)
        found += torch.stack([(normaliser - mass * picked).sum(), (normaliser - picked).sum()])
        chunk.copy_(chances.scatter_add_(1, wanted, torch.full_like(picked, -mass)))
    return found
