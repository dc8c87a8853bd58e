"""Links from a model's attention: whose row it is, words from pieces, and gold that counts the same words."""

import numpy as np
import pytest
import torch
from datasets import Dataset
from tiny import ENGLISH, MODELS, VIETNAMESE, tokenizers

from seq2seq import aligner
from seq2seq.aligner import (
    CONVENTIONS,
    align,
    align_by_each,
    forced_pairs,
    gold_alignments,
    to_words,
    word_weights,
)
from seq2seq.data.corpora import load_corpus
from seq2seq.errors import UserError
from seq2seq.evaluation.links import Gold, alignment_error_rate
from seq2seq.models import build_model
from seq2seq.models.bahdanau import Bahdanau
from seq2seq.models.interface import Attention
from seq2seq.symbols import EOS
from seq2seq.translator import Translation, Translator


def translator(name):
    pair = tokenizers()
    torch.manual_seed(0)
    model = build_model(MODELS[name], len(pair.source), len(pair.target), pair.shared).eval()
    return Translator(model, pair, settings={"model": {"name": name}, "data": {"max_length": 9}})


class Copier(Bahdanau):
    """Knows where to look: row t is at the pieces of the token that step t reads, or of the one that it generates."""

    def encode(self, source, lengths, attention=False):
        self.source = source
        return super().encode(source, lengths, attention)

    def decode(self, memory, target, attention=False):
        features, _ = super().decode(memory, target, attention)
        known = target if self.reads else torch.cat([target[:, 1:], torch.full_like(target[:, :1], EOS)], 1)
        same = (known[:, :, None] == self.source[:, None]) + (self.source == EOS)[:, None] * 0.25  # (B, T, S)
        return features, Attention(cross=(same / same.sum(-1, keepdim=True))[:, None, None])


def copier(reads):
    pair = tokenizers()
    options = {key: value for key, value in MODELS["bahdanau"].items() if key != "name"}
    model = Copier(len(pair.source), len(pair.target), pair.shared, **options).eval()
    model.reads = reads
    return Translator(model, pair, settings={"model": {"name": "bahdanau"}})


def shuffled(line, seed):
    order = np.random.default_rng(seed).permutation(len(line.split())).tolist()
    links = frozenset((i, j) for j, i in enumerate(order))
    return " ".join(line.split()[i] for i in order), Gold(links, links)


# Words without a piece in common, of one piece and of several.
LINES = ["cat reads old the", "city chair late", "She books on this", "mèo ghế quyển", "a"]


@pytest.mark.parametrize(("convention", "reads"), [("generated", False), ("shifted", True)])
def test_each_convention_reads_the_rows_of_a_model_that_keeps_to_it_and_no_others(convention, reads):
    knowing = copier(reads)
    assert any(len(knowing.tokenizers.source.encode([word])[0]) > 1 for word in LINES[0].split())
    targets, gold = zip(*(shuffled(line, seed) for seed, line in enumerate(LINES)), strict=True)
    found = align_by_each(knowing, LINES, targets)
    assert alignment_error_rate(found[convention], gold).aer == 0
    (other,) = set(CONVENTIONS) - {convention}
    assert alignment_error_rate(found[other], gold).aer > 0.2
    assert align(knowing, LINES, targets, convention=convention) == found[convention]


def given(weights, source, target):
    return Translation("", "", source.split(), target.split(), 0.0, True, [], np.array(weights)[None, None])


def test_rows_and_columns_by_hand():
    rows = [
        [0.5, 0.1, 0.1, 0.3],  # generates ▁u
        [0.0, 0.2, 0.2, 0.6],  # reads ▁u, generates ▁v
        [0.1, 0.0, 0.3, 0.6],  # reads ▁v, generates w
        [0.0, 0.0, 0.0, 1.0],  # reads w, generates </s>
    ]
    one = given(rows, "▁a ▁b c </s>", "▁u ▁v w </s>")
    generated = to_words(one, (2, 2), "generated")
    np.testing.assert_allclose(generated, [[0.5 / 0.7, 0.2 / 0.7], [0.05 / 0.4, 0.35 / 0.4]])
    shifted = to_words(one, (2, 2), "shifted")
    np.testing.assert_allclose(shifted, [[0, 1], [0.25, 0.75]])


def test_a_word_that_looks_at_the_end_alone_has_no_link():
    one = given([[0.0, 0.0, 1.0], [0.9, 0.0, 0.1], [0.0, 0.0, 1.0]], "▁a ▁b </s>", "▁u ▁v </s>")
    np.testing.assert_array_equal(to_words(one, (2, 2), "generated"), [[0, 0], [1, 0]])
    np.testing.assert_array_equal(to_words(one, (2, 2), "shifted"), [[1, 0], [0, 0]])


