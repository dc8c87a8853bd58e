"""Any file may be given as a checkpoint: it is read, or it is refused in one line, and nothing in it runs."""

import os
import pickle
import shutil
import struct
import sys
import zipfile
from collections import OrderedDict
from copy import copy
from pathlib import Path

import pytest
import torch
from tiny import MODELS, load_script, write_run
from torch import nn

from seq2seq import checkpoint, cli
from seq2seq.checkpoint import ENTRY, find_checkpoint, load_checkpoint, read_checkpoint
from seq2seq.errors import UserError
from seq2seq.unpack import unpack

DELETE = object()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A valid checkpoint of each model."""
    folder = tmp_path_factory.mktemp("runs")
    return {name: write_run(folder / name, name) / "checkpoints" / "best.ckpt" for name in MODELS}


@pytest.fixture
def valid(files):
    return files["luong"]


@pytest.fixture
def file(tmp_path):
    """Where a test writes what it wants to have refused."""
    return tmp_path / "bad.ckpt"


def refusal(file, load=load_checkpoint):
    """What is said of a file; it must be one printable line of bearable length that begins with the file."""
    with pytest.raises(UserError) as caught:
        load(file)
    line = str(caught.value)
    assert line.startswith(f"{file}: ")
    assert line.isprintable()
    assert len(line) < len(str(file)) + 450
    return line.removeprefix(f"{file}: ")


def changed(valid, file, path, value):
    """Write the valid file with one value, at the end of a path of keys, changed, added or deleted."""
    stored = torch.load(valid, weights_only=True)
    place = stored
    for key in path[:-1]:
        place = place[key]
    if value is DELETE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    torch.save(stored, file)


def repacked(valid, file, pickled, compression=zipfile.ZIP_STORED):
    """Write the valid file with other bytes as its pickle."""
    with zipfile.ZipFile(valid) as source, zipfile.ZipFile(file, "w", compression) as target:
        for name in source.namelist():
            target.writestr(name, pickled if name.endswith("/data.pkl") else source.read(name))


def text(letters):
    """The pickle operation that gives a string."""
    return b"X" + struct.pack("<I", len(letters.encode())) + letters.encode()


def as_tensor(content):
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


class Bomb:
    """Unpickled the usual way, it writes the file ``marker``."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch '{self.marker}'",)


def same(one, other):
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        same(list(one.values()), list(other.values()))
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            same(left, right)
    else:
        assert one == other


# What is read


@pytest.mark.parametrize("name", MODELS)
def test_a_checkpoint_is_read_as_torch_reads_it(files, name):
    expected = torch.load(files[name], weights_only=True)
    same(read_checkpoint(files[name]), expected)
    loaded = load_checkpoint(files[name])
    assert not loaded.model.training
    assert (loaded.step, loaded.settings) == (7, expected[ENTRY]["settings"])
    for key, value in loaded.model.state_dict().items():
        assert torch.equal(value, expected["state_dict"][checkpoint.PREFIX + key])


def test_all_that_lightning_keeps_arrives_as_torch_gives_it(file):
    matrix = torch.arange(12.0).reshape(3, 4)
    dtypes = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
    stored = {
        "state": nn.LSTM(3, 4).state_dict(),
        "optimizer": [{"state": {0: {"step": torch.tensor(3.0)}}, "betas": (0.9, 0.98), "params": [0, 1], "lr": 1e-3}],
        "views": (matrix, matrix[1:], matrix[2], matrix[1, 1:3]),
        "kinds": [torch.ones(3, dtype=getattr(torch, name)) for name in dtypes],
        "empty": [{}, [], (), "", torch.empty(0), torch.empty(2, 0), OrderedDict()],
        "numbers": [0, -1, 255, 256, 65536, -(2**31), 2**31, 2**62, -(2**63), 2**200, 0.5, float("inf"), True, False],
        "text": ["đường", "x" * 300, None],
        "deep": {"a": {"b": {"c": [[[("d",)]]]}}},
    }
    torch.save(stored, file)
    with open(file, "rb") as stream:
        found = unpack(stream)
    same(found, torch.load(file, weights_only=True))
    assert found["views"][0].data_ptr() + 16 == found["views"][1].data_ptr()  # shared as they were


def test_a_folder_gives_its_best_checkpoint_or_else_its_last(valid, tmp_path):
    folder = tmp_path / "run" / "checkpoints"
    folder.mkdir(parents=True)
    for name in ("previous", "last", "best"):
        shutil.copy(valid, folder / f"{name}.ckpt")
        assert find_checkpoint(tmp_path / "run") == find_checkpoint(folder) == folder / f"{name}.ckpt"


