"""What holds for every input: text, pieces, batches, masks, search and files, on inputs that hypothesis makes up.

The same examples every time, so that a failure is nobody's bad luck.
"""

import csv
import json
import unicodedata

import numpy as np
import pyarrow
import pytest
import torch
from decoding.toy import Toy, batch, every_sentence
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from seq2seq.attention.attend import attend, masked_softmax
from seq2seq.attention.masks import causal_mask, padding_mask
from seq2seq.data.batching import PlannedBatch, Ragged, make_batch, plan_batches
from seq2seq.data.readers import read_parallel, read_table
from seq2seq.data.text import normalise
from seq2seq.data.tokenizer import Tokenizer
from seq2seq.decoding.scoring import score_references
from seq2seq.decoding.search import length_penalty, search
from seq2seq.errors import UserError
from seq2seq.evaluation.links import SYMMETRISATIONS, read_pharaoh, symmetrise, write_pharaoh
from seq2seq.symbols import BOS, EOS, PAD, UNK

settings.register_profile("same_examples", derandomize=True, deadline=None, max_examples=60)
same_examples = settings.get_profile("same_examples")

anything = st.text(st.characters(codec=None)) | st.text(
    "aế e\u0302\u0301\u0323\u200b\u00ad\u2060▁ \t\r\n\u2028\ufeff\x00"
)


def visible(line):
    """The characters of a line but for those that show nothing, taken apart, without regard to white space."""
    kept = "".join(c for c in line if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf", "Cs"))
    return "".join(unicodedata.normalize("NFD", kept.replace("\u034f", "")).split())


class TestNormalisation:
    @given(anything)
    @same_examples
    def test_nothing_invisible_is_left_and_nothing_visible_is_lost(self, line):
        once = normalise(line)
        assert not {unicodedata.category(c) for c in once} & {"Cc", "Cs", "Zl", "Zp"}
        assert not set(once) & set("\u00ad\u034f\u200b\u200c\u200d\u200e\u200f\u202e\u2060\ufeff")
        assert visible(once) == visible(line.replace("▁", "_"))

    @given(anything)
    @same_examples
    def test_both_unicode_forms_have_one_spelling(self, line):
        composed, decomposed = (unicodedata.normalize(form, line) for form in ("NFC", "NFD"))
        assert normalise(composed) == normalise(decomposed) == normalise(line)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(["The cat sleeps on the chair.", "Con mèo ngủ trên ghế.", "Bạn có đọc sách không?"], 340)


class TestPieces:
    @given(lines=st.lists(anything | st.text("<s/>0xE1é🙂ก▁ "), max_size=4))
    @settings(same_examples, max_examples=150)
    def test_decoding_the_pieces_of_any_text_gives_its_normal_form(self, tokenizer, lines):
        ids = tokenizer.encode(lines)
        assert tokenizer.decode(ids) == [normalise(line) for line in lines]
        assert ids == [tokenizer.encode([line])[0] for line in lines]
        assert not {PAD, UNK, BOS, EOS} & {token for row in ids for token in row}


some_links = st.frozensets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=12)


class TestLinks:
    @given(sure=some_links, possible=some_links, base=st.sampled_from([0, 1]))
    @same_examples
    def test_what_is_written_is_what_is_read(self, sure, possible, base):
        moved = [frozenset((i + base, j + base) for i, j in each) for each in (sure, possible)]
        (gold,) = read_pharaoh([write_pharaoh(*moved)], [(8, 8)], base=base)
        assert (gold.sure, gold.possible) == (sure, sure | possible)

    @given(forward=some_links, backward=some_links, method=st.sampled_from(SYMMETRISATIONS))
    @same_examples
    def test_joined_links_lie_between_intersection_and_union(self, forward, backward, method):
        assert forward & backward <= symmetrise(forward, backward, method) <= forward | backward

    @given(line=anything | st.text("0123456789-p \n", max_size=12))
    @same_examples
    def test_any_line_is_gold_or_one_clear_error(self, line):
        try:
            (gold,) = read_pharaoh([line], [(3, 3)])
        except UserError:
            return
        assert gold.possible <= {(i, j) for i in range(3) for j in range(3)}


pairs = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=120)
plans = {
    "batch_tokens": st.integers(41, 300),
    "seed": st.integers(0, 2**32),
    "epoch": st.integers(0, 99),
    "shuffle": st.booleans(),
    "world_size": st.integers(1, 4),
    "accumulate": st.integers(1, 4),
}
ragged_rows = st.lists(st.lists(st.integers(4, 99), max_size=6), min_size=1, max_size=8)


