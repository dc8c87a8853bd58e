"""Feeds any bytes to the readers of corpora and to ``normalise``: anything but pairs or UserError is a finding.

    python fuzz/readers.py -max_total_time=300             (needs `pip install atheris`; options are libFuzzer's)

The first byte of an input chooses the reader.
"""

import sys
import tempfile
import unicodedata
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
with atheris.instrument_imports(include=["seq2seq", "csv", "json"]):
    import pyarrow
    from pyarrow import parquet
    from tiny import ENGLISH, VIETNAMESE

    from seq2seq.data.readers import read_parallel, read_table
    from seq2seq.data.text import normalise
    from seq2seq.errors import UserError

FOLDER = Path(tempfile.mkdtemp())
KINDS = [".tsv", ".csv", ".json", ".jsonl", ".parquet", "parallel", "normalise"]


def read(kind: str, data: bytes) -> None:
    if kind == "parallel":
        paths = [FOLDER / "a.en", FOLDER / "a.vi"]
        for path, half in zip(paths, data.partition(b"\x00")[::2], strict=True):
            path.write_bytes(half)
        pairs = read_parallel([str(path) for path in paths])
    else:
        path = FOLDER / f"a{kind}"
        path.write_bytes(data)
        pairs = read_table(str(path), "en", "vi")
    for pair in pairs:
        assert pair.keys() == {"source", "target"}
        for text in pair.values():
            check(text)


def check(text: str) -> None:
    normal = normalise(text)
    assert normal == normalise(normal) == unicodedata.normalize("NFC", normal)
    assert normal.splitlines() == [normal] * bool(normal)
    assert normal == normal.strip()
    normal.encode()


def one(data: bytes) -> None:
    if not data:
        return
    kind = KINDS[data[0] % len(KINDS)]
    if kind == "normalise":
        check(atheris.FuzzedDataProvider(data[1:]).ConsumeUnicode(len(data)))
        return
    try:
        read(kind, data[1:])
    except UserError as error:
        if "\n" in str(error):
            raise AssertionError("more than one line") from error


def main() -> None:
    seeds = FOLDER / "seeds"
    seeds.mkdir()
    pairs = list(zip(ENGLISH, VIETNAMESE, strict=True))
    parquet.write_table(pyarrow.table({"en": ENGLISH, "vi": VIETNAMESE}), FOLDER / "seed.parquet", compression="none")
    texts = {
        ".tsv": "en\tvi\n" + "\n".join("\t".join(pair) for pair in pairs),
        ".csv": "vi,en\n" + "\n".join(f'"{target}",{source}' for source, target in pairs),
        ".json": "\n".join(f'{{"translation": {{"en": "{source}", "vi": "{target}"}}}}' for source, target in pairs),
        ".jsonl": "\n".join(f'{{"source": "{source}", "target": "{target}"}}' for source, target in pairs),
        "parallel": "\n".join(ENGLISH) + "\x00" + "\n".join(VIETNAMESE),
        "normalise": "Con me\u0300o \u00a0\u200b\u2581\ufeff \ud7a3\u1100\u1161",
    }
    contents = {kind: text.encode() for kind, text in texts.items()}
    contents[".parquet"] = (FOLDER / "seed.parquet").read_bytes()
    for kind, content in contents.items():
        (seeds / kind.strip(".")).write_bytes(bytes([KINDS.index(kind)]) + content)
    again = any(Path(word).is_file() for word in sys.argv[1:])  # a finding to look at, and nothing else
    atheris.Setup([*sys.argv, *([] if again else [str(seeds)]), "-rss_limit_mb=2048", "-timeout=20"], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