@pytest.mark.parametrize("name", ["bahdanau", "luong", "transformer"])
def test_links_do_not_depend_on_what_is_aligned_beside(name, monkeypatch):
    one = translator(name)
    sources, targets = ENGLISH * 2, [*VIETNAMESE, *reversed(VIETNAMESE)]
    together = align_by_each(one, sources, targets)
    monkeypatch.setattr(aligner, "PAIRS_AT_ONCE", 3)
    monkeypatch.setattr(aligner, "AREA_AT_ONCE", 2000)
    assert align_by_each(one, sources, targets) == together
    alone = [align(one, [source], [target]) for source, target in zip(sources, targets, strict=True)]
    assert [links for (links,) in alone] == together["generated"]


def test_no_more_pairs_are_in_memory_than_fit(monkeypatch):
    monkeypatch.setattr(aligner, "PAIRS_AT_ONCE", 3)
    monkeypatch.setattr(aligner, "AREA_AT_ONCE", 100)
    sources = ["a"] * 7 + ["a" * 20, "a", "a" * 20]
    slices = list(aligner._chunks(sources, [line.replace("a" * 20, "a" * 10) for line in sources]))
    assert [(rows.start, rows.stop) for rows in slices] == [(0, 3), (3, 6), (6, 7), (7, 8), (8, 9), (9, 10)]
    assert list(aligner._chunks([], [])) == []


def test_layers_and_heads_are_chosen_and_weights_of_a_word_sum_to_1():
    one = translator("transformer")
    places = [(layer, head) for layer in (0, 1, -1, "mean") for head in (0, 1, "mean", "max")]
    found = [list(word_weights(one, ENGLISH, VIETNAMESE, layer=layer, head=head)) for layer, head in places]
    for tables in found:
        for table, source, target in zip(tables, ENGLISH, VIETNAMESE, strict=True):
            assert table.shape == (len(target.split()), len(source.split()))
            np.testing.assert_allclose(table.sum(1), 1)
    assert len({tables[0].tobytes() for tables in found}) == len(places)
    with pytest.raises(UserError, match="layer=3: this model has layers 0 to 2"):
        align(one, ENGLISH, VIETNAMESE, layer=3)


def test_empty_and_very_long_lines_have_no_link_and_shift_no_other(caplog):
    one = translator("luong")
    sources = ["", ENGLISH[0], "a", ENGLISH[1], "a " * 1100, "a"]
    targets = ["x", VIETNAMESE[0], " ", VIETNAMESE[1], "a", "a " * 1100]
    found = align(one, sources, targets)
    assert [bool(links) for links in found] == [False, True, False, True, False, False]
    assert found[1::2][:2] == align(one, ENGLISH[:2], VIETNAMESE[:2])
    assert [record.message.partition(":")[0] for record in caplog.records] == ["alignment, line 5", "alignment, line 6"]


def test_without_attention_there_is_nothing():
    one = translator("rnn")
    assert align(one, ENGLISH, VIETNAMESE) is None
    with pytest.raises(UserError, match="model rnn has no attention"):
        list(word_weights(one, ENGLISH, VIETNAMESE))


def test_pieces_that_make_up_other_words_than_the_text_are_an_error(monkeypatch):
    one = translator("luong")
    force = one.force
    monkeypatch.setattr(one, "force", lambda sources, *rest, **more: force([sources[0], "a b"], *rest, **more))
    with pytest.raises(UserError, match=r"line 2: its source has 3 words, but the pieces .* make up 2"):
        list(forced_pairs(one, ["a b c", "a b c"], ["u", "v"]))


def test_gold_of_the_built_in_corpus_counts_its_words():
    split = load_corpus("grammar", train=5, validation=5, test=5)["test"]
    gold = gold_alignments(split)
    assert len(gold) == 5
    for one, source, target in zip(gold, split["source"], split["target"], strict=True):
        assert one.sure == one.possible
        assert max(i for i, _ in one.sure) < len(source.split())
        assert max(j for _, j in one.sure) < len(target.split())
    assert gold_alignments(Dataset.from_dict({"source": ["a"], "target": ["b"]})) is None


def test_gold_of_a_file_belongs_to_its_pairs(tmp_path):
    path = tmp_path / "gold"
    path.write_text("1-1 2p2\n\n")
    assert gold_alignments(path, ["a  b", "c"], ["d e", "f"]) == [
        Gold(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)})),
        Gold(frozenset(), frozenset()),
    ]
    with pytest.raises(UserError, match=r"gold, line 1: 2p2 names a word that is not there"):
        gold_alignments(path, ["a b", "c"], ["d e", "f"], base=0)
    with pytest.raises(UserError, match="gone: the gold alignments cannot be read"):
        gold_alignments(tmp_path / "gone", ["a"], ["b"])
