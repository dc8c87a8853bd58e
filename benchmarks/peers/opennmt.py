"""The worker of OpenNMT-py (Klein et al. 2017, arXiv 1701.02810).

Its ``mlp`` score attends after the cell, with input feeding, as ``general`` does. Accuracy, which its training counts
in every step, is left out here, and so is dropout on attention weights, which ours has not.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import protocol
import pyonmttok
from onmt.model_builder import build_model
from onmt.opts import train_opts, translate_opts
from onmt.translate import GNMTGlobalScorer, Translator
from onmt.utils.loss import LossCompute
from onmt.utils.parse import ArgumentParser
from protocol import DROPOUT, EMBEDDING, HEADS, HIDDEN, INNER, LAYERS, SIZE, SMOOTHING, STEPS
from torch import Tensor

SPECIAL = ["<blank>", "<unk>", "<s>", "</s>"]  # in the order of everybody's ids
_RECURRENT = f"-encoder_type brnn -decoder_type rnn -rnn_type LSTM -layers 1 -word_vec_size {EMBEDDING} "
_RECURRENT += f"-hidden_size {HIDDEN} "
OPTIONS = {
    "rnn": _RECURRENT + "-global_attention none -input_feed 0",
    "bahdanau": _RECURRENT + "-global_attention mlp -input_feed 1",
    "luong": _RECURRENT + "-global_attention general -input_feed 1",
    "luong_free": _RECURRENT + "-global_attention general -input_feed 0",
    "transformer": f"-encoder_type transformer -decoder_type transformer -position_encoding -layers {LAYERS} "
    f"-heads {HEADS} -word_vec_size {SIZE} -hidden_size {SIZE} -transformer_ff {INNER} -param_init 0 "
    "-param_init_glorot",
}
TRAINING = f"-dropout {DROPOUT} -attention_dropout 0 -label_smoothing {SMOOTHING} "


class OpenNMT(protocol.Contender):
    """OpenNMT-py's model, loss and search, from its own command line."""

    package = "OpenNMT-py"
    models = tuple(OPTIONS)

    def __init__(self, name: str, vocabulary: int, threads: int) -> None:
        words = pyonmttok.build_vocab_from_tokens(
            [f"piece{number}" for number in range(vocabulary - len(SPECIAL))], special_tokens=SPECIAL
        )
        self.vocabularies = {"src": words, "tgt": words, "data_task": "seq2seq", "decoder_start_token": "<s>"}
        parser = ArgumentParser()
        train_opts(parser)
        with TemporaryDirectory() as folder:
            (Path(folder) / "empty.yaml").write_text("data: {}", "utf-8")
            needed = f"-config {folder}/empty.yaml -src_vocab none -save_model none "
            self.options = parser.parse_args((needed + TRAINING + OPTIONS[name]).split())
        ArgumentParser.update_model_opts(self.options)
        ArgumentParser.validate_model_opts(self.options)
        self.model = build_model(self.options, self.options, self.vocabularies, None, -1)
        self.compute = LossCompute.from_opts(self.options, self.model, words)

    def loss(self, prepared: protocol.Batch) -> Tensor:
        """As its ``LossCompute.forward``, without counting correct tokens."""
        output, _ = self.model(prepared.source[..., None], prepared.target[..., None], prepared.lengths)  # (B, T, H)
        scores = self.model.generator(output.flatten(0, 1))  # (B·T, V)
        return self.compute.criterion(scores.float(), prepared.target_output.flatten())

    def translate_batch(self, source: Tensor, lengths: Tensor, beam: int) -> list[list[int]]:
        """Its translator; greedy search is its sampling among one."""
        parser = ArgumentParser()
        translate_opts(parser)
        arguments = f"-model none -src none -beam_size {beam} -min_length {STEPS} -max_length {STEPS} "
        arguments += "-max_length_ratio 0 -gpu -1 " + ("-random_sampling_topk 1" if beam == 1 else "")
        options = parser.parse_args(arguments.split())
        scorer = GNMTGlobalScorer.from_opt(options)
        translator = Translator.from_opt(
            self.model, self.vocabularies, options, self.options, global_scorer=scorer, report_score=False
        )
        batch: dict[str, Any] = {"src": source[..., None], "srclen": lengths}
        found = translator.translate_batch(batch, attn_debug=False)
        return [best[0].tolist() for best in found["predictions"]]


if __name__ == "__main__":
    protocol.main(OpenNMT)
