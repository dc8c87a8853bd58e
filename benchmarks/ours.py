"""The worker of this project's models, and what the machine's matrix products reach (``peak bf16``)."""

import time
from typing import Any

import protocol
import torch
from protocol import DROPOUT, EMBEDDING, HEADS, HIDDEN, INNER, LAYERS, SIZE, SMOOTHING, STEPS
from torch import Tensor

from seq2seq.decoding.products import products
from seq2seq.decoding.search import search
from seq2seq.memory import keep_few_kernels, keep_freed_memory
from seq2seq.models import build_model
from seq2seq.symbols import EOS, PAD
from seq2seq.training.loss import projected_loss

_COMMON = {"dropout": DROPOUT, "tied": False}  # peers differ in what they can tie
_RECURRENT = {"embedding": EMBEDDING, "hidden": HIDDEN, "layers": 1, "cell": "lstm", "bidirectional": True} | _COMMON
SETTINGS: dict[str, dict[str, Any]] = {
    "rnn": {"name": "rnn", "context_every_step": True} | _RECURRENT,
    "bahdanau": {"name": "bahdanau", "score": "additive"} | _RECURRENT,
    "luong": {"name": "luong", "score": "general", "input_feeding": True} | _RECURRENT,
    "luong_free": {"name": "luong", "score": "general", "input_feeding": False} | _RECURRENT,
    "transformer": {"name": "transformer", "hidden": SIZE, "inner": INNER, "heads": HEADS, "layers": LAYERS} | _COMMON,
}
IMPOSSIBLE = -1e9
# (M, K) by (K, N): from a batch's own products to what matrix units like best
SHAPES = ((4096, 256, 1024), (4096, 512, 2048), (4096, 256, 8000), (2048, 2048, 2048))


class Ours(protocol.Contender):
    """Model, loss and search as training and evaluation use them."""

    package = "seq2seq-attention"
    models = tuple(SETTINGS)

    def __init__(self, name: str, vocabulary: int, threads: int, settings: dict[str, Any] | None = None) -> None:
        """settings: in place of those of the peers' sizes."""
        keep_freed_memory()
        keep_few_kernels()
        self.model = build_model(settings or SETTINGS[name], vocabulary, vocabulary, shared=True)

    def loss(self, prepared: protocol.Batch) -> Tensor:
        """As ``TranslationModule.loss``."""
        memory = self.model.encode(prepared.source, prepared.lengths)
        features, _ = self.model.decode(memory, prepared.target_input)  # (B, T, H)
        real = prepared.target_output != PAD  # (B, T)
        return projected_loss(self.model.output, features[real], prepared.target_output[real], SMOOTHING)[0]

    def block_end(self) -> None:
        """Through the output's bias."""
        with torch.no_grad():
            self.model.output.bias[EOS] = IMPOSSIBLE

    def translate(self, sources: list[Tensor], beam: int, precision: str) -> list[list[int]]:
        """As ``Translator`` does: weights are laid out once for all batches."""
        with products(self.model, precision):
            return super().translate(sources, beam, precision)

    def translate_batch(self, source: Tensor, lengths: Tensor, beam: int) -> list[list[int]]:
        """See ``Contender``."""
        return [best[0].tokens for best in search(self.model, source, lengths, beam=beam, max_length=STEPS)]

    def answer(self, command: str, *arguments: str) -> dict[str, Any]:
        """``peak PRECISION``: operations a second."""
        if command == "peak":
            return {"peak": peak(torch.bfloat16 if arguments[0] == "bf16" else torch.float32)}
        return super().answer(command, *arguments)


def peak(dtype: torch.dtype, seconds: float = 0.2) -> float:
    """The most floating-point operations a second in matrix products of ``SHAPES``."""
    best = 0.0
    for rows, inner, columns in SHAPES:
        left, right = torch.randn(rows, inner, dtype=dtype), torch.randn(inner, columns, dtype=dtype)
        end = time.perf_counter() + seconds
        while (started := time.perf_counter()) < end:
            left @ right
            best = max(best, 2 * rows * inner * columns / (time.perf_counter() - started))
    return best


if __name__ == "__main__":
    protocol.main(Ours)
