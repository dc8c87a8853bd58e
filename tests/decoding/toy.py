"""A tiny recurrent model with random weights behind the interface: what comes next depends on all that came before.

Legend as in the interface; D is the size of its one state vector.
"""

from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from seq2seq.models.interface import Attention, Memory, Seq2Seq, State
from seq2seq.symbols import BOS, EOS, PAD


@dataclass(frozen=True)
class ToyState(State):
    hidden: Tensor  # (N, D)
    clock: Tensor  # (N, 1) words so far


class Toy(Seq2Seq):
    """The logit of EOS has ``eos`` added, and rises with every word. ``rows`` records the N of every step."""

    def __init__(self, vocabulary: int = 7, size: int = 8, seed: int = 0, eos: float = -1.0, dtype=torch.float32):
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        self.source_table = torch.randn(32, size, generator=draw)
        self.target_table = torch.randn(vocabulary, size, generator=draw)
        self.recurrent = torch.randn(size, size, generator=draw) / size**0.5
        self.output = 0.5 * torch.randn(size + 1, vocabulary, generator=draw)
        self.output[-1] = 0
        self.output[-1, EOS] = 0.5
        self.bias = torch.zeros(vocabulary)
        self.bias[EOS] = eos
        self.dtype = dtype
        self.rows: list[int] = []

    def encode(self, source: Tensor, lengths: Tensor, attention: bool = False) -> Memory:
        mask = torch.arange(source.shape[1]) < lengths[:, None]  # (B, S)
        states = self.source_table[source]  # (B, S, D)
        summary = (states * mask[..., None]).sum(1) / lengths[:, None]  # (B, D)
        return Memory(states, mask, summary=(summary,))

    def start(self, memory: Memory) -> ToyState:
        return ToyState(torch.zeros_like(memory.summary[0]), torch.zeros(len(memory.mask), 1))

    def step(self, memory: Memory, tokens: Tensor, state: ToyState, attention: bool = False):
        self.rows.append(len(tokens))
        beam, rest = divmod(len(tokens), len(memory.mask))
        assert rest == 0
        assert len(state.hidden) == len(tokens)
        rows = torch.arange(len(memory.mask)).repeat_interleave(beam)  # (N,)
        summary = memory.summary[0][rows]  # (N, D)
        hidden = torch.tanh(state.hidden @ self.recurrent + self.target_table[tokens] + summary)  # (N, D)
        energy = (memory.states[rows] @ hidden[..., None]).squeeze(-1)  # (N, S)
        weights = energy.masked_fill(~memory.mask[rows], float("-inf")).softmax(-1)  # (N, S)
        features = torch.cat([hidden, state.clock], 1)  # (N, D + 1)
        return features, weights if attention else None, ToyState(hidden, state.clock + 1)

    def decode(self, memory: Memory, target: Tensor, attention: bool = False):
        state, features, weights = self.start(memory), [], []
        for column in target.unbind(1):
            feature, weight, state = self.step(memory, column, state, True)
            features.append(feature)
            weights.append(weight)
        cross = torch.stack(weights, 1)[:, None, None]  # (B, 1, 1, T, S)
        return torch.stack(features, 1), Attention(cross) if attention else None

    def project(self, features: Tensor) -> Tensor:
        return (features @ self.output + self.bias).to(self.dtype)


def batch(*sizes: int) -> tuple[Tensor, Tensor]:
    """Sources of these sizes (EOS among them), all different, padded with ids whose content must not matter."""
    source = torch.full((len(sizes), max(sizes)), PAD)
    for row, size in enumerate(sizes):
        ids = [4 + (7 * row + 3 * column) % 27 for column in range(size - 1)]
        source[row, :size] = torch.tensor([*ids, EOS])
    return source, torch.tensor(sizes)


def next_log_probabilities(model: Seq2Seq, source: Tensor, lengths: Tensor, tokens: list[int]) -> Tensor:
    """(V,), what one sentence goes on with, by decoding its whole prefix again."""
    features, _ = model.decode(model.encode(source, lengths), torch.tensor([[BOS, *tokens]]))
    return model.project(features[0, -1]).float().log_softmax(-1)


def every_sentence(vocabulary: int, limit: int) -> list[tuple[int, ...]]:
    """All token sequences that fit, with their EOS, into ``limit`` generated ids."""
    words = range(EOS + 1, vocabulary)
    return [tokens for size in range(limit) for tokens in product(words, repeat=size)]