# What is no checkpoint


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty, 0 bytes"),
        (b"\n", "not a checkpoint"),
        ("Con mèo ngủ trên ghế.\n".encode(), "not a checkpoint"),
        (b'\x08\x00\x00\x00\x00\x00\x00\x00{"a":1}', "not a checkpoint"),  # the beginning of safetensors
        (b"PK", "not a checkpoint"),
        (b"PK\x03\x04" + bytes(1000), "damaged or cut off"),
    ],
)
def test_a_file_of_another_kind_is_named_as_such(file, content, said):
    file.write_bytes(content)
    assert refusal(file).startswith(said)


def test_an_archive_of_other_things_is_named_as_such(file):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<xml/>")
    assert "not a checkpoint" in refusal(file)


def test_a_folder_without_a_checkpoint_is_named(tmp_path):
    assert "in this folder" in refusal(tmp_path)
    assert "no such file" in refusal(tmp_path / "nowhere")
    assert "Is a directory" in refusal(tmp_path, read_checkpoint)


def test_a_file_that_may_not_be_read_says_so(valid, monkeypatch):
    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(checkpoint, "open", forbidden, raising=False)
    assert refusal(valid) == "cannot be read (Permission denied)"
    monkeypatch.setattr(Path, "is_file", forbidden)
    assert "Permission denied" in refusal(valid)


def test_a_checkpoint_of_another_program_is_named_as_such(file, valid):
    stored = torch.load(valid, weights_only=True)
    weights = stored["state_dict"]
    for other in (weights, nn.Linear(2, 2).state_dict(), {"state_dict": weights, "epoch": 1, ENTRY: 3}, [weights], 5):
        torch.save(other, file)
        assert "another program" in refusal(file)
    torch.save(nn.Linear(2, 2), file)
    assert "torch.nn.modules.linear.Linear" in refusal(file)


@pytest.mark.parametrize(("ours", "stored", "said"), [(1, 2, "update the program"), (2, 1, "use the one that wrote")])
def test_a_newer_and_an_older_format_are_told_apart(valid, file, monkeypatch, ours, stored, said):
    monkeypatch.setattr(checkpoint, "VERSION", ours)
    changed(valid, file, [ENTRY, "version"], stored)
    assert said in refusal(file)


@pytest.mark.parametrize("version", ["1", 1.0, True, None, 0, -1, [1], torch.tensor(1), DELETE])
def test_a_format_that_no_release_wrote_is_refused(valid, file, version):
    changed(valid, file, [ENTRY, "version"], version)
    assert "no release wrote" in refusal(file)


# What is damaged


