import json
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import datasets
import pyarrow
import pytest
from datasets import Dataset, DatasetDict
from pyarrow import parquet

from seq2seq.data import corpora, grammar, readers
from seq2seq.data.corpora import fingerprint, load_corpus
from seq2seq.errors import UserError

ENGLISH = ["The cat sleeps.", "I read NA books.", "Where is Lan?"]
VIETNAMESE = ["Con mèo ngủ.", "Tôi đọc sách.", "Lan ở đâu?"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", tmp_path / "downloads")


@pytest.fixture
def folder(tmp_path):
    """A folder with one plain file a language and split."""
    path = tmp_path / "đường dẫn = 1"
    path.mkdir()
    for stem in ("train", "dev", "test"):
        write(path / f"{stem}.en", ENGLISH)
        write(path / f"{stem}.vi", VIETNAMESE)
    return path


def write(path, lines, end="\n"):
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def columns(split):
    return split.to_dict()


BOTH = {"source": ENGLISH, "target": VIETNAMESE}


class TestPlainFiles:
    def test_a_folder_gives_three_splits_in_order(self, folder):
        corpus = load_corpus("files", dir=str(folder))
        assert {name: columns(split) for name, split in corpus.items()} == dict.fromkeys(
            ("train", "validation", "test"), BOTH
        )

    def test_the_direction_turns_by_the_language_codes(self, folder):
        corpus = load_corpus("files", dir=str(folder), source="vi", target="en")
        assert columns(corpus["train"]) == {"source": VIETNAMESE, "target": ENGLISH}

    def test_splits_that_are_not_there_are_left_out(self, folder):
        for path in (folder / "dev.en", folder / "dev.vi", folder / "train.en", folder / "train.vi"):
            path.unlink()
        assert list(load_corpus("files", dir=str(folder))) == ["test"]

    def test_only_line_feeds_end_a_line(self, folder):
        awkward = ["a\rb", "c\u2028d\x85e\x0cf", "g\x1ch"]
        for end in ("\n", "\r\n"):
            write(folder / "train.en", awkward, end)
            corpus = load_corpus("files", dir=str(folder))
            assert columns(corpus["train"]) == {"source": ["a b", "c d e f", "g h"], "target": VIETNAMESE}

    def test_text_is_normalised_and_empty_lines_keep_their_place(self, folder):
        write(folder / "train.vi", ["\ufeffCon me\u0300o  ngủ.", "", "\u200b"])
        assert columns(load_corpus("files", dir=str(folder))["train"])["target"] == ["Con mèo ngủ.", "", ""]

    def test_a_last_line_without_end_counts(self, folder):
        (folder / "train.en").write_bytes("\n".join(ENGLISH).encode())
        assert columns(load_corpus("files", dir=str(folder))["train"]) == BOTH

    @pytest.mark.parametrize(("short", "long"), [("en", "vi"), ("vi", "en")])
    def test_unequal_line_counts_name_the_file_and_the_first_line_without_partner(self, folder, short, long):
        write(folder / f"dev.{short}", ENGLISH[:1])
        with pytest.raises(UserError) as caught:
            load_corpus("files", dir=str(folder))
        message = str(caught.value)
        assert message.startswith(f"{folder / 'dev'}.{long}, line 2: no partner")
        assert f"dev.{short} has 1 lines and this file 3" in message
        assert "\n" not in message

    def test_invalid_utf8_names_file_line_and_byte(self, folder):
        (folder / "test.vi").write_bytes("Con mèo.\nđ".encode() + b"\xe9t\n\n")
        with pytest.raises(UserError, match=r"test\.vi, line 2: not UTF-8 \(byte 0xE9 at position 3\)"):
            load_corpus("files", dir=str(folder))

    def test_a_missing_partner_file_is_named(self, folder):
        (folder / "test.vi").unlink()
        with pytest.raises(UserError, match=r"no file .*test\.vi"):
            load_corpus("files", dir=str(folder))

    def test_empty_files_are_an_error(self, folder):
        write(folder / "train.en", [])
        write(folder / "train.vi", [])
        with pytest.raises(UserError, match=r"train\.en is empty"):
            load_corpus("files", dir=str(folder))

    def test_a_folder_without_pairs_and_no_folder_say_what_to_set(self, tmp_path):
        (tmp_path / "none").mkdir()
        with pytest.raises(UserError, match=r"\{train,dev,test\}\.\{en,vi\}; set data\.dir"):
            load_corpus("files", dir=str(tmp_path / "none"))
        with pytest.raises(UserError, match="no folder"):
            load_corpus("files", dir=str(tmp_path / "missing"))
        with pytest.raises(UserError, match="no file is named; set data"):
            load_corpus("files")


def tsv(path, names, rows):
    return write(path, ["\t".join(row) for row in ([names] if names else []) + rows])


def csv(path, names, rows):
    return write(path, [",".join(f'"{field}"' for field in row) for row in [names, *rows]])


def json_lines(path, names, rows):
    return write(path, [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows])


def parquet_file(path, names, rows):
    parquet.write_table(pyarrow.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), path)
    return path


