"""Corpora by name: the built-in grammar, files of the user's, and two public corpora over the network.

All become a ``DatasetDict`` of train, validation and test with the columns ``source`` and ``target``, normalised.
Datasets are cached by content: by the bytes of the files and of the code that reads them.
"""

import hashlib
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp
import datasets
import numpy as np
import sacremoses
from datasets import Dataset, DatasetDict, DownloadConfig, DownloadManager, Features, Value
from sacremoses import MosesDetokenizer

from seq2seq.data import grammar, readers
from seq2seq.data.text import normalise
from seq2seq.errors import UserError

FEATURES = Features({"source": Value("string"), "target": Value("string")})
GRAMMAR_FEATURES = Features(FEATURES | {"alignment": Value("string"), "split": Value("string")})
BLOCK = 1000  # rows read at a time
_FILE_SPLITS = {"train": "train", "validation": "dev", "test": "test"}
_IWSLT_SPLITS = {"train": "train", "validation": "tst2012", "test": "tst2013"}
_SPLIT_ESCAPE = re.compile(r"& (amp|quot|apos|lt|gt|#\d+) ;")


def load_corpus(name: str, *, source: str = "en", target: str = "vi", **settings: Any) -> DatasetDict:
    """Load a corpus as splits train, validation and test, as far as it has them.

    name: ``grammar`` (settings of ``grammar.generate``; has a third column ``alignment``), ``files`` (``dir``, or
    ``train``, ``dev``, ``test``), ``iwslt15`` (``base``), ``opus100`` (``base``).
    source, target: language codes, in either direction.
    Raises UserError for a corpus, file, line, column or address that is not as it should be.
    """
    loaders = {"grammar": _load_grammar, "files": _load_files, "iwslt15": _load_iwslt15, "opus100": _load_opus100}
    if name not in loaders:
        raise UserError(f"there is no corpus {name!r}; known are {', '.join(loaders)}")
    if source == target:
        raise UserError(f"source and target language are both {source!r}; set data.source and data.target")
    return loaders[name](source, target, **settings)


def blocks(dataset: Dataset, column: str) -> Iterator[list[str]]:
    """A column's texts, a thousand at a time: a list of all of them would not fit for a large corpus."""
    for rows in dataset.select_columns(column).iter(BLOCK):
        yield rows[column]


def lines(dataset: Dataset, column: str) -> Iterator[str]:
    """A column's texts one by one; ``datasets`` does the same ten times slower."""
    for block in blocks(dataset, column):
        yield from block


def fingerprint(corpus: DatasetDict) -> str:
    """A hash, 16 hexadecimal digits, of the sources and targets of all splits: the same text, the same hash."""
    digest = hashlib.sha256()
    for name in sorted(corpus):
        table = corpus[name].with_format("arrow")[:]
        digest.update(f"{name} {len(table)}\n".encode())
        for column in ("source", "target"):
            for chunk in table.column(column).chunks:
                offsets = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
                digest.update(memoryview(chunk.buffers()[2] or b"")[offsets[0] : offsets[-1]])
            for chunk in table.column(column).chunks:
                offsets = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
                digest.update(np.diff(offsets).tobytes())
    return digest.hexdigest()[:16]


@contextmanager
def quiet() -> Iterator[None]:
    """Inside, ``datasets`` draws no progress bars (they would write into ours)."""
    shown = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def _load_grammar(source: str, target: str, **settings: Any) -> DatasetDict:
    _check_languages("the grammar", ("en", "vi"), source, target)
    rows = _build("grammar", _grammar_rows, [], {"turned": source == "vi", "settings": settings}, GRAMMAR_FEATURES)
    numbers: dict[str, list[int]] = {}
    for number, split in enumerate(rows["split"]):
        numbers.setdefault(split, []).append(number)
    return DatasetDict({split: rows.select(chosen).remove_columns("split") for split, chosen in numbers.items()})


def _grammar_rows(turned: bool, settings: dict[str, Any]) -> Iterator[dict[str, str]]:
    """All splits in one: the grammar writes them in one go."""
    for split, pairs in grammar.generate(**settings).items():
        for english, vietnamese, alignment in pairs:
            if turned:
                row = {"source": vietnamese, "target": english, "alignment": _turned(alignment)}
            else:
                row = {"source": english, "target": vietnamese, "alignment": alignment}
            yield row | {"split": split}


def _check_languages(name: str, known: tuple[str, ...], source: str, target: str) -> None:
    if {source, target} != set(known):
        raise UserError(
            f"{name} has {' and '.join(known)}, not {source} and {target}; set data.source and data.target to these"
        )


def _turned(links: str) -> str:
    """Word links seen from the other side: ``0-1 2-0`` becomes ``0-2 1-0``."""
    turned = sorted(tuple(map(int, reversed(link.split("-")))) for link in links.split())
    return " ".join(f"{i}-{j}" for i, j in turned)


