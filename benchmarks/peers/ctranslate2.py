"""The worker of CTranslate2, an engine for inference: a pre-norm Transformer of the same sizes with random weights.

It translates several batches at once, one a thread, which its manual recommends for throughput. Its int8 stands beside
the others' bf16, which it has not on a CPU.
"""

import re
from math import prod
from tempfile import TemporaryDirectory

import numpy as np
import protocol
from ctranslate2 import Translator
from ctranslate2.specs import TransformerSpec, model_spec
from protocol import BOS, EOS, HEADS, INNER, LAYERS, PAD, SIZE, STEPS, UNK
from torch import Tensor

COMPUTE = {"fp32": "float32", "int8": "int8"}
SPECIAL = {PAD: "<blank>", UNK: "<unk>", BOS: "<s>", EOS: "</s>"}
ROWS = 64  # sentences of a batch, as for all


def shape(name: str, vocabulary: int) -> tuple[int, ...]:
    """Of a weight by its name in the specification; linear maps are (out, in)."""
    if name.endswith(("gamma", "beta")):
        return (SIZE,)
    if "embeddings" in name or "projection" in name:
        return vocabulary, SIZE
    if "ffn" in name:
        return (INNER, SIZE) if "linear_0" in name else (SIZE, INNER)
    if "/attention/linear_1" in name:
        return 2 * SIZE, SIZE  # keys and values of the source
    return (3 * SIZE if "self_attention/linear_0" in name else SIZE), SIZE


class CTranslate2(protocol.Contender):
    """CTranslate2's model and search."""

    package = "ctranslate2"
    models = ("transformer",)
    tasks = ("greedy", "beam")
    precisions = tuple(COMPUTE)

    def __init__(self, name: str, vocabulary: int, threads: int) -> None:
        random = np.random.default_rng(0)
        spec = TransformerSpec.from_config((LAYERS, LAYERS), HEADS, pre_norm=True)
        self.count = 0

        def fill(part: model_spec.LayerSpec, path: str, value: object) -> None:
            """Random weights, and the biases, which the specification holds for optional."""
            bias = re.search(r"(linear_\d|projection)/bias$", path)
            if value is not None and not bias:
                return
            size = shape(path, vocabulary)[:1] if bias else shape(path, vocabulary)
            weight = np.ones(size) if path.endswith("gamma") else random.normal(0, SIZE**-0.5, size)
            self.count += prod(size)
            setattr(part, path.rpartition("/")[2], weight.astype(np.float32))

        model_spec.visit_spec(spec, fill)
        self.tokens = [SPECIAL.get(number, f"piece{number}") for number in range(vocabulary)]
        spec.register_source_vocabulary(self.tokens)
        spec.register_target_vocabulary(self.tokens)
        spec.validate()
        with TemporaryDirectory() as folder:
            spec.save(folder)
            self.translators = {
                precision: Translator(folder, compute_type=kind, inter_threads=threads, intra_threads=1)
                for precision, kind in COMPUTE.items()
            }

    def parameters(self) -> int:
        """Numbers in the specification."""
        return self.count

    def translate(self, sources: list[Tensor], beam: int, precision: str) -> list[list[int]]:
        """All batches in one call, so that its threads share them."""
        rows = [[self.tokens[i] for i in row if i != PAD] for source in sources for row in source.tolist()]
        limits = {"min_decoding_length": STEPS, "max_decoding_length": STEPS, "max_batch_size": ROWS}
        found = self.translators[precision].translate_batch(rows, beam_size=beam, length_penalty=0.6, **limits)
        return [result.hypotheses[0] for result in found]


if __name__ == "__main__":
    protocol.main(CTranslate2)
