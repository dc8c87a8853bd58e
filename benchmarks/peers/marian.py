"""The worker of Hugging Face's Marian (Transformers), with random weights and PyTorch's fused attention."""

import protocol
import torch.nn.functional as F
from protocol import BOS, DROPOUT, EOS, HEADS, INNER, LAYERS, PAD, SIZE, SMOOTHING, STEPS
from torch import Tensor
from transformers import MarianConfig, MarianMTModel


class Marian(protocol.Contender):
    """Marian's model and generation; PyTorch's loss, which takes fewer passes over the logits than its trainer's."""

    package = "transformers"
    models = ("transformer",)

    def __init__(self, name: str, vocabulary: int, threads: int) -> None:
        sides = {"layers": LAYERS, "attention_heads": HEADS, "ffn_dim": INNER}
        config = MarianConfig(
            **{f"{part}_{key}": value for part in ("encoder", "decoder") for key, value in sides.items()},
            vocab_size=vocabulary,
            d_model=SIZE,
            dropout=DROPOUT,
            activation_dropout=DROPOUT,
            activation_function="relu",
            scale_embedding=True,
            share_encoder_decoder_embeddings=False,
            tie_word_embeddings=False,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            forced_eos_token_id=None,
            decoder_start_token_id=BOS,
            attn_implementation="sdpa",
        )
        self.model = MarianMTModel(config)

    def loss(self, prepared: protocol.Batch) -> Tensor:
        """Over all positions; padding weighs nothing."""
        logits = self.model(
            input_ids=prepared.source,
            attention_mask=prepared.source.ne(PAD),
            decoder_input_ids=prepared.target_input,
            use_cache=False,
        ).logits  # (B, T, V)
        target = prepared.target_output.flatten()
        return F.cross_entropy(
            logits.flatten(0, 1), target, ignore_index=PAD, label_smoothing=SMOOTHING, reduction="sum"
        )

    def translate_batch(self, source: Tensor, lengths: Tensor, beam: int) -> list[list[int]]:
        """``generate``, which gives BOS too."""
        rows = self.model.generate(
            input_ids=source,
            attention_mask=source.ne(PAD).long(),
            num_beams=beam,
            do_sample=False,
            min_new_tokens=STEPS,
            max_new_tokens=STEPS,
        )
        return rows[:, 1:].tolist()


if __name__ == "__main__":
    protocol.main(Marian)