def ragged(rows):
    values = np.array([piece for row in rows for piece in row], dtype=np.int32)
    return Ragged(values, np.cumsum([0, *map(len, rows)]))


def lengths_of(pairs):
    source, target = np.array(pairs).T
    return source, target


def rows_of(plan):
    return np.concatenate([batch.rows for batch in plan])


class TestBatches:
    @given(pairs, st.fixed_dictionaries(plans))
    @same_examples
    def test_every_row_is_in_exactly_one_batch_of_one_rank(self, pairs, options):
        plan = plan_batches(*lengths_of(pairs), **options)
        ranks = [plan[rank :: options["world_size"]] for rank in range(options["world_size"])]
        rows = sorted(row for share in ranks for batch in share for row in batch.rows.tolist())
        assert all(len(batch.rows) for batch in plan)
        assert sorted(set(rows)) == list(range(len(pairs)))
        if not options["shuffle"] or len(plan) <= len(pairs):  # else ranks cannot get equal shares of a row or more
            assert len(rows) == len(pairs)

    @given(pairs, st.fixed_dictionaries(plans))
    @same_examples
    def test_no_batch_is_over_budget(self, pairs, options):
        source, target = lengths_of(pairs)
        for planned in plan_batches(source, target, **options):
            longest = max(source[planned.rows].max(), target[planned.rows].max()) + 1
            assert len(planned.rows) * longest <= options["batch_tokens"]

    @given(pairs, st.fixed_dictionaries(plans | {"shuffle": st.just(True)}))
    @same_examples
    def test_all_ranks_get_the_same_number_of_training_batches(self, pairs, options):
        plan = plan_batches(*lengths_of(pairs), **options)
        assert len(plan) % options["world_size"] == 0

    @given(pairs, st.fixed_dictionaries(plans))
    @same_examples
    def test_step_tokens_are_the_target_tokens_of_all_batches_of_a_step(self, pairs, options):
        _, target = lengths_of(pairs)
        plan = plan_batches(*lengths_of(pairs), **options)
        group = options["world_size"] * options["accumulate"]
        for start in range(0, len(plan), group):
            step = plan[start : start + group]
            assert {batch.step_tokens for batch in step} == {int((target[rows_of(step)] + 1).sum())}

    @given(pairs, st.fixed_dictionaries(plans), st.integers(0, 99))
    @same_examples
    def test_every_epoch_has_the_same_number_of_batches(self, pairs, options, epoch):
        lengths = lengths_of(pairs)
        assert len(plan_batches(*lengths, **options)) == len(plan_batches(*lengths, **options | {"epoch": epoch}))

    @given(st.data(), ragged_rows)
    @same_examples
    def test_a_batch_without_its_padding_is_the_rows(self, data, source):
        target = data.draw(
            st.lists(st.lists(st.integers(4, 99), max_size=6), min_size=len(source), max_size=len(source))
        )
        rows = data.draw(st.lists(st.integers(0, len(source) - 1), min_size=1, max_size=8))
        made = make_batch(ragged(source), ragged(target), PlannedBatch(np.array(rows, np.int32), 0))
        for place, row in enumerate(rows):
            for found, expected in (
                (made.source, [*source[row], EOS]),
                (made.target_input, [BOS, *target[row]]),
                (made.target_output, [*target[row], EOS]),
            ):
                line = found[place].tolist()
                assert line == expected + [PAD] * (len(line) - len(expected))
        assert made.tokens == sum(len(target[row]) + 1 for row in rows)


energies = st.floats(-(2.0**100), 2.0**100, width=32) | st.floats(-5, 5, width=32)


class TestMasks:
    @given(st.data(), st.integers(1, 4), st.integers(1, 5))
    @same_examples
    def test_rows_sum_to_one_over_real_keys_and_are_exactly_zero_elsewhere(self, data, queries, keys):
        size = {"min_size": queries * keys, "max_size": queries * keys}
        values = torch.tensor(data.draw(st.lists(energies, **size))).view(queries, keys).requires_grad_()
        mask = torch.tensor(data.draw(st.lists(st.booleans(), **size))).view(queries, keys)
        context, weights = attend(values, torch.ones(keys, 2), mask)
        assert not weights[~mask].any()
        torch.testing.assert_close(weights.sum(-1), mask.any(-1).float())
        torch.testing.assert_close(context, mask.any(-1).float()[:, None].expand(-1, 2))
        (weights * torch.arange(1.0, keys + 1)).sum().backward()
        assert values.grad.isfinite().all()
        assert not values.grad[~mask].any()

    @given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(6, 9))
    @same_examples
    def test_padding_and_future_are_what_a_loop_says(self, lengths, size):
        mask = padding_mask(torch.tensor(lengths), size)[:, None] & causal_mask(size)  # (B, T, S)
        assert mask.tolist() == [[[s < n and s <= t for s in range(size)] for t in range(size)] for n in lengths]
        weights = masked_softmax(torch.zeros(mask.shape), mask)
        for n, rows in zip(lengths, weights, strict=True):
            expected = [min(t + 1, n) for t in range(size)]
            assert (rows > 0).sum(-1).tolist() == expected


