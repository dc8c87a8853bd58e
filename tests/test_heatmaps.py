import numpy as np
import pytest
import torch
from tiny import ENGLISH, write_run

from seq2seq.errors import UserError
from seq2seq.evaluation.alignment import merge_pieces
from seq2seq.heatmaps import draw_attention
from seq2seq.models.interface import reduce_attention
from seq2seq.translator import Translation, Translator


def _labels(figure):
    axes = figure.axes[0]
    return [[label.get_text() for label in axis.get_ticklabels()] for axis in (axes.xaxis, axes.yaxis)]


def test_a_picture_has_the_words_and_weights_of_the_layer_and_head_it_names():
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.ones(4), size=(3, 2, 3)).astype(np.float32)  # (L, heads, T, S)
    source, target = ["▁The", "▁ca", "t", "</s>"], ["▁Con", "▁mèo", "</s>"]
    one = Translation("The cat", "Con mèo", source, target, -1.0, True, [("Con mèo", -1.0)], weights)
    for layer, head in ((-1, "mean"), (0, 1), ("mean", "max")):
        figure = draw_attention(one, "transformer", layer, head)
        matrix = reduce_attention(torch.from_numpy(weights)[None], layer, head)[0].numpy()
        expected, *words = merge_pieces(matrix, source, target)
        np.testing.assert_allclose(figure.axes[0].images[0].get_array(), expected, atol=1e-6)
        assert _labels(figure) == words == [["The", "cat", "</s>"], ["Con", "mèo", "</s>"]]
    assert "layer 0 of 0–2" in draw_attention(one, "transformer", 0, 1).get_suptitle()
    assert "head 1 of 0–1" in draw_attention(one, "transformer", 0, 1).get_suptitle()


def test_a_picture_without_the_end_shares_its_part_among_the_rest_and_says_so():
    weights = np.array([[0.2, 0.2, 0.6], [0.0, 0.0, 1.0]], dtype=np.float32)[None, None]  # (L, heads, T, S)
    one = Translation("a b", "x", ["▁a", "▁b", "</s>"], ["▁x", "</s>"], -1.0, True, [("x", -1.0)], weights)
    figure = draw_attention(one, "luong", end_shown=False)
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), [[0.5, 0.5], [0, 0]], atol=1e-6)
    assert _labels(figure) == [["a", "b"], ["x", "</s>"]]
    assert figure.get_suptitle() == "luong · one layer · one head · </s> column left out, rows rescaled"
    assert _labels(draw_attention(one, "luong"))[0] == ["a", "b", "</s>"]
    assert "</s> shown" in draw_attention(one, "luong").get_suptitle()


@pytest.mark.parametrize("place", [{"layer": 3}, {"layer": "max"}, {"head": 2}, {"head": True}, {"head": "some"}])
def test_a_layer_or_head_that_is_not_there_is_named(tmp_path, place):
    transformer = Translator.from_checkpoint(write_run(tmp_path / "run", "transformer"), "cpu")
    (one,) = transformer.translate([ENGLISH[0]], attention=True, max_length=12)
    with pytest.raises(UserError, match=f"{next(iter(place))}=.*0 to"):
        draw_attention(one, "transformer", **place)