WRITERS = {"t.tsv": tsv, "t.csv": csv, "t.jsonl": json_lines, "t.json": json_lines, "t.parquet": parquet_file}
THREE = [list(row) for row in zip(["1", "2", "3"], VIETNAMESE, ENGLISH, strict=True)]


class TestTables:
    @pytest.mark.parametrize("names", [["id", "vi", "en"], ["id", "target", "source"]])
    @pytest.mark.parametrize("name", WRITERS)
    def test_columns_are_found_by_name(self, tmp_path, name, names):
        path = WRITERS[name](tmp_path / name, names, THREE)
        corpus = load_corpus("files", train=str(path), dev=str(path))
        assert list(corpus) == ["train", "validation"]
        assert columns(corpus["train"]) == columns(corpus["validation"]) == BOTH

    @pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
    def test_a_translation_struct_is_read(self, tmp_path, name):
        rows = [[{"en": en, "vi": vi}] for en, vi in zip(ENGLISH, VIETNAMESE, strict=True)]
        path = WRITERS[name](tmp_path / name, ["translation"], rows)
        corpus = load_corpus("files", test=str(path), source="vi", target="en")
        assert columns(corpus["test"]) == {"source": VIETNAMESE, "target": ENGLISH}

    def test_a_tsv_file_without_names_has_source_then_target(self, tmp_path):
        path = tsv(tmp_path / "t.tsv", None, [['"Hi', "chào"], ["a\rb", "NA"]])
        assert columns(load_corpus("files", train=str(path))["train"]) == {
            "source": ['"Hi', "a b"],
            "target": ["chào", "NA"],
        }

    def test_csv_fields_may_hold_commas_quotes_and_line_ends(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_bytes(b'en,vi\r\n"a, ""b""\nc",d\r\n\r\nnull,e\rf\r\n')
        assert columns(load_corpus("files", train=str(path))["train"]) == {
            "source": ['a, "b" c', "null"],
            "target": ["d", "e f"],
        }

    def test_a_table_wins_over_the_folder(self, tmp_path, folder):
        path = tsv(tmp_path / "t.tsv", None, [["one", "một"]])
        corpus = load_corpus("files", dir=str(folder), test=str(path))
        assert columns(corpus["train"]) == BOTH
        assert columns(corpus["test"]) == {"source": ["one"], "target": ["một"]}

    @pytest.mark.parametrize(
        ("name", "content", "complaint"),
        [
            ("t.tsv", b"a\tb\nc\n", r"t\.tsv, line 2: 1 columns instead of 2, split at tabs"),
            ("t.tsv", b"a\tb\tc\n", r"t\.tsv, line 1: 3 columns instead of 2"),
            ("t.tsv", b"", r"t\.tsv holds no pairs"),
            ("t.tsv", b"a\tb\n\xff\tb\n", r"t\.tsv, line 2: not UTF-8"),
            ("t.csv", b"english,vi\na,b\n", r"t\.csv, line 1: the first line must name the columns en and vi"),
            ("t.csv", b"en,vi\n\"a\nb\",c\nd\n", r"t\.csv, line 4: 1 columns instead of 2"),
            ("t.csv", b"en,vi\n\"a\"b,c\n", r"t\.csv, line 2: .*expected after"),
            ("t.csv", b"en,vi\n", r"t\.csv holds no pairs"),
            ("t.jsonl", b'{"en": "a", "vi": "b"}\n{"en"\n', r"t\.jsonl, line 2: not JSON"),
            ("t.jsonl", b'["a", "b"]\n', r"t\.jsonl, line 1: each line must be one object"),
            ("t.jsonl", b'{"en": "a", "fr": "b"}\n', r"t\.jsonl, line 1: no columns en and vi .*but en, fr"),
            ("t.jsonl", b'{"en": "a", "vi": null}\n', r"t\.jsonl, line 1: column vi holds no text, but None"),
            ("t.parquet", b"no parquet", r"t\.parquet: not readable as parquet"),
            ("t.xlsx", b"", r"t\.xlsx: its ending must be one of \.tsv"),
        ],
    )  # fmt: skip
    def test_faults_name_file_and_line(self, tmp_path, name, content, complaint):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=complaint) as caught:
            load_corpus("files", train=str(tmp_path / name))
        assert "\n" not in str(caught.value)

    def test_a_missing_table_is_named(self, tmp_path):
        with pytest.raises(UserError, match=r"no file .*missing\.tsv"):
            load_corpus("files", train=str(tmp_path / "missing.tsv"))