class TestSearch:
    @given(
        seed=st.integers(0, 10**6),
        vocabulary=st.integers(5, 6),
        eos=st.floats(-3, 3),
        beam=st.integers(2, 40),
        alpha=st.floats(0, 2),
        size=st.integers(1, 6),
    )
    @same_examples
    def test_no_beam_beats_exhaustive_search_and_a_wide_one_equals_it(self, seed, vocabulary, eos, beam, alpha, size):
        model, (source, lengths), limit = Toy(vocabulary, seed=seed, eos=eos), batch(size), 4
        sentences = every_sentence(vocabulary, limit)  # 15 or fewer, of at most 8 prefixes that are alive at once
        output = torch.tensor([[*tokens, EOS] + [PAD] * (limit - 1 - len(tokens)) for tokens in sentences])  # (N, T)
        target = torch.cat([torch.full((len(output), 1), BOS), output[:, :-1]], 1)  # (N, T)
        values, counts = score_references(
            model, source.expand(len(output), -1), lengths.expand(len(output)), target, output
        )
        scores = dict(zip(sentences, (values / length_penalty(counts, alpha)).tolist(), strict=True))
        (found,) = search(model, source, lengths, beam=beam, alpha=alpha, max_length=limit, nbest=beam)
        ended = [hypothesis for hypothesis in found if hypothesis.finished]
        for hypothesis in ended:
            assert hypothesis.score == pytest.approx(scores[tuple(hypothesis.tokens)], abs=1e-5)
        if beam >= 16:
            assert [h.score for h in ended] == pytest.approx(sorted(scores.values(), reverse=True), abs=1e-5)


text = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r\ufeff")) | st.text(
    "aế\",'\\ NA0\u2028\x85\x0c\x1c"
)
rows = st.lists(st.tuples(text, text), min_size=1, max_size=5)
free_text = st.text(st.characters(codec="utf-8")) | st.text('a"\n\r\t,')


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


class TestFiles:
    """What is written comes back, line ends and separators apart where the format cannot hold them."""

    def back(self, path):
        return [(pair["source"], pair["target"]) for pair in read_table(str(path), "en", "vi")]

    @given(rows=rows, end=st.sampled_from(["\n", "\r\n"]))
    @same_examples
    def test_plain_files(self, folder, rows, end):
        paths = [folder / "train.en", folder / "train.vi"]
        for path, lines in zip(paths, zip(*rows, strict=True), strict=True):
            path.write_bytes("".join(line + end for line in lines).encode())
        found = [(pair["source"], pair["target"]) for pair in read_parallel([str(path) for path in paths])]
        assert found == rows

    @given(rows=rows, end=st.sampled_from(["\n", "\r\n"]))
    @same_examples
    def test_tsv(self, folder, rows, end):
        path = folder / "train.tsv"
        path.write_bytes("".join("\t".join(row) + end for row in [("en", "vi"), *rows]).encode())
        assert self.back(path) == rows

    @given(
        rows=st.lists(
            st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters="\r")) | text] * 2), min_size=1
        )
    )
    @same_examples
    def test_csv(self, folder, rows):
        path = folder / "train.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("en", "vi"), *rows])
        assert self.back(path) == rows

    @given(rows=st.lists(st.tuples(free_text, free_text), min_size=1, max_size=5), ascii_only=st.booleans())
    @same_examples
    def test_json_lines(self, folder, rows, ascii_only):
        path = folder / "train.jsonl"
        objects = [json.dumps({"vi": target, "en": source}, ensure_ascii=ascii_only) for source, target in rows]
        path.write_bytes("\n".join(objects).encode())
        assert self.back(path) == rows

    @given(rows=st.lists(st.tuples(free_text, free_text), min_size=1, max_size=5), group=st.integers(1, 5))
    @same_examples
    def test_parquet(self, folder, rows, group):
        path = folder / "train.parquet"
        sources, targets = map(list, zip(*rows, strict=True))
        parquet.write_table(pyarrow.table({"vi": targets, "en": sources}), path, row_group_size=group)
        assert self.back(path) == rows
