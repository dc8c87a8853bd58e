"""The worker of torchlingo.

Its recurrent encoder has one direction (of the decoder's size), no decoder has input feeding, and a single layer has
no dropout. Its Transformer is ``torch.nn.Transformer`` and decodes the whole prefix again at every step. Its beam
search takes one sentence at a time; only greedy search, which takes batches, is compared.
"""

import protocol
import torch
from protocol import BOS, DROPOUT, EMBEDDING, EOS, HEADS, HIDDEN, INNER, LAYERS, PAD, SIZE, SMOOTHING, STEPS, UNK
from torch import Tensor, nn
from torchlingo.config import Config
from torchlingo.inference import greedy_decode
from torchlingo.models import SimpleSeq2SeqLSTM, SimpleTransformer

ATTENTION = {
    "rnn": {"attention": False},
    "bahdanau": {"attention": True, "attn_type": "additive"},
    "luong_free": {"attention": True, "attn_type": "dot"},
}


class Torchlingo(protocol.Contender):
    """torchlingo's model, loss and greedy search."""

    package = "torchlingo"
    models = (*ATTENTION, "transformer")
    tasks = ("train", "greedy")

    def __init__(self, name: str, vocabulary: int, threads: int) -> None:
        if name == "transformer":
            sizes = {"d_model": SIZE, "n_heads": HEADS, "d_ff": INNER, "dropout": DROPOUT, "pad_idx": PAD}
            sizes |= {"num_encoder_layers": LAYERS, "num_decoder_layers": LAYERS, "norm_first": True}
            self.model = SimpleTransformer(vocabulary, vocabulary, **sizes)
            self.output = self.model.generator
        else:
            sizes = {"emb_dim": EMBEDDING, "hidden_dim": HIDDEN, "num_layers": 1, "dropout": DROPOUT, "pad_idx": PAD}
            self.model = SimpleSeq2SeqLSTM(vocabulary, vocabulary, **sizes, **ATTENTION[name])
            self.output = self.model.output
        self.config = Config(pad_idx=PAD, sos_idx=BOS, eos_idx=EOS, unk_idx=UNK)
        self.criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=SMOOTHING, reduction="sum")

    def loss(self, prepared: protocol.Batch) -> Tensor:
        """As its ``train_model``."""
        logits = self.model(prepared.source, prepared.target_input)  # (B, T, V)
        return self.criterion(logits.flatten(0, 1), prepared.target_output.flatten())

    def block_end(self) -> None:
        """Through the output's bias."""
        with torch.no_grad():
            self.output.bias[EOS] = -1e9

    def translate_batch(self, source: Tensor, lengths: Tensor, beam: int) -> list[list[int]]:
        """Its greedy search, which gives BOS too."""
        return [row[1:] for row in greedy_decode(self.model, source, max_len=STEPS, config=self.config)]


if __name__ == "__main__":
    protocol.main(Torchlingo)
