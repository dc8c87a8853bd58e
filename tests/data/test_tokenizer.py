import logging

import pytest
import sentencepiece

from seq2seq.data import tokenizer as module
from seq2seq.data.text import normalise
from seq2seq.data.tokenizer import Tokenizer, TokenizerPair
from seq2seq.errors import UserError
from seq2seq.symbols import BOS, EOS, PAD, UNK

ENGLISH = ["The cat sleeps on the chair.", "My friend reads a book.", "Do you read the book?", "The chair is old."]
VIETNAMESE = ["Con mèo ngủ trên ghế.", "Bạn tôi đọc một quyển sách.", "Bạn có đọc sách không?", "Cái ghế cũ."]
FIRST_FREE = 4 + 256  # special tokens and bytes come first


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(ENGLISH + VIETNAMESE, 340)


@pytest.mark.parametrize("line", ["👩‍🚀 lên mặt trăng", "สวัสดี", "<s> </s> <unk> <pad> <0x41>", "a  b", " a", "ﬁ…", ""])
def test_awkward_text_comes_back(tokenizer, line):
    assert tokenizer.decode(tokenizer.encode([line])) == [normalise(line)]


def test_the_same_text_in_both_unicode_forms_has_the_same_pieces(tokenizer):
    composed, decomposed = tokenizer.encode(["mèo", "me\u0300o"])
    assert composed == decomposed


def test_special_ids_are_dropped_in_decoding(tokenizer):
    (ids,) = tokenizer.encode(["My friend reads."])
    assert tokenizer.decode([[BOS, PAD, *ids[:2], UNK, *ids[2:], EOS, PAD]]) == ["My friend reads."]


def test_stray_bytes_decode_to_one_line(tokenizer):
    line_feed, lone_lead = 4 + 0x0A, 4 + 0xE1
    (text,) = tokenizer.decode([[*tokenizer.encode(["cat"])[0], line_feed, lone_lead]])
    assert text == "cat \N{REPLACEMENT CHARACTER}"


def test_no_rows_decode_to_no_lines(tokenizer):
    assert tokenizer.decode([]) == []
    assert tokenizer.encode([]) == []


def test_pieces_show_word_beginnings_bytes_and_specials(tokenizer):
    ids = tokenizer.encode(["The ก"])[0]
    assert tokenizer.pieces([BOS, *ids, EOS, PAD, UNK]) == [
        "<s>", "▁The", "▁", "<0xE0>", "<0xB8>", "<0x81>", "</s>", "<pad>", "<unk>",
    ]  # fmt: skip


def test_bytes_hold_the_whole_tokenizer(tokenizer):
    again = Tokenizer.from_bytes(tokenizer.to_bytes())
    assert len(again) == len(tokenizer)
    assert again.encode(ENGLISH) == tokenizer.encode(ENGLISH)


def test_a_corpus_too_small_for_the_size_gives_fewer_pieces_and_says_so(caplog):
    with caplog.at_level(logging.WARNING):
        small = Tokenizer.train(ENGLISH, 8000)
    assert FIRST_FREE < len(small) < 1000
    assert "not 8000" in caplog.text
    assert f"{len(small)} pieces" in caplog.text


def test_a_size_too_small_for_the_letters_names_the_least_size():
    with pytest.raises(UserError, match=r"too small.* (\d+); set data\.vocabulary_size") as caught:
        Tokenizer.train(ENGLISH, 200)
    least = int(str(caught.value).split("take ")[1].split(";")[0])
    assert len(Tokenizer.train(ENGLISH, least)) == least


def test_no_text_is_an_error():
    with pytest.raises(UserError, match="no text"):
        Tokenizer.train(["", " \u200b "], 300)


def test_training_twice_gives_the_same_bytes_and_says_nothing(capfd, tokenizer):
    assert Tokenizer.train(ENGLISH + VIETNAMESE, 340).to_bytes() == tokenizer.to_bytes()
    out, err = capfd.readouterr()
    assert out == err == ""


