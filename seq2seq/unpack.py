"""Files of ``torch.save``, read from any source: no code runs, and memory and time stay in proportion to the size.

``torch.load`` promises less, with ``weights_only=True`` too: it compares no checksum, calls functions that blow a
kilobyte up to gigabytes, and hashes whatever stands as a key, which can take hours or all of the stack. A look at the
file beforehand does not help, because torch finds another archive in it than a second reader where a file has two. So
the values are taken here from the few pickle operations that ``torch.save`` uses for plain values and tensors; a test
binds them to what ``torch.load(weights_only=True)`` gives. There are no bytes among them: their operation is a call.
"""

import os
import pickletools
import reprlib
import sys
import zipfile
from collections import OrderedDict
from enum import Enum
from typing import Any, BinaryIO

import torch
from torch import Tensor

from seq2seq.errors import UserError

GIVE = "give a checkpoint that scripts/train.py wrote"
AGAIN = "copy it again from where it came from"
_DEEPEST = 50  # levels of nesting; Lightning's loops take 8
_MOST_OPERATIONS = 1_000_000  # of the pickle; a large Transformer's takes 20,000


def unpack(stream: BinaryIO) -> Any:
    """The one value in a file of ``torch.save``: a zip of a pickle and of one uncompressed entry a storage."""
    size = os.fstat(stream.fileno()).st_size
    if not size:
        raise UserError(f"empty, 0 bytes: {AGAIN}")
    if stream.read(4) != b"PK\x03\x04":
        raise UserError(f"not a checkpoint: {GIVE}")
    with zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise UserError(f"a compressed archive, which a checkpoint is not: {GIVE}")
        if sum(entry.file_size for entry in entries) > size:
            raise UserError(f"an archive that claims to hold more than its {size} bytes: {GIVE}")
        roots = [entry.filename for entry in entries if entry.filename.partition("/")[2] == "data.pkl"]
        if len(roots) != 1:
            raise UserError(f"an archive, but not a checkpoint: {GIVE}")
        return _Pickle(archive, roots[0].removesuffix("data.pkl")).load()


class _Known(Enum):
    """The functions that a pickle of ``torch.save`` names. They are imitated here, and none is looked up."""

    ORDERED_DICT = "collections OrderedDict"
    TENSOR = "torch._utils _rebuild_tensor_v2"


_DTYPES = {
    "torch DoubleStorage": torch.float64,
    "torch FloatStorage": torch.float32,
    "torch HalfStorage": torch.float16,
    "torch BFloat16Storage": torch.bfloat16,
    "torch LongStorage": torch.int64,
    "torch IntStorage": torch.int32,
    "torch ShortStorage": torch.int16,
    "torch CharStorage": torch.int8,
    "torch ByteStorage": torch.uint8,
    "torch BoolStorage": torch.bool,
}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}


