"""What to evaluate on: a split of the corpus that a run was trained on, or files of the user's."""

from typing import Any

from datasets import Dataset, DatasetDict

from seq2seq.assess import corpus_from
from seq2seq.data.readers import read_lines
from seq2seq.data.text import normalise
from seq2seq.errors import UserError

_FILES = ("dir", "train", "dev", "test")


def read_corpus(data: dict[str, Any], moved: dict[str, Any]) -> DatasetDict:
    """All splits. data: the run's settings of its corpus.

    moved: settings of the same names that say where the corpus lies now; None says nothing. One of the keys that
    name files takes the place of all of them. Raises UserError for a setting that the corpus does not have.
    """
    moved = {key: value for key, value in moved.items() if value is not None}
    for key in moved:
        if key not in data:
            raise UserError(f"data.{key}: the run's corpus is data={data['name']}, which has no such setting")
    if set(_FILES) & set(moved):
        data = {key: None if key in _FILES else value for key, value in data.items()}
    return corpus_from(data | moved)


def open_split(data: dict[str, Any], split: str, moved: dict[str, Any]) -> Dataset:
    """A split with its columns ``source`` and ``target``. data, moved: as ``read_corpus`` takes them.

    Raises UserError for a split or setting that the corpus does not have.
    """
    corpus = read_corpus(data, moved)
    if split not in corpus:
        raise UserError(f"split={split}: data={data['name']} has {', '.join(corpus)}")
    return corpus[split]


def read_split(data: dict[str, Any], split: str, moved: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Sources and references of a split; see ``open_split``."""
    opened = open_split(data, split, moved)
    return list(opened["source"]), list(opened["target"])


def read_files(**files: str | None) -> dict[str, list[str]]:
    """The lines of each file that is named, normalised as corpora are; there must be equally many.

    files: paths by what they hold, such as ``source`` and ``reference``. Raises UserError for a file that is not
    there or not UTF-8, and for unequal numbers of lines.
    """
    columns = {}
    for key, path in files.items():
        if path:
            try:
                columns[key] = [normalise(line) for line in read_lines(path)]
            except OSError as error:
                raise UserError(f"{key}={path}: cannot be read ({error.strerror})") from error
    counts = {key: len(lines) for key, lines in columns.items()}
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{key}={files[key]} has {count}" for key, count in counts.items())
        raise UserError(f"the files have different numbers of lines: {shown}; line k must belong to line k")
    if not all(counts.values()):
        raise UserError(f"{', '.join(str(files[key]) for key in counts)}: empty, there is nothing to score")
    return columns
