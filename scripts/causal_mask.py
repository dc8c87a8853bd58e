"""Self-attention of one sentence with random queries and keys, twice: everyone sees everyone, and none sees the future.

python scripts/causal_mask.py output=docs/causal_mask.png
python scripts/causal_mask.py output=mask.png sentence="Bác sĩ già đọc một lá thư dài mà chị ông đã gửi ." seed=1

Rows ask, columns answer, each row sums to 1. Nothing is learnt here: what is bright is chance. With the mask the first
row has one key left, itself, and the upper triangle is exactly 0, since the mask comes before the softmax.
"""

import sys
from typing import TYPE_CHECKING

from seq2seq.cli import plain_options
from seq2seq.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

SENTENCE = "The old doctor reads a long letter that her brother sent today ."
DEFAULTS = {"output": "", "sentence": SENTENCE, "size": 64, "seed": 0}


def weights(tokens: int, size: int, seed: int) -> tuple["Tensor", "Tensor"]:
    """(n, n) for n tokens and heads of ``size``: without the mask, and with it."""
    import torch

    from seq2seq.attention.dot_product import scaled_dot_product
    from seq2seq.attention.masks import causal_mask

    draw = torch.Generator().manual_seed(seed)
    query, keys, values = (torch.randn(tokens, size, generator=draw) for _ in range(3))  # (n, d)
    masks = None, causal_mask(tokens)  # (n, n), True at j ≤ i
    return tuple(scaled_dot_product(query, keys, values, mask)[1] for mask in masks)


def draw_figure(tables: tuple["Tensor", "Tensor"], tokens: list[str], path: str) -> None:
    """Both side by side, with one scale of colours."""
    from matplotlib.figure import Figure

    from seq2seq.evaluation.figures import CELL, draw_weights, figure_to_png

    side = CELL * len(tokens) + 1.4
    figure = Figure(figsize=(2 * side + 1, side + 0.4), layout="constrained")
    pair = figure.subplots(1, 2)
    for axes, table, title in zip(pair, tables, ("without a mask", "with the causal mask"), strict=True):
        image = draw_weights(axes, table.numpy(), tokens, tokens)
        axes.set_title(title, fontsize=10)
    figure.colorbar(image, ax=pair, label="attention weight", shrink=0.6)
    figure_to_png(figure, path)


def main(arguments: list[str]) -> tuple["Tensor", "Tensor"]:
    """Draws, and gives both tables of weights."""
    options = plain_options(arguments, DEFAULTS)
    if not options["output"]:
        raise UserError("name the picture: output=FILE.png")
    if not options["sentence"].strip():
        raise UserError("sentence: it has no words; write sentence='some words'")
    tokens = options["sentence"].split()
    tables = weights(len(tokens), options["size"], options["seed"])
    draw_figure(tables, tokens, options["output"])
    return tables


if __name__ == "__main__":
    try:
        if {"-h", "--help"} & set(sys.argv):
            print(__doc__.strip())
        else:
            main(sys.argv[1:])
    except (UserError, OSError) as error:
        sys.exit(f"error: {error}")