class _Pickle:
    """Takes plain values and tensors from a pickle of ``torch.save`` (protocol 2) and the storages beside it.

    Every value on the stack is data: there is no operation that calls, imports or sets anything from the file.
    """

    def __init__(self, archive: zipfile.ZipFile, root: str) -> None:
        """root: of the entries' names, with the slash."""
        self._archive, self._root = archive, root
        self._data = archive.read(f"{root}data.pkl")
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._storages: dict[str, Tensor] = {}

    def load(self) -> Any:
        """The value. Raises UserError for what none of our files has, and other errors for a damaged file."""
        order = f"{self._root}byteorder"
        if order in self._archive.namelist() and self._archive.read(order) != sys.byteorder.encode():
            raise UserError(
                f"written on a machine whose numbers have their bytes in another order: {GIVE} on this kind"
            )
        for number, (operation, argument, _) in enumerate(pickletools.genops(self._data)):
            if number == _MOST_OPERATIONS:
                raise UserError(f"more values than a checkpoint has: {GIVE}")
            if operation.name != "STOP":
                self._do(operation.name, argument)
        (value,) = self._stack
        _check_tree(value, len(self._data))
        return value

    def _do(self, name: str, argument: Any) -> None:
        stack = self._stack
        match name:
            case "PROTO":
                pass
            case "NONE" | "NEWTRUE" | "NEWFALSE" | "EMPTY_TUPLE":
                stack.append(_CONSTANTS[name])
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "BINUNICODE":
                stack.append(argument)
            case "EMPTY_DICT":
                stack.append({})
            case "EMPTY_LIST":
                stack.append([])
            case "MARK":
                self._marks.append(len(stack))
            case "TUPLE":
                stack.append(tuple(self._pop(self._marks.pop())))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack.append(tuple(self._pop(-int(name[-1]))))
            case "BINPUT" | "LONG_BINPUT":
                self._memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(self._memo[argument])
            case "APPEND" | "APPENDS":
                items = self._pop(-1 if name == "APPEND" else self._marks.pop())
                _expect(stack[-1], list).extend(items)
            case "SETITEM" | "SETITEMS":
                items = self._pop(-2 if name == "SETITEM" else self._marks.pop())
                for key, value in zip(items[::2], items[1::2], strict=True):
                    _expect(stack[-1], dict, OrderedDict)[_expect(key, str, int)] = value
            case "GLOBAL":
                stack.append(_global(argument))
            case "BINPERSID":
                stack.append(self._storage(*stack.pop()))
            case "REDUCE":
                arguments = stack.pop()
                stack.append(self._call(stack.pop(), *arguments))
            case "BUILD":  # torch's notes on the versions of its modules, at the side of an OrderedDict
                _expect(stack.pop(), dict)
            case _:
                raise UserError(f"not written by torch.save (its pickle has {name}): {GIVE}")

    def _pop(self, start: int) -> list[Any]:
        """Take from the stack what lies above ``start``."""
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def _call(self, function: Any, *arguments: Any) -> Any:
        match function:
            case _Known.ORDERED_DICT:
                () = arguments
                return OrderedDict()
            case _Known.TENSOR:
                storage, offset, size, stride, *_ = arguments
                shape = torch.empty_strided(size, stride, device="meta")
                if offset < 0 or not shape.is_contiguous():
                    raise ValueError("a tensor with gaps or repetitions")
                return _expect(storage, Tensor)[offset : offset + shape.numel()].view(size)
        raise ValueError(f"{reprlib.repr(function)} is not a function")

    def _storage(self, kind: Any, dtype: Any, key: Any, device: Any, count: Any) -> Tensor:
        """The numbers of a storage in one dimension, read once. Raises BadZipFile where their checksum is another."""
        if key not in self._storages:
            entry = self._archive.getinfo(f"{self._root}data/{_expect(key, str)}")
            numbers = torch.empty(entry.file_size, dtype=torch.uint8)
            with self._archive.open(entry) as stream:
                if stream.readinto(numbers.numpy()) != entry.file_size:
                    raise EOFError("a storage is cut off")
            self._storages[key] = numbers
        numbers = self._storages[key].view(_expect(dtype, torch.dtype))
        if kind != "storage" or len(numbers) != count:
            raise ValueError("a storage of another size than is written")
        return numbers


def _global(name: str) -> _Known | torch.dtype:
    if name in _DTYPES:
        return _DTYPES[name]
    try:
        return _Known(name)
    except ValueError:
        shown = ascii(name.replace(" ", "."))[:100]
        raise UserError(f"holds {shown}, code or an object of another program; nothing was run: {GIVE}") from None


def _expect(value: Any, *types: type) -> Any:
    """``value``, which must be of exactly one of the types: a tuple as a key, say, could take hours to hash."""
    if type(value) not in types:
        raise ValueError(f"{type(value).__name__} in place of {types[0].__name__}")
    return value


def _check_tree(value: Any, most: int) -> None:
    """Raises ValueError where a value is nested too deeply, in itself, or unfolds to more than ``most`` values."""
    todo, count = [(value, 0)], 0
    while todo:
        item, depth = todo.pop()
        kind = type(item)
        if kind in (dict, OrderedDict, list, tuple):
            count += len(item)
            if depth == _DEEPEST or count > most:
                raise ValueError("its values are nested without end")
            todo += ((part, depth + 1) for part in (item if kind in (list, tuple) else item.values()))
        else:
            _expect(item, str, int, float, bool, type(None), Tensor)
