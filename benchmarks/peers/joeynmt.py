"""The worker of JoeyNMT (Kreutzer et al. 2019, arXiv 1907.12484).

Both recurrent models attend after the cell, with input feeding unless it is switched off. Accuracy, which its training
counts in every step, is left out here.
"""

from types import SimpleNamespace
from typing import Any

import protocol
import torch
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary
from protocol import BOS, DROPOUT, EMBEDDING, EOS, HEADS, HIDDEN, INNER, LAYERS, PAD, SIZE, SMOOTHING, STEPS, UNK
from torch import Tensor

SPECIAL = {"pad": PAD, "unk": UNK, "bos": BOS, "eos": EOS}
ATTENTION = {
    "bahdanau": {"attention": "bahdanau", "input_feeding": True},
    "luong": {"attention": "luong", "input_feeding": True},
    "luong_free": {"attention": "luong", "input_feeding": False},
}


def settings(name: str) -> dict[str, Any]:
    """Its ``model`` section; dropout where it has it by default in its own examples."""
    if name == "transformer":
        part = {"type": "transformer", "num_layers": LAYERS, "num_heads": HEADS, "hidden_size": SIZE, "ff_size": INNER}
        part |= {"dropout": DROPOUT, "layer_norm": "pre", "embeddings": {"embedding_dim": SIZE, "scale": True}}
        return {"encoder": part, "decoder": part}
    part = {"type": "recurrent", "rnn_type": "lstm", "num_layers": 1, "dropout": DROPOUT}
    part |= {"embeddings": {"embedding_dim": EMBEDDING, "dropout": DROPOUT}}
    encoder = part | {"hidden_size": HIDDEN // 2, "bidirectional": True}
    decoder = part | {"hidden_size": HIDDEN, "hidden_dropout": DROPOUT, "init_hidden": "bridge"} | ATTENTION[name]
    return {"encoder": encoder, "decoder": decoder}


class JoeyNMT(protocol.Contender):
    """JoeyNMT's model, loss and search."""

    package = "joeynmt"
    models = (*ATTENTION, "transformer")

    def __init__(self, name: str, vocabulary: int, threads: int) -> None:
        tokens = [f"<{token}>" for token in SPECIAL] + [f"piece{number}" for number in range(vocabulary - len(SPECIAL))]
        names = {f"{token}_token": f"<{token}>" for token in SPECIAL} | {f"{key}_id": i for key, i in SPECIAL.items()}
        words = VocabularyInOrder(tokens, SimpleNamespace(**names, sep_token=None, lang_tags=[]))
        self.model = build_model(settings(name), words, words)
        self.model.loss_function = ("crossentropy", SMOOTHING)

    def prepare(self, batch: protocol.Batch) -> Batch:
        """Its own batch, which makes masks and the decoder's input."""
        return self._batch(batch.source, batch.lengths, batch.target)

    def _batch(self, source: Tensor, lengths: Tensor, target: Tensor | None) -> Batch:
        return Batch(source, lengths, None, target, None, None, torch.device("cpu"), PAD, EOS)

    def loss(self, prepared: Batch) -> Tensor:
        """As its ``Model.forward`` with ``return_type="loss"``, without counting correct tokens."""
        logits, *_ = self.model._encode_decode(**vars(prepared))
        return self.model.loss_function(torch.log_softmax(logits, dim=-1), trg=prepared.trg)

    def translate_batch(self, source: Tensor, lengths: Tensor, beam: int) -> list[list[int]]:
        """Its search. It needs its own autocast; within the one around this call, weights are cast once a batch."""
        mixed = torch.is_autocast_enabled("cpu")
        rows, *_ = search(
            self.model,
            self._batch(source, lengths, None),
            max_output_length=STEPS,
            min_output_length=STEPS,
            beam_size=beam,
            beam_alpha=0.6,
            autocast={"device_type": "cpu", "dtype": torch.bfloat16, "enabled": mixed},
        )
        return [list(row) for row in rows]


class VocabularyInOrder(Vocabulary):
    """Its vocabulary puts ``unk`` first; here ids are everybody's."""

    def add_tokens(self, tokens: list[str]) -> None:
        """Special tokens first, in the order of their ids."""
        super().add_tokens(sorted(tokens, key=lambda token: SPECIAL.get(token.strip("<>"), len(SPECIAL))))


if __name__ == "__main__":
    protocol.main(JoeyNMT)
