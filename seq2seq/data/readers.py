"""Readers of pair files. A line ends at ``\\n`` or ``\\r\\n`` only; a complaint names file and line.

Text readers of the usual libraries also end a line at a lone carriage return, or drop a field that reads ``NA``:
either shifts or loses pairs without a word.
"""

import csv
import json
import reprlib
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from seq2seq.errors import UserError

Pair = dict[str, str]  # source and target


def read_lines(path: str, name: str | None = None, damaged: Callable[[int], None] | None = None) -> Iterator[str]:
    """The lines of a UTF-8 file, without their ends. name: what complaints call the file.

    damaged: told the number of each line that is not UTF-8, which then comes without the bytes that are no text;
    None: such a line is an error.
    """
    with open(path, "rb") as file:  # in binary, only \n ends a line
        for number, raw in enumerate(file, start=1):
            encoding = "utf-8-sig" if number == 1 else "utf-8"
            try:
                line = raw.decode(encoding)
            except UnicodeDecodeError as error:
                if damaged is None:
                    start = error.start + len(raw) - len(error.object)  # the codec does not count a byte-order mark
                    raise UserError(
                        f"{name or path}, line {number}: not UTF-8 (byte 0x{raw[start]:02X} at position "
                        f"{start + 1}); convert the file to UTF-8"
                    ) from error
                damaged(number)
                line = raw.decode(encoding, errors="ignore")
            yield line.removesuffix("\n").removesuffix("\r")


def read_parallel(paths: list[str], names: list[str] | None = None) -> Iterator[Pair]:
    """Two files, line by line. Raises UserError where they have different numbers of lines, or none."""
    names = names or paths
    number = 0
    pairs = zip_longest(*(read_lines(path, name) for path, name in zip(paths, names, strict=True)))
    for number, (source, target) in enumerate(pairs, start=1):
        if source is None or target is None:
            more, fewer = (names[0], names[1]) if target is None else (names[1], names[0])
            count = number + sum(1 for _ in pairs)
            raise UserError(
                f"{more}, line {number}: no partner: {fewer} has {number - 1} lines and this file {count}; "
                "line k of one must translate line k of the other"
            )
        yield {"source": source, "target": target}
    if number == 0:
        raise UserError(f"{names[0]} is empty; it must hold one sentence a line")


def read_table(path: str, source: str, target: str, kind: str | None = None) -> Iterator[Pair]:
    """Pairs of a TSV, CSV, JSON lines or parquet file, told by its ending (or by ``kind``).

    Columns are named by the language codes, or ``source`` and ``target``; or they stand in a struct
    ``translation``. A TSV file may have two columns without names.
    """
    readers = {
        ".tsv": _read_tsv,
        ".csv": _read_csv,
        ".json": _read_json,
        ".jsonl": _read_json,
        ".parquet": _read_parquet,
    }
    kind = kind or Path(path).suffix.lower()
    if kind not in readers:
        raise UserError(
            f"{path}: its ending must be one of {', '.join(readers)}; two plain files go by data.dir=FOLDER"
        )
    count = 0
    for count, pair in enumerate(readers[kind](path, source, target), start=1):  # noqa: B007
        yield pair
    if count == 0:
        raise UserError(f"{path} holds no pairs")


def _names(columns: Iterable[str], source: str, target: str) -> tuple[str, str] | None:
    """The two columns to read, or None where they are missing."""
    columns = list(columns)
    for names in ((source, target), ("source", "target")):
        if all(name in columns for name in names):
            return names
    return None


def _pick(row: dict[str, Any], source: str, target: str, where: str) -> Pair:
    """The pair in a row whose columns have names."""
    if isinstance(row.get("translation"), dict):
        row = row["translation"]
    names = _names(row, source, target)
    if names is None:
        shown = ", ".join(" ".join(str(name).split())[:40] for name in list(row)[:10])  # names can be anything
        raise UserError(f"{where}: no columns {source} and {target} (or source and target), but {shown}")
    for name in names:
        if not isinstance(row[name], str):
            raise UserError(f"{where}: column {name} holds no text, but {reprlib.repr(row[name])}")
    return {"source": row[names[0]], "target": row[names[1]]}


def _read_tsv(path: str, source: str, target: str) -> Iterator[Pair]:
    names: list[str] = []
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split("\t")
        if number == 1:
            if _names(fields, source, target):
                names = fields
                continue
            names = ["source", "target"]
        if len(fields) != len(names):
            raise UserError(f"{path}, line {number}: {len(fields)} columns instead of {len(names)}, split at tabs")
        yield _pick(dict(zip(names, fields, strict=True)), source, target, f"{path}, line {number}")


def _read_csv(path: str, source: str, target: str) -> Iterator[Pair]:
    rows = csv.reader((line.replace("\r", " ") + "\n" for line in read_lines(path)), strict=True)
    names: list[str] = []
    try:
        for fields in rows:
            where = f"{path}, line {rows.line_num}"
            if not names:
                names = fields
                if not _names(names, source, target):
                    raise UserError(f"{where}: the first line must name the columns {source} and {target}")
            elif len(fields) == len(names):
                yield _pick(dict(zip(names, fields, strict=True)), source, target, where)
            elif fields:  # an empty line is no row
                raise UserError(f"{where}: {len(fields)} columns instead of {len(names)}, split at commas")
    except csv.Error as error:
        raise UserError(f"{path}, line {rows.line_num}: {error}") from error


def _read_json(path: str, source: str, target: str) -> Iterator[Pair]:
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{where}: not JSON ({error}); each line must be one object") from error
        if not isinstance(row, dict):
            raise UserError(f"{where}: each line must be one object with {source} and {target}")
        yield _pick(row, source, target, where)


def _read_parquet(path: str, source: str, target: str) -> Iterator[Pair]:
    try:
        file = parquet.ParquetFile(path)
        number = 0
        for batch in file.iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield _pick(row, source, target, f"{path}, row {number}")
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not readable as parquet ({' '.join(str(error).split())})") from error