def test_a_model_with_other_special_ids_is_refused(tmp_path):
    prefix = tmp_path / "other"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(ENGLISH), model_prefix=str(prefix), vocab_size=40, model_type="bpe", minloglevel=3
    )
    with pytest.raises(ValueError, match=r"\(pad, unk, bos, eos\)"):
        Tokenizer.from_bytes(prefix.with_suffix(".model").read_bytes())


@pytest.mark.parametrize("junk", [b"", b"no model"])
def test_bytes_that_are_no_model_are_refused(junk):
    with pytest.raises(ValueError, match="SentencePiece"):
        Tokenizer.from_bytes(junk)


class TestCache:
    @pytest.fixture
    def trainings(self, monkeypatch):
        """How often the trainer ran, and with which size."""
        sizes, train = [], module._train
        monkeypatch.setattr(module, "_train", lambda lines, size: sizes.append(size) or train(lines, size))
        return sizes

    def test_the_same_lines_and_size_are_learnt_once(self, tmp_path, trainings):
        first = Tokenizer.train(ENGLISH, 300, tmp_path)
        second = Tokenizer.train(iter(ENGLISH), 300, tmp_path)
        assert first.to_bytes() == second.to_bytes()
        assert trainings == [300]

    def test_other_lines_size_or_settings_are_learnt_anew(self, tmp_path, trainings, monkeypatch):
        Tokenizer.train(ENGLISH, 300, tmp_path)
        Tokenizer.train(ENGLISH, 301, tmp_path)
        Tokenizer.train(ENGLISH[1:] + ENGLISH[:1], 300, tmp_path)
        monkeypatch.setitem(module._SETTINGS, "character_coverage", 1.0)
        Tokenizer.train(ENGLISH, 300, tmp_path)
        assert trainings == [300, 301, 300, 300]
        assert len(list(tmp_path.iterdir())) == 4  # and no temporary file is left

    def test_a_damaged_file_is_learnt_anew(self, tmp_path, trainings):
        good = Tokenizer.train(ENGLISH, 300, tmp_path).to_bytes()
        (path,) = tmp_path.iterdir()
        path.write_bytes(good[:100])
        assert Tokenizer.train(ENGLISH, 300, tmp_path).to_bytes() == good
        assert path.read_bytes() == good
        assert trainings == [300, 300]


def test_a_huge_corpus_is_sampled_and_always_alike(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 3)
    lines = [str(number) for number in range(100)]
    sample = module._sample(lines)
    assert len(set(sample)) == 3
    assert sample == module._sample(iter(lines)) == sorted(sample, key=int)
    assert module._sample(lines[:3]) == lines[:3]


def test_every_line_of_a_huge_corpus_has_the_same_chance(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 1000)
    numbers = [int(line) for line in module._sample(map(str, range(10_000)))]
    assert [sum(start <= number < start + 2500 for number in numbers) for start in range(0, 10_000, 2500)] == (
        pytest.approx([250] * 4, abs=50)  # 3.6 standard deviations
    )


class TestPair:
    def test_a_joint_vocabulary_is_one_object_and_is_stored_once(self):
        pair = TokenizerPair.train(ENGLISH, VIETNAMESE, 320)
        assert pair.shared
        assert pair.source.to_bytes() == Tokenizer.train(ENGLISH + VIETNAMESE, 320).to_bytes()
        state = pair.state()
        assert list(state) == ["source"]
        again = TokenizerPair.from_state(state)
        assert again.shared
        assert again.target.encode(VIETNAMESE) == pair.target.encode(VIETNAMESE)

    def test_separate_vocabularies_stay_apart(self):
        pair = TokenizerPair.train(ENGLISH, VIETNAMESE, 320, shared=False)
        assert not pair.shared
        again = TokenizerPair.from_state(pair.state())
        assert not again.shared
        assert again.source.encode(ENGLISH) == Tokenizer.train(ENGLISH, 320).encode(ENGLISH)
        assert again.target.encode(ENGLISH) == Tokenizer.train(VIETNAMESE, 320).encode(ENGLISH)
