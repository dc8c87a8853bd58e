"""Why energies are divided by √d_k: what becomes of softmax and of its gradient as queries and keys grow longer.

python scripts/attention_scaling.py                                # a table on standard output
python scripts/attention_scaling.py output=docs/attention_scaling.png positions=64 sentences=50 seed=0

Queries and keys are independent normal numbers of variance 1. Their product has variance d_k, so that without 1/√d_k
the softmax comes to look at one key alone. Entropy is in nats, at most ln n. Gradient is the size of what reaches the
energies: the Frobenius norm of the softmax's Jacobian ∂αᵢ/∂eⱼ = αᵢ(δᵢⱼ − αⱼ), which is 0 where one weight is 1.
(Vaswani et al. 2017, arXiv 1706.03762, §3.2.1 with footnote 4.)
"""

import math
import sys
from typing import TYPE_CHECKING, Any

from seq2seq.cli import plain_options
from seq2seq.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

DEFAULTS = {"output": "", "positions": 64, "sentences": 50, "seed": 0}
SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)


def jacobian_norm(weights: "Tensor") -> "Tensor":
    """The Frobenius norm of diag(α) − ααᵀ for each row α of weights (…, n), without the n × n matrix: (…,)."""
    square = weights.square().sum(-1)
    return (square - 2 * weights.pow(3).sum(-1) + square.square()).clamp_min(0).sqrt()


def rows(options: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each size of head, with and without the scale: means and quartiles over all queries."""
    import torch

    draw = torch.Generator().manual_seed(options["seed"])
    found = []
    for size in SIZES:
        shape = options["sentences"], options["positions"], size
        query, keys = (torch.randn(shape, generator=draw, dtype=torch.float64) for _ in range(2))  # (B, n, d)
        energies = query @ keys.transpose(-2, -1)  # (B, n, n)
        for scaled in (True, False):
            used = energies / math.sqrt(size) if scaled else energies
            weights = used.softmax(-1)  # (B, n, n), in fp64: what is left of a gradient is small
            entropy = torch.special.entr(weights).sum(-1).flatten()  # (B·n,)
            gradient = jacobian_norm(weights).flatten()  # (B·n,)
            low, middle, high = gradient.quantile(torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)).tolist()
            found.append(
                {
                    **{"d_k": size, "scaled": scaled, "deviation": used.std().item()},
                    **{"entropy": entropy.mean().item(), "largest": weights.amax(-1).mean().item()},
                    **{"gradient": gradient.mean().item(), "low": low, "median": middle, "high": high},
                }
            )
    return found


def table(found: list[dict[str, Any]], options: dict[str, Any]) -> str:
    """Markdown: a row for each size and scale."""
    positions = options["positions"]
    lines = [
        f"{options['sentences'] * positions:,} queries, each over {positions} keys. An even softmax has an entropy of "
        f"ln {positions} = {math.log(positions):.2f}.",
        "",
        "| d_k | energies | their deviation | entropy | largest weight | gradient, mean | gradient, median |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in found:
        numbers = f"{row['deviation']:.2f} | {row['entropy']:.2f} | {row['largest']:.2f}"
        gradients = f"{row['gradient']:.3f} | {row['median']:.2g}"
        lines.append(f"| {row['d_k']} | {'q·k / √d_k' if row['scaled'] else 'q·k'} | {numbers} | {gradients} |")
    return "\n".join(lines)


def draw_figure(found: list[dict[str, Any]], positions: int, path: str) -> None:
    """Entropy, and the median gradient with its quartiles, against d_k."""
    from matplotlib.figure import Figure

    from seq2seq.evaluation.figures import COLOURS, MARKERS, figure_to_png

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, scaled in enumerate((True, False)):
        own = [row for row in found if row["scaled"] == scaled]
        sizes, style = [row["d_k"] for row in own], {"color": COLOURS[number], "marker": MARKERS[number]}
        label = r"$q \cdot k\,/\sqrt{d_k}$" if scaled else r"$q \cdot k$"
        left.plot(sizes, [row["entropy"] for row in own], label=label, **style)
        right.plot(sizes, [row["median"] for row in own], **style)
        right.fill_between(
            sizes, [row["low"] for row in own], [row["high"] for row in own], color=COLOURS[number], alpha=0.2, lw=0
        )
    left.axhline(math.log(positions), color="gray", linestyle=":", label=f"even: ln {positions}")
    left.set_ylim(0)
    left.set_ylabel("entropy of the softmax (nats, mean)")
    right.set_yscale("log")
    right.set_ylim(1e-6, 1)
    right.set_ylabel("size of ∂α/∂e (median, quartiles)")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.set_xlabel("size of a head, $d_k$")
        axes.grid(alpha=0.3)
    left.legend()
    figure_to_png(figure, path)


def main(arguments: list[str]) -> str:
    """Draws where ``output`` is given, and gives the table."""
    options = plain_options(arguments, DEFAULTS)
    found = rows(options)
    if options["output"]:
        draw_figure(found, options["positions"], options["output"])
    return table(found, options)


if __name__ == "__main__":
    try:
        print(__doc__.strip() if {"-h", "--help"} & set(sys.argv) else main(sys.argv[1:]))
    except (UserError, OSError) as error:
        sys.exit(f"error: {error}")