def _load_files(
    source: str,
    target: str,
    *,
    dir: str | None = None,
    train: str | None = None,
    dev: str | None = None,
    test: str | None = None,
) -> DatasetDict:
    """A folder of ``{train,dev,test}.{en,vi}``, or a table for each split; both given, the table wins."""
    tables = {"train": train, "validation": dev, "test": test}
    if dir is not None and not Path(dir).is_dir():
        raise UserError(f"data.dir: there is no folder {dir}")
    languages = {"source": source, "target": target}
    splits = {}
    for split, stem in _FILE_SPLITS.items():
        if tables[split] is not None:
            path = Path(tables[split])
            splits[split] = _build(split, readers.read_table, [path], {"path": str(path)} | languages)
        elif dir is not None:
            paths = [Path(dir) / f"{stem}.{language}" for language in (source, target)]
            if any(path.exists() for path in paths):
                splits[split] = _build(split, readers.read_parallel, paths, {"paths": [str(path) for path in paths]})
    if not splits:
        where = f"{dir} has no {{train,dev,test}}.{{{source},{target}}}" if dir else "no file is named"
        raise UserError(f"{where}; set data.dir=FOLDER, or data.train=FILE data.dev=FILE data.test=FILE")
    return DatasetDict(splits)


def _load_iwslt15(source: str, target: str, *, base: str) -> DatasetDict:
    """IWSLT'15 as the Stanford group serves it: tokenised, and escaped as in HTML; both are undone."""
    _check_languages("iwslt15", ("en", "vi"), source, target)
    splits = {}
    for split, stem in _IWSLT_SPLITS.items():
        urls = [f"{base.rstrip('/')}/{stem}.{language}" for language in (source, target)]
        paths = [_download(url) for url in urls]
        splits[split] = _build(
            split,
            _detokenised,
            paths,
            {"paths": [str(path) for path in paths], "names": urls, "languages": [source, target]},
        )
    return DatasetDict(splits)


def _detokenised(paths: list[str], names: list[str], languages: list[str]) -> Iterator[dict[str, str]]:
    source, target = (MosesDetokenizer(language) for language in languages)
    for pair in readers.read_parallel(paths, names):
        yield {"source": _detokenise(pair["source"], source), "target": _detokenise(pair["target"], target)}


def _detokenise(line: str, moses: MosesDetokenizer) -> str:
    """``I &apos;m here .`` to ``I'm here.``; also an escape that was itself escaped and tokenised, ``&amp; amp ;``."""
    plain = html.unescape(_SPLIT_ESCAPE.sub(r"&\1;", html.unescape(line)))
    return normalise(moses.detokenize(plain.split(), unescape=False))


def _load_opus100(
    source: str,
    target: str,
    *,
    base: str,
) -> DatasetDict:
    """OPUS-100 (Zhang et al. 2020, arXiv 2004.11867), English–Vietnamese, as parquet files of the Hugging Face hub.

    base: the folder of ``en-vi/{train,validation,test}-00000-of-00001.parquet``.
    """
    _check_languages("opus100 en-vi", ("en", "vi"), source, target)
    splits = {}
    for split in ("train", "validation", "test"):
        path = _download(f"{base.rstrip('/')}/en-vi/{split}-00000-of-00001.parquet")
        splits[split] = _build(
            split,
            readers.read_table,
            [path],
            {"path": str(path), "source": source, "target": target, "kind": ".parquet"},
        )
    return DatasetDict(splits)


def _download(url: str) -> Path:
    """The file at an address, kept in the cache of ``datasets``; found there, the network is not asked."""
    settings = DownloadConfig(
        use_etag=False,
        storage_options={
            scheme: {"client_kwargs": {"timeout": aiohttp.ClientTimeout(sock_connect=10, sock_read=20)}}
            for scheme in ("http", "https")
        },
    )
    try:
        with quiet():
            return Path(DownloadManager(download_config=settings).download(url))
    except Exception as error:  # the clients below raise whatever their libraries raise
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        reason = " ".join(f"{type(cause).__name__}: {cause}".split())[:200]
        raise UserError(
            f"{url} cannot be fetched ({reason}); with the corpus on this machine use data=files data.dir=FOLDER"
        ) from error


def _build(
    split: str,
    read: Callable[..., Iterator[dict[str, str]]],
    files: list[Path],
    arguments: dict[str, Any],
    features: Features = FEATURES,
) -> Dataset:
    """Run a reader into a dataset, or find the one that it made of the same bytes before."""
    for path in files:
        if not path.is_file():
            raise UserError(f"there is no file {path}")
    contents = [_digest(path) for path in files]
    try:
        with quiet():
            dataset = Dataset.from_generator(
                _rows,
                features=features,
                split=datasets.NamedSplit(split),
                gen_kwargs={"read": read, "arguments": arguments, "made_of": " ".join([*contents, _code()])},
            )
    except datasets.exceptions.DatasetGenerationError as error:
        if isinstance(error.__cause__, UserError):
            raise error.__cause__ from None
        raise
    return dataset


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _rows(
    read: Callable[..., Iterator[dict[str, str]]], arguments: dict[str, Any], made_of: str
) -> Iterator[dict[str, str]]:
    """What ``from_generator`` runs. ``made_of`` is there for its cache alone, which goes by the arguments.

    No argument may be a list: ``from_generator`` would take it for shards and run the reader once for each.
    """
    for row in read(**arguments):
        yield {column: normalise(text) for column, text in row.items()}


@cache
def _code() -> str:
    """A hash of whatever else shapes the rows: this folder's code, the detokeniser, and the tables of Unicode."""
    digest = hashlib.sha256(f"{unicodedata.unidata_version} {sacremoses.__version__}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
