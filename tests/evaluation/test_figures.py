import io
import warnings
from itertools import pairwise

import numpy as np
import pytest

from seq2seq.evaluation.figures import (
    COLOURS,
    MARKERS,
    alignment_figure,
    bleu_vs_length_figure,
    figure_to_png,
    figure_to_svg,
    joined_figure,
)
from seq2seq.evaluation.length import Bucket

SOURCE = ["The", "teacher", "reads", "</s>"]
TARGET = ["Cô", "giáo", "đọc", "nghiêng", "</s>"]
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(4), size=5)
RNN = [Bucket(1, 9, 20, 60.0, 50.0, 70.0), Bucket(10, 19, 21, 40.0, 35.0, 45.0), Bucket(50, None, 5, 10.0, 6.0, 14.0)]
BAHDANAU = [Bucket(1, 9, 20, 65.0, 60.0, 70.0), Bucket(50, None, 5, 62.0, 55.0, 64.0)]


def texts(labels):
    return [label.get_text() for label in labels]


def drawn(figure):
    """The picture as (height, width, 4), as TensorBoard takes it; any warning, as for a missing letter, is an error."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def test_alignment_shows_the_weights_with_source_across_and_target_down():
    axes = alignment_figure(WEIGHTS, SOURCE, TARGET, "bahdanau").axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), WEIGHTS)
    assert texts(axes.get_xticklabels()) == SOURCE
    assert texts(axes.get_yticklabels()) == TARGET
    bottom, top = axes.get_ylim()
    assert bottom > top  # the first target token stands at the top


def test_alignment_colours_always_run_from_0_to_1():
    image = alignment_figure(WEIGHTS / 10, SOURCE, TARGET, "luong").axes[0].images[0]
    assert image.get_clim() == (0, 1)
    assert image.colorbar is not None


def test_alignment_carries_its_title():
    assert alignment_figure(WEIGHTS, SOURCE, TARGET, "luong · one head").get_suptitle() == "luong · one head"


def test_alignment_grows_with_the_sentence():
    small = alignment_figure(WEIGHTS, SOURCE, TARGET, "").get_size_inches()
    large = alignment_figure(np.zeros((60, 65)), ["a"] * 65, ["b"] * 60, "").get_size_inches()
    assert (large > 2 * small).all()


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 12), (25, 20)])
def test_neighbouring_labels_do_not_overlap(rows, columns):
    source = ["internationalisation"] * columns
    figure = alignment_figure(np.zeros((rows, columns)), source, ["nghiêng"] * rows, "")
    drawn(figure)
    axes, renderer = figure.axes[0], figure.canvas.get_renderer()
    across = [label.get_window_extent(renderer) for label in axes.get_xticklabels()]
    down = [label.get_window_extent(renderer) for label in axes.get_yticklabels()]
    assert all(a.x1 <= b.x0 for a, b in pairwise(across))
    assert all(a.y0 >= b.y1 for a, b in pairwise(down))
    assert min(box.x0 for box in down) >= 0  # nothing is cut off at the figure's edge
    assert max(box.y1 for box in across) <= figure.bbox.y1


def test_dollar_signs_in_tokens_are_text_not_formulas():
    figure = alignment_figure(np.eye(2), ["$5", r"$\x$"], [r"$\y$", "%_{"], r"$\z$")
    assert drawn(figure).shape[2] == 4


def test_vietnamese_letters_have_glyphs():
    letters = list("ăâđêôơưĐƠƯẵẫểỗợựỷỵỳ")
    drawn(alignment_figure(np.zeros((1, len(letters))), letters, ["₫"], "Tiếng Việt"))


def test_a_very_long_token_is_cut_short():
    label = texts(alignment_figure(np.ones((1, 1)), ["x" * 500], ["y"], "").axes[0].get_xticklabels())[0]
    assert label.startswith("xxx")
    assert label.endswith("…")
    assert len(label) < 30


def test_weights_that_do_not_fit_the_tokens_are_an_error():
    with pytest.raises(ValueError, match="5 target rows x 4 source columns"):
        alignment_figure(WEIGHTS.T, SOURCE, TARGET, "")


def test_length_figure_names_axes_and_counts():
    axes = bleu_vs_length_figure({"rnn": RNN}).axes[0]
    assert axes.get_xlabel() == "source length (words)"
    assert axes.get_ylabel() == "BLEU"
    assert axes.get_ylim()[0] == 0
    assert texts(axes.get_xticklabels()) == ["1–9\nn = 20", "10–19\nn = 21", "50+\nn = 5"]


def test_length_figure_draws_each_curve_with_its_own_look_and_interval():
    axes = bleu_vs_length_figure({"rnn": RNN, "bahdanau": BAHDANAU}).axes[0]
    rnn, bahdanau = (container.lines[0] for container in axes.containers)
    assert rnn.get_color() != bahdanau.get_color()
    assert rnn.get_marker() != bahdanau.get_marker()
    np.testing.assert_array_equal(rnn.get_ydata(), [60, 40, 10])
    np.testing.assert_array_equal(bahdanau.get_ydata(), [65, np.nan, 62])  # a missing bucket is a gap, not a 0
    segments = axes.containers[0].lines[2][0].get_segments()
    assert [tuple(segment[:, 1]) for segment in segments] == [(50, 70), (35, 45), (6, 14)]
    assert texts(axes.get_legend().get_texts()) == ["rnn", "bahdanau"]


def test_length_figure_shows_both_counts_where_they_differ():
    other = [Bucket(1, 9, 7, 1.0, 0.0, 2.0)]
    axes = bleu_vs_length_figure({"a": RNN, "b": other}).axes[0]
    assert texts(axes.get_xticklabels())[0] == "1–9\nn = 7 / 20"


def test_score_outside_its_interval_does_not_crash():
    drawn(bleu_vs_length_figure({"rnn": [Bucket(1, 9, 2, 50.0, 51.0, 52.0)]}))


@pytest.mark.parametrize("curves", [{}, {"rnn": []}, {"rnn": [Bucket(1, 9, 2, 0.0, 0.0, 0.0)]}])
def test_little_or_nothing_to_draw_is_no_error(curves):
    drawn(bleu_vs_length_figure(curves))


def test_png_is_written_at_the_figures_size(tmp_path):
    figure = alignment_figure(WEIGHTS, SOURCE, TARGET, "Tiếng Việt")
    figure_to_png(figure, tmp_path / "đường dẫn.png")
    data = (tmp_path / "đường dẫn.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    size = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    assert size == tuple(int(side) for side in figure.get_size_inches() * figure.dpi)


def test_figures_are_not_registered_with_pyplot():
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    bleu_vs_length_figure({"rnn": RNN})
    alignment_figure(WEIGHTS, SOURCE, TARGET, "")
    assert pyplot.get_fignums() == before


def test_length_figure_names_whose_length_it_is_and_what_was_pooled():
    axes = bleu_vs_length_figure({"rnn": RNN}, axis="reference length (words)", note="pooled").axes[0]
    assert axes.get_xlabel() == "reference length (words)\npooled"


def test_eight_curves_are_told_apart():
    assert len(set(COLOURS)) == len(set(MARKERS)) == len(COLOURS) == len(MARKERS) == 8


def test_joined_figure_draws_both_ways_with_intervals():
    points = [(1, 50.0, 50.0, 50.0, 50.0), (2, 40.0, 35.0, 44.0, 49.0)]
    axes = joined_figure({"rnn": points}, {1: "the test", 2: "60 words"}, "seeds").axes[0]
    whole, apart = axes.containers[0].lines[0], axes.lines[-1]
    np.testing.assert_array_equal(whole.get_ydata(), [50, 40])
    np.testing.assert_array_equal(apart.get_ydata(), [50, 49])
    assert apart.get_linestyle() == "--"
    segments = axes.containers[0].lines[2][0].get_segments()
    assert [tuple(segment[:, 1]) for segment in segments] == [(50, 50), (35, 44)]
    assert texts(axes.get_xticklabels()) == ["1\nthe test", "2\n60 words"]


def test_the_same_figure_is_the_same_svg():
    first, second = (figure_to_svg(bleu_vs_length_figure({"rnn": RNN})) for _ in range(2))
    assert first == second
    assert first.lstrip().startswith("<?xml")
    assert "<text" not in first  # letters are shapes


def test_a_name_in_the_legend_is_text_whatever_is_in_it():
    figure = bleu_vs_length_figure({name: [Bucket(1, None, 3, 20.0, 10.0, 30.0)] for name in ("_a", "h$x_$", "$")})
    figure.savefig(io.BytesIO(), format="png")
    assert texts(figure.axes[0].get_legend().get_texts()) == ["_a", "h$x_$", "$"]