class TestCache:
    @pytest.fixture
    def reads(self, monkeypatch):
        """The files that were really read, split into lines."""
        paths, read_lines = [], readers.read_lines
        monkeypatch.setattr(readers, "read_lines", lambda path, name=None: paths.append(path) or read_lines(path, name))
        return paths

    def test_unchanged_files_are_read_once(self, folder, reads):
        first = load_corpus("files", dir=str(folder))
        assert len(reads) == 6
        again = load_corpus("files", dir=str(folder))
        assert len(reads) == 6
        assert columns(again["test"]) == columns(first["test"])

    def test_a_changed_file_a_turned_direction_and_changed_code_are_read_anew(self, folder, reads, monkeypatch):
        load_corpus("files", dir=str(folder))
        write(folder / "train.vi", VIETNAMESE[::-1])
        assert columns(load_corpus("files", dir=str(folder))["train"])["target"] == VIETNAMESE[::-1]
        assert len(reads) == 6 + 2
        turned = load_corpus("files", dir=str(folder), source="vi", target="en")
        assert columns(turned["test"]) == {"source": VIETNAMESE, "target": ENGLISH}
        assert len(reads) == 8 + 6
        monkeypatch.setattr(corpora, "_code", lambda: "another normaliser")
        load_corpus("files", dir=str(folder))
        assert len(reads) == 14 + 6

    def test_a_failed_reading_leaves_no_half_dataset(self, folder):
        write(folder / "train.vi", VIETNAMESE[:2])
        for _ in range(2):
            with pytest.raises(UserError, match="no partner"):
                load_corpus("files", dir=str(folder))


class TestFingerprint:
    def test_it_goes_by_content_and_not_by_how_it_is_stored(self, folder):
        loaded = load_corpus("files", dir=str(folder))
        made = DatasetDict({name: Dataset.from_dict(BOTH) for name in ("test", "validation", "train")})
        chopped = datasets.concatenate_datasets([Dataset.from_dict(BOTH).select([row]) for row in range(3)])
        chosen = Dataset.from_dict({side: ["x", *lines, "y"] for side, lines in BOTH.items()}).select([1, 2, 3])
        assert fingerprint(loaded) == fingerprint(made)
        for other in (chopped, chosen):
            assert fingerprint(made | {"train": other}) == fingerprint(made)
        assert len(fingerprint(made)) == 16

    @pytest.mark.parametrize(
        "other",
        [
            {"source": VIETNAMESE, "target": ENGLISH},
            {"source": ENGLISH[::-1], "target": VIETNAMESE[::-1]},
            {"source": ["The cat sleeps.I", " read NA books.", ENGLISH[2]], "target": VIETNAMESE},
            {"source": ENGLISH[:2], "target": VIETNAMESE[:2]},
        ],
    )
    def test_other_content_has_another(self, other):
        assert fingerprint({"train": Dataset.from_dict(BOTH)}) != fingerprint({"train": Dataset.from_dict(other)})

    def test_the_split_counts(self):
        split = Dataset.from_dict(BOTH)
        assert fingerprint({"train": split}) != fingerprint({"test": split})


