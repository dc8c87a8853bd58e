"""Feeds damaged and malicious checkpoints to ``load_checkpoint``: anything but success or UserError is a finding.

    python fuzz/checkpoint.py -max_total_time=300          (needs `pip install atheris`; options are libFuzzer's)

The first byte of an input says what the rest is: a whole file; the pickle in a file, whose checksums are right;
the bytes of the tokenizer; or choices of settings to change.
"""

import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import atheris

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
with atheris.instrument_imports(include=["seq2seq", "zipfile", "pickletools"]):
    import torch
    from tiny import MODELS, tokenizers, write_run

    from seq2seq.checkpoint import ENTRY, load_checkpoint
    from seq2seq.errors import UserError

FOLDER = Path(tempfile.mkdtemp())
FILE = FOLDER / "fuzzed.ckpt"
VALID = {name: write_run(FOLDER / name, name) / "checkpoints" / "best.ckpt" for name in MODELS}
ENTRIES = {}
for name, path in VALID.items():
    with zipfile.ZipFile(path) as archive:
        ENTRIES[name] = {entry: archive.read(entry) for entry in archive.namelist()}
STRANGE = [None, True, -1, 0, 1, 2, 10**9, 2**70, 1e300, float("nan"), "", "os.system", b"", [], {}, {"_target_": "os"}]


def whole_file(data: bytes) -> None:
    FILE.write_bytes(data)


def pickle_in_file(data: bytes) -> None:
    with zipfile.ZipFile(FILE, "w") as archive:
        for entry, content in ENTRIES["luong"].items():
            archive.writestr(entry, data if entry.endswith("/data.pkl") else content)


def tokenizer(data: bytes) -> None:
    stored = torch.load(VALID["rnn"], weights_only=True)
    stored[ENTRY]["tokenizers"] = {"source": torch.frombuffer(bytearray(data or b" "), dtype=torch.uint8)}
    torch.save(stored, FILE)


def settings(data: bytes) -> None:
    chosen = atheris.FuzzedDataProvider(data)
    stored = torch.load(VALID[chosen.PickValueInList(list(VALID))], weights_only=True)
    for _ in range(chosen.ConsumeIntInRange(1, 3)):
        place: Any = stored
        while True:
            key = chosen.PickValueInList(list(place))
            inner = place[key]
            if not isinstance(inner, dict) or not inner or chosen.ConsumeProbability() < 0.2:
                break
            place = inner
        match chosen.ConsumeIntInRange(0, 4):
            case 0:
                del place[key]
            case 1:
                place[key] = chosen.ConsumeInt(4)
            case 2:
                place["added"] = chosen.ConsumeUnicode(10)
            case 3 if isinstance(inner, torch.Tensor):
                place[key] = torch.zeros(chosen.ConsumeIntListInRange(chosen.ConsumeIntInRange(0, 4), 0, 20))
            case _:
                place[key] = chosen.PickValueInList(STRANGE)
    torch.save(stored, FILE)


KINDS = [whole_file, pickle_in_file, tokenizer, settings]


def one(data: bytes) -> None:
    if not data:
        return
    try:
        KINDS[data[0] % len(KINDS)](data[1:])
    except Exception:  # torch.save cannot store everything, such as a string with half a character
        return
    try:
        loaded = load_checkpoint(FILE)
    except UserError as error:
        if "\n" in str(error):
            raise AssertionError("more than one line") from error
        return
    vocabulary = loaded.tokenizers.target
    vocabulary.decode([list(range(len(vocabulary)))])
    loaded.tokenizers.source.encode(["Con mèo ngủ trên ghế.", "\x00 ▁ 🙂"])


def main() -> None:
    torch.set_num_threads(1)
    seeds = FOLDER / "seeds"
    seeds.mkdir()
    (seeds / "tokenizer").write_bytes(b"\x02" + tokenizers().source.to_bytes())
    for name, path in VALID.items():
        (seeds / f"{name}-file").write_bytes(b"\x00" + path.read_bytes())
        pickled = next(content for entry, content in ENTRIES[name].items() if entry.endswith("/data.pkl"))
        (seeds / f"{name}-pickle").write_bytes(b"\x01" + pickled)
        (seeds / f"{name}-settings").write_bytes(b"\x03" + name.encode() * 8)
    again = any(Path(word).is_file() for word in sys.argv[1:])  # a finding to look at, and nothing else
    atheris.Setup([*sys.argv, *([] if again else [str(seeds)]), "-rss_limit_mb=2048", "-timeout=20"], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