def test_a_file_cut_off_anywhere_is_refused(valid, file):
    whole = valid.read_bytes()
    for length in [*range(4, len(whole), len(whole) // 15), len(whole) - 1]:
        file.write_bytes(whole[:length])
        assert "damaged or cut off" in refusal(file)


def test_numbers_at_the_end_that_lead_nowhere_are_called_damage(valid, file):
    said = set()
    for place in range(35, 59):  # where the archive's last records have the size and the offset of its directory
        whole = bytearray(valid.read_bytes())
        whole[-place] ^= 0x80
        file.write_bytes(whole)
        said.add(refusal(file).partition(" (")[0])
    assert said == {"damaged or cut off"}


@pytest.mark.parametrize("entry", ["data.pkl", "data/0", "data/7"])
def test_a_flipped_bit_is_noticed(valid, file, entry):
    whole = bytearray(valid.read_bytes())
    with zipfile.ZipFile(valid) as archive:
        (name,) = (name for name in archive.namelist() if name.partition("/")[2] == entry)
        content = archive.read(name)
    whole[whole.index(content) + len(content) // 2] ^= 4
    file.write_bytes(whole)
    assert "CRC" in refusal(file)


PARTS = [
    *(["global_step"], ["state_dict"], [ENTRY, "settings"], [ENTRY, "tokenizers"], [ENTRY, "tokenizers", "source"]),
    *([ENTRY, "settings", group] for group in ("model", "data", "decoding")),
    *([ENTRY, "settings", group, "name"] for group in ("model", "data")),
    *([ENTRY, "settings", "decoding", key] for key in ("beam", "alpha", "coverage", "max_length", "batch_tokens")),
    *([ENTRY, "settings", "model", key] for key in ("hidden", "layers", "score")),
    ["state_dict", "model.output.bias"],
]


@pytest.mark.parametrize("path", PARTS, ids=".".join)
def test_a_missing_or_strange_part_is_named(valid, file, path):
    said = {"state_dict": "weights", "source": "tokenizer", "tokenizers": "tokenizer", "settings": "setting "}
    name = next((said[key] for key in reversed(path) if key in said), path[-1])
    for value in (DELETE, None, [], (1,), {"x": 1}):
        changed(valid, file, path, value)
        assert any(word in refusal(file) for word in (name, "model cannot be built", "settings hold"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("layers", 10**9), ("layers", 0), ("layers", -1), ("layers", True), ("layers", 2), ("layers", "1")),
        *(("hidden", 10**9), ("hidden", 2**70), ("hidden", 14), ("hidden", 11), ("hidden", 12.0), ("hidden", None)),
        *(("embedding", 10**6), ("embedding", 65536), ("dropout", float("nan")), ("dropout", 2)),
        *(
            ("cell", "lstm"),
            ("cell", "os"),
            ("cell", []),
            ("score", "dot"),
            ("bidirectional", False),
            ("\x1b[31mred\n", 1),
        ),
    ],
)
def test_settings_that_do_not_fit_the_weights_are_refused_before_memory_is_taken(valid, file, key, value, monkeypatch):
    built = []
    monkeypatch.setattr(nn.Module, "load_state_dict", lambda *_: built.append(1))
    changed(valid, file, [ENTRY, "settings", "model", key], value)
    line = refusal(file)
    assert any(word in line for word in ("do not fit", f"model.{key}=", "cannot be built"))
    assert not built


def test_one_stored_matrix_does_not_stand_for_a_model_larger_than_the_file(files, file):
    stored = torch.load(files["transformer"], weights_only=True)
    weights, model = stored["state_dict"], stored[ENTRY]["settings"]["model"]
    one = {key: value for key, value in weights.items() if "coder.0." in key}
    model["layers"] = 60
    for layer in range(60):
        weights |= {key.replace("coder.0.", f"coder.{layer}."): value for key, value in one.items()}
    torch.save(stored, file)
    assert "ask for" in refusal(file)


@pytest.mark.parametrize("change", ["longer", "turned", "whole numbers", "more", "text", "no number of dimensions"])
def test_weights_of_another_shape_or_kind_are_refused(valid, file, change):
    weights = torch.load(valid, weights_only=True)["state_dict"]["model.output.weight"]
    key = "model.added" if change == "more" else "model.output.weight"
    value = {
        "longer": torch.cat([weights, weights[:1]]),
        "turned": weights.T.contiguous(),
        "whole numbers": weights.long(),
        "text": "weights",
        "no number of dimensions": torch.tensor(1.0),
    }
    changed(valid, file, ["state_dict", key], value.get(change, weights))
    assert "its weights" in refusal(file)


@pytest.mark.parametrize("tensor", [torch.ones(1).expand(10**9), torch.ones(4, 4).T, torch.ones(9)[::2]])
def test_a_tensor_with_gaps_or_repetitions_is_refused(valid, file, tensor):
    changed(valid, file, ["optimizer_states"], [tensor])
    assert "gaps or repetitions" in refusal(file)


def test_a_tokenizer_that_is_none_is_refused(valid, file):
    model = read_checkpoint(valid)[ENTRY]["tokenizers"]["source"].numpy().tobytes()
    nonsense = model.replace("Bạn".encode(), b"B\xe1\xba\xffn")  # a piece that is no text
    assert nonsense != model
    for content in (b"nan", bytes(100), bytes(range(256)), model[:-9], nonsense):
        changed(valid, file, [ENTRY, "tokenizers", "source"], as_tensor(content))
        assert "its tokenizer cannot be used" in refusal(file)
    for value in (float("nan"), "text", torch.tensor(1.5), torch.empty(0)):
        changed(valid, file, [ENTRY, "tokenizers", "source"], value)
        assert "its tokenizer cannot be used" in refusal(file)
    changed(valid, file, [ENTRY, "tokenizers", "target"], as_tensor(b"garbage"))
    assert "its tokenizer" in refusal(file)


# What is malicious


def test_a_pickle_that_would_run_a_command_runs_nothing(valid, file, tmp_path):
    marker = tmp_path / "marker"
    file.write_bytes(pickle.dumps(Bomb(marker)))
    assert "not a checkpoint" in refusal(file)
    changed(valid, file, ["callbacks"], Bomb(marker))
    assert f"{os.system.__module__}.system" in refusal(file)
    for protocol in (0, 1, 3, 4, 5):
        repacked(valid, file, pickle.dumps(Bomb(marker), protocol))
        refusal(file)
    assert not marker.exists()
    pickle.loads(pickle.dumps(Bomb(marker)))
    assert marker.exists()


@pytest.mark.parametrize("name", ["os.system", "seq2seq.x.os.system", "RNN", "", "a\n\x1b[31mb" * 9999, ["rnn"], 3])
def test_a_model_is_chosen_by_a_name_of_this_program_only(valid, file, name):
    changed(valid, file, [ENTRY, "settings", "model", "name"], name)
    line = refusal(file)
    assert "model cannot be built" in line or "model.name" in line


@pytest.mark.parametrize("group", [[], ["model"], ["data"]])
def test_settings_that_name_code_are_refused(valid, file, group):
    changed(valid, file, [ENTRY, "settings", *group, "_target_"], "os.system")
    assert "_target_" in refusal(file)


def test_a_compressed_archive_is_not_unpacked(valid, file):
    repacked(valid, file, bytes(10**7), zipfile.ZIP_DEFLATED)
    assert file.stat().st_size < 10**5
    assert "compressed" in refusal(file)


def test_entries_over_the_same_bytes_are_refused(valid, file):
    shutil.copy(valid, file)
    with zipfile.ZipFile(file, "a") as archive:
        largest = max(archive.filelist, key=lambda entry: entry.file_size)
        for number in range(1000):
            again = copy(largest)
            again.filename = f"{largest.filename}{number}"
            archive.filelist.append(again)
        archive._didModify = True
    assert "more than its" in refusal(file)


def encoded_bytes():
    """How a pickle of protocol 2 has bytes. Bytes encoded as hexadecimal digits, again and again, double each time."""
    return b"\x80\x02c_codecs\nencode\n" + text("a") + text("latin1") + b"\x86R."


def nested_key():
    """A tuple of twice the tuple before, as a key: hashing takes 2¹⁶ steps, and could take 2¹⁰⁰."""
    return b"\x80\x02)q\x00" + b"h\x00h\x00\x86q\x00" * 16 + b"}h\x00K\x01s."


def unfolding():
    """The same as a value: who walks through these 100 bytes goes 2¹⁵ steps, and could go 2¹⁰⁰."""
    return b"\x80\x02]()q\x00" + b"h\x00h\x00\x86q\x00" * 14 + b"e."


def deep():
    return b"\x80\x02]" + b"(]" * 999 + b"e" * 999 + b"."


def itself():
    return b"\x80\x02]q\x00h\x00a."


def huge_memory():
    return b"\x80\x02c__builtin__\nbytearray\n\x8a\x04\xff\xff\xff\x7f\x85R."


def unknown():
    return b"\x80\x02c\x1b[31mred\nx\n."


def endless():
    return b"\x80\x02](" + b"N" * 1_000_001 + b"e."


def no_end():
    return b"\x80\x02}"


def nothing_there():
    return b"\x80\x02R."


@pytest.mark.parametrize(
    ("pickled", "said"),
    [
        *((encoded_bytes, "_codecs.encode"), (nested_key, "in place of str")),
        *((unfolding, "without end"), (deep, "without end"), (itself, "without end")),
        *(
            (huge_memory, "bytearray"),
            (unknown, "red"),
            (endless, "more values"),
            (no_end, "damaged"),
            (nothing_there, "damaged"),
        ),
    ],
)
def test_a_small_pickle_cannot_take_much_memory_or_time(valid, file, pickled, said):
    repacked(valid, file, pickled())
    assert said in refusal(file)


def test_a_storage_is_of_the_size_that_is_written(valid, file):
    pickled = zipfile.ZipFile(valid).read("best/data.pkl")
    at = pickled.index(b"FloatStorage\n")
    repacked(valid, file, pickled[:at] + b"DoubleStorage\n" + pickled[at + len(b"FloatStorage\n") :])
    assert "another size" in refusal(file)


def test_another_order_of_bytes_is_named(valid, file):
    other = {"little": b"big", "big": b"little"}[sys.byteorder]
    with zipfile.ZipFile(valid) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            target.writestr(name, other if name.endswith("/byteorder") else source.read(name))
    assert "another order" in refusal(file)


# What the scripts make of it


@pytest.mark.parametrize("name", ["translate", "evaluate"])
def test_a_script_says_it_in_one_line_and_ends_with_2(valid, file, monkeypatch, capfd, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    changed(valid, file, [ENTRY, "tokenizers", "source"], as_tensor(b"garbage" * 99))
    (tmp_path / "cut.ckpt").write_bytes(valid.read_bytes()[:-9])
    for path, said in ((file, "its tokenizer cannot be used"), ("cut.ckpt", "damaged or cut off")):
        monkeypatch.setattr(sys, "argv", [f"{name}.py", f"checkpoint={path}"])
        with pytest.raises(SystemExit) as stop:
            cli.run(name, getattr(load_script(name), name), "", multirun=False)
        assert stop.value.code == 2
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert err.startswith(f"error: {path}: {said}")