class TestGrammar:
    def test_it_has_three_splits_of_the_sizes_asked_for_with_alignments_in_range(self):
        corpus = load_corpus("grammar", seed=3, train=12, validation=6, test=6)
        assert {name: len(split) for name, split in corpus.items()} == {"train": 12, "validation": 6, "test": 6}
        for row in corpus["test"]:
            links = [tuple(map(int, link.split("-"))) for link in row["alignment"].split()]
            assert max(i for i, _ in links) < len(row["source"].split())
            assert max(j for _, j in links) < len(row["target"].split())

    def test_it_is_written_once_for_the_same_settings_and_code(self, monkeypatch):
        written = []
        monkeypatch.setattr(
            grammar, "generate", lambda seed: written.append(seed) or {"train": [grammar.Pair(f"{seed}", "một", "0-0")]}
        )
        for seed in (1, 1, 2):
            assert load_corpus("grammar", seed=seed)["train"]["source"] == [str(seed)]
        monkeypatch.setattr(corpora, "_code", lambda: "another grammar")
        load_corpus("grammar", seed=1)
        assert written == [1, 2, 1]

    def test_the_other_direction_turns_sentences_and_alignments(self, monkeypatch):
        pair = grammar.Pair("an old cat", "một con mèo cũ", "0-0 1-3 2-1 2-2")
        monkeypatch.setattr(grammar, "generate", lambda: {"train": [pair], "test": []})
        assert list(load_corpus("grammar")) == ["train"]
        assert columns(load_corpus("grammar")["train"]) == {
            "source": ["an old cat"],
            "target": ["một con mèo cũ"],
            "alignment": ["0-0 1-3 2-1 2-2"],
        }
        assert columns(load_corpus("grammar", source="vi", target="en")["train"]) == {
            "source": ["một con mèo cũ"],
            "target": ["an old cat"],
            "alignment": ["0-0 1-2 2-2 3-1"],
        }


@pytest.fixture
def server(tmp_path):
    """A web server over a folder; gives the folder, its address, and the paths that were asked for."""
    root = tmp_path / "served"
    root.mkdir()
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(root)))
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield root, f"http://127.0.0.1:{http.server_port}", asked
    http.shutdown()
    http.server_close()


TOKENISED = {
    "en": [
        "I &apos;m here , and she isn &apos;t .",
        "He said : &quot; The dogs &apos; bowl is Lan &apos;s . &quot;",
        "R &amp; D &#91; 20 % &#93; -- rock &amp; amp ; roll",
    ],
    "vi": ["Tôi ở đây , còn cô ấy thì không .", "Anh ấy nói : &quot; Của Lan . &quot;", "&#91; 20 % &#93; &lt; 3 ?"],
}
RAW = {
    "en": [
        "I'm here, and she isn't.",
        "He said: \"The dogs' bowl is Lan's.\"",
        "R & D [20%] -- rock & roll",
    ],
    "vi": ["Tôi ở đây, còn cô ấy thì không.", 'Anh ấy nói: "Của Lan."', "[20%] < 3?"],
}


