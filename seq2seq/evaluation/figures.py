"""Pictures as matplotlib Figure objects; no window, no global state, so that training may draw from any thread.

Legend: T target tokens, S source tokens.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from seq2seq.evaluation.length import Bucket

# Okabe and Ito's palette (told apart with colour-blind eyes), in an order that keeps neighbours unlike.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
CELL = 0.24  # inches a token: room for a label of 9 points
LABEL = 24  # letters of a token that are shown
DPI = 100
BESIDE = 1  # curves; the legend of more stands beside them, for together they leave no corner free


def bleu_vs_length_figure(
    curves: Mapping[str, Sequence[Bucket]],
    bars: str = "95 % bootstrap interval",
    axis: str = "source length (words)",
    note: str = "",
) -> Figure:
    """BLEU against length, one curve for each name, with its intervals and sentence counts.

    bars: what the buckets' intervals are, for the legend. axis: whose length it is. note: a line below the axis.
    Buckets stand side by side at equal distances; a curve without a bucket has a gap there.
    Where curves were measured on different sentences the label shows each count.
    """
    ranges = sorted({(b.low, b.high) for buckets in curves.values() for b in buckets}, key=_range_order)
    place = {span: x for x, span in enumerate(ranges)}
    width = max(6.4, 1.1 * len(ranges) + 1.5) + 2.2 * (len(curves) > BESIDE)  # inches
    figure = Figure(figsize=(width, 4.4), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    for number, (name, buckets) in enumerate(curves.items()):
        # A small sideways shift keeps the intervals of several models from hiding each other.
        shift = min(0.08, 0.4 / len(curves)) * (number - (len(curves) - 1) / 2)
        bleu = np.full(len(ranges), np.nan)
        below, above = np.zeros((2, len(ranges)))
        for bucket in buckets:
            x = place[bucket.low, bucket.high]
            bleu[x] = bucket.bleu
            # The score of all sentences can lie just outside the percentiles of very few: no negative bar.
            below[x] = max(bucket.bleu - bucket.interval_low, 0.0)
            above[x] = max(bucket.interval_high - bucket.bleu, 0.0)
        axes.errorbar(
            np.arange(len(ranges)) + shift,
            bleu,
            yerr=(below, above),
            label=name,
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=6,
            linewidth=1.8,
            elinewidth=1.2,
            capsize=3,
        )
    axes.set_xticks(range(len(ranges)), [_range_label(span, curves) for span in ranges])
    axes.set_xlim(-0.5, max(len(ranges) - 0.5, 0.5))
    highest = max((bucket.interval_high for buckets in curves.values() for bucket in buckets), default=0.0)
    axes.set_ylim(0.0, max(1.08 * highest, 1.0))
    axes.set_xlabel(f"{axis}\n{note}" if note else axis)
    axes.set_ylabel("BLEU")
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if curves:
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(curves) > BESIDE else {}
        _legend(axes, curves, f"bars: {bars}", **place)
    return figure


def _legend(axes: Axes, names: Iterable[str], title: str, **place: Any) -> None:
    """Names of curves in the order in which they were drawn; a name is text, whatever is in it."""
    handles = axes.containers
    legend = axes.legend(handles, names, frameon=False, title=title, title_fontsize="small", alignment="left", **place)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _range_order(span: tuple[int, int | None]) -> tuple[int, float]:
    return span[0], float("inf") if span[1] is None else span[1]


def _range_label(span: tuple[int, int | None], curves: Mapping[str, Sequence[Bucket]]) -> str:
    found = [b for buckets in curves.values() for b in buckets if (b.low, b.high) == span]
    counts = sorted({b.sentences for b in found})
    return f"{found[0].label.replace('-', '–')}\nn = {' / '.join(map(str, counts))}"


def joined_figure(
    curves: Mapping[str, Sequence[tuple[int, float, float, float, float]]], sizes: Mapping[int, str], bars: str
) -> Figure:
    """BLEU of sentences that were joined before they were translated (full lines), and of the same apart (dashed).

    curves: of each name points of (how many were joined, BLEU, its interval's ends, BLEU apart).
    sizes: what to say below each number. bars: what the intervals are, for the legend.
    """
    figure = Figure(figsize=(8.6, 4.4), dpi=DPI, layout="constrained")
    axes = figure.add_subplot()
    for number, (name, points) in enumerate(curves.items()):
        together, bleu, low, high, apart = np.array(points, dtype=np.float64).reshape(-1, 5).T
        place = together + 0.04 * (number - (len(curves) - 1) / 2)
        look = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
        bar = (np.maximum(bleu - low, 0.0), np.maximum(high - bleu, 0.0))
        axes.errorbar(place, bleu, yerr=bar, label=name, linewidth=1.8, elinewidth=1.2, capsize=3, **look)
        axes.plot(place, apart, linestyle="--", linewidth=1.0, markersize=4, fillstyle="none", **look)
    axes.set_xticks(list(sizes), [f"{number}\n{text}" for number, text in sizes.items()])
    axes.set_xlabel("sentences joined")
    axes.set_ylabel("BLEU")
    axes.set_ylim(bottom=0.0)
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    title = f"full: as one\nbars: {bars}\ndashed: apart"
    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}  # lines go everywhere
    _legend(axes, curves, title, **place)
    return figure


def alignment_figure(
    weights: np.ndarray, source_tokens: Sequence[str], target_tokens: Sequence[str], title: str
) -> Figure:
    """Heatmap of attention: row t shows where the model looked when it produced target token t.

    weights: (T, S) in [0, 1]. Source tokens stand along the top, target tokens down the side, in reading order.
    Raises ValueError where shape and tokens disagree.
    """
    weights = np.asarray(weights, dtype=np.float64)
    rows, columns = len(target_tokens), len(source_tokens)
    if weights.shape != (rows, columns) or not weights.size:
        raise ValueError(f"weights {weights.shape} are not {rows} target rows x {columns} source columns")
    source_labels, target_labels = ([_short(token) for token in tokens] for tokens in (source_tokens, target_tokens))
    # Cells have a fixed size; labels (about 0.08 inch a letter), title and colour bar come on top of them.
    width = CELL * columns + 0.08 * max(map(len, target_labels)) + 1.4
    height = CELL * rows + 0.08 * max(map(len, source_labels)) + 0.9
    figure = Figure(figsize=(max(width, 4.5), max(height, 2.5)), dpi=DPI, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    axes = figure.add_subplot()
    image = draw_weights(axes, weights, source_labels, target_labels)
    figure.suptitle(title, fontsize=10, parse_math=False, wrap=True)
    # The bar keeps to the picture's top right corner and grows no taller than a dozen cells.
    bar_height = min(1.0, 12 / rows)
    bar = axes.inset_axes((1 + 0.5 / columns, 1 - bar_height, 0.5 / columns, bar_height))
    figure.colorbar(image, cax=bar, label="attention weight", ticks=(0.0, 0.5, 1.0))
    return figure


def draw_weights(axes: Axes, weights: np.ndarray, columns: Sequence[str], rows: Sequence[str]) -> AxesImage:
    """A heatmap of weights (T, S) in [0, 1] with a label for each column, above, and for each row."""
    image = axes.imshow(weights, cmap="magma_r", vmin=0.0, vmax=1.0, interpolation="nearest", aspect="equal")
    # A token may hold dollar signs: it is text, not a formula.
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=9, parse_math=False)
    axes.set_yticks(range(len(rows)), rows, fontsize=9, parse_math=False)
    axes.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False, length=2)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.tick_params(which="minor", length=0)
    axes.grid(which="minor", color="#dddddd", linewidth=0.5)
    return image


def _short(token: str) -> str:
    """A web address must not take the whole page."""
    return token if len(token) <= LABEL else token[: LABEL - 1] + "…"


def figure_to_svg(figure: Figure) -> str:
    """A figure as SVG text, the same for the same figure; letters are shapes, so that no font is needed."""
    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "seq2seq", "svg.fonttype": "path"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def figure_to_png(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG, whatever the file's name ends in."""
    figure.savefig(path, format="png", dpi=figure.dpi)