class TestIwslt15:
    @pytest.fixture
    def base(self, server):
        root, address, _ = server
        for stem, rows in (("train", slice(0, 3)), ("tst2012", slice(0, 1)), ("tst2013", slice(1, 3))):
            for language, lines in TOKENISED.items():
                write(root / f"{stem}.{language}", lines[rows])
        return address

    def test_it_is_unescaped_and_detokenised(self, base):
        corpus = load_corpus("iwslt15", base=base)
        assert columns(corpus["train"]) == {"source": RAW["en"], "target": RAW["vi"]}
        assert columns(corpus["validation"]) == {"source": RAW["en"][:1], "target": RAW["vi"][:1]}
        assert columns(corpus["test"]) == {"source": RAW["en"][1:], "target": RAW["vi"][1:]}

    def test_the_other_direction(self, base):
        corpus = load_corpus("iwslt15", base=base + "/", source="vi", target="en")
        assert columns(corpus["train"]) == {"source": RAW["vi"], "target": RAW["en"]}

    def test_files_are_fetched_once(self, base, server):
        load_corpus("iwslt15", base=base)
        asked = len(server[2])
        assert asked >= 6
        load_corpus("iwslt15", base=base)
        assert len(server[2]) == asked

    def test_complaints_name_the_address_and_line(self, base, server):
        write(server[0] / "tst2012.vi", ["một", "hai"])
        with pytest.raises(UserError, match=rf"^{base}/tst2012\.vi, line 2: no partner"):
            load_corpus("iwslt15", base=base)

    def test_a_missing_file_on_the_server_is_named_with_the_local_way_out(self, base, server):
        (server[0] / "train.vi").unlink()
        with pytest.raises(UserError, match=rf"^{base}/train\.vi cannot be fetched \(.*404.*data=files data\.dir="):
            load_corpus("iwslt15", base=base)


class TestOpus100:
    @pytest.fixture
    def base(self, server):
        root, address, _ = server
        folder = root / "resolve/main/en-vi"
        folder.mkdir(parents=True)
        for split, rows in (("train", slice(0, 3)), ("validation", slice(0, 1)), ("test", slice(1, 3))):
            pairs = [{"en": en, "vi": vi} for en, vi in zip(ENGLISH[rows], VIETNAMESE[rows], strict=True)]
            parquet_file(folder / f"{split}-00000-of-00001.parquet", ["translation"], [[pair] for pair in pairs])
        return f"{address}/resolve/main"

    def test_the_hubs_layout_is_read(self, base):
        corpus = load_corpus("opus100", base=base)
        assert columns(corpus["train"]) == BOTH
        assert columns(corpus["validation"]) == {"source": ENGLISH[:1], "target": VIETNAMESE[:1]}
        assert columns(corpus["test"]) == {"source": ENGLISH[1:], "target": VIETNAMESE[1:]}

    def test_the_other_direction_from_a_base_address(self, base):
        corpus = load_corpus("opus100", base=f"{base}/", source="vi", target="en")
        assert columns(corpus["train"]) == {"source": VIETNAMESE, "target": ENGLISH}


@pytest.mark.parametrize("settings", [{"name": "iwslt15", "base": "{}"}, {"name": "opus100", "base": "{}"}])
def test_without_a_server_one_line_says_what_was_tried_and_the_way_out(settings):
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as closed:
        address = f"http://127.0.0.1:{closed.server_port}"
    started = time.monotonic()
    with pytest.raises(UserError, match=rf"^{address}/.* cannot be fetched .*data=files data\.dir=FOLDER$") as caught:
        load_corpus(**{key: value.format(address) for key, value in settings.items()})
    assert "\n" not in str(caught.value)
    assert time.monotonic() - started < 10


def test_unknown_corpora_and_equal_languages_are_errors():
    with pytest.raises(UserError, match="no corpus 'iwslt'; known are grammar, files, iwslt15, opus100"):
        load_corpus("iwslt")
    with pytest.raises(UserError, match="both 'vi'"):
        load_corpus("grammar", source="vi")


@pytest.mark.parametrize(
    "settings", [{"name": "grammar"}, {"name": "iwslt15", "base": "http://x"}, {"name": "opus100", "base": "http://x"}]
)
def test_a_language_that_a_corpus_does_not_have_is_an_error(settings):
    with pytest.raises(UserError, match="has en and vi, not en and fr; set data"):
        load_corpus(**settings, target="fr")


def test_progress_bars_are_put_back_as_they_were():
    shown = datasets.is_progress_bar_enabled()
    with corpora.quiet():
        assert not datasets.is_progress_bar_enabled()
    assert datasets.is_progress_bar_enabled() == shown
