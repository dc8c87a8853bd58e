"""Subword pieces: byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909, section 3) by SentencePiece.

Characters outside the vocabulary are spelled in bytes, so that no text is unknown, and
``decode(encode(x)) == normalise(x)`` for every string. The library's own normaliser is off (``identity``):
``text.normalise`` is the only one.
"""

import hashlib
import io
import logging
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import Self

import sentencepiece

from seq2seq.data.text import normalise
from seq2seq.errors import UserError
from seq2seq.symbols import BOS, EOS, PAD, UNK

log = logging.getLogger(__name__)

# Lines the trainer sees at most, about 100 MB of memory. With all 259 k lines of an English–Vietnamese mixture, words
# of held-out text take 0.1 % fewer pieces of 8,000 (1.461 for 1.462 in English), and 0.3 % fewer of 32,000.
SAMPLE = 100_000
_SETTINGS = {
    "model_type": "bpe",
    "byte_fallback": True,
    "character_coverage": 0.9999,  # the rarest characters are spelled in bytes
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "hard_vocab_limit": False,  # a small corpus gets as many pieces as it has merges
    "max_sentence_length": 16384,  # bytes; longer lines are no sentences, and the trainer passes over them
    "pad_id": PAD,
    "unk_id": UNK,
    "bos_id": BOS,
    "eos_id": EOS,
    "num_threads": 1,  # the same pieces on every machine
    "minloglevel": 3,
}
_SPECIAL = {PAD: "<pad>", UNK: "<unk>", BOS: "<s>", EOS: "</s>"}


class Tokenizer:
    """One vocabulary of pieces. Ids 0 to 3 are pad, unk, bos, eos; ``encode`` gives none of them."""

    def __init__(self, model: bytes) -> None:
        """model: the bytes of a trained SentencePiece model. Raises ValueError where it is none of ours."""
        if not model:
            raise ValueError("no bytes are no SentencePiece model")
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except (RuntimeError, TypeError) as error:
            raise ValueError("these bytes are no SentencePiece model") from error
        self._model = model
        processor = self._processor
        found = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if found != (PAD, UNK, BOS, EOS):
            raise ValueError(f"the vocabulary has (pad, unk, bos, eos) at {found}, not at {(PAD, UNK, BOS, EOS)}")

    @classmethod
    def train(cls, lines: Iterable[str], vocabulary_size: int, cache_dir: Path | None = None) -> Self:
        """Learn a vocabulary of at most ``vocabulary_size`` pieces (4 special ones and 256 bytes among them).

        A corpus that allows fewer gives fewer, and a warning. With ``cache_dir`` the model is kept there under a
        name made of the lines and settings, and found again. Raises UserError where there is no text, or where the
        size leaves no room for the letters.
        """
        sample = [line for line in map(normalise, _sample(lines)) if line]
        if not sample:
            raise UserError("the vocabulary cannot be learnt: the training split has no text")
        name = _cache_name(sample, vocabulary_size)
        path = None if cache_dir is None else Path(cache_dir) / f"{name}.model"
        if path is not None and path.is_file():
            try:
                return cls(path.read_bytes())
            except ValueError:
                log.warning("%s is damaged; the vocabulary is learnt anew", path)
        tokenizer = cls(_train(sample, vocabulary_size))
        if len(tokenizer) < vocabulary_size:
            log.warning("the corpus allows %d pieces, not %d; going on with these", len(tokenizer), vocabulary_size)
        if path is not None:
            _write_atomically(path, tokenizer.to_bytes())
        return tokenizer

    @classmethod
    def from_bytes(cls, model: bytes) -> Self:
        """The tokenizer that ``to_bytes`` wrote."""
        return cls(model)

    def to_bytes(self) -> bytes:
        """The whole tokenizer as bytes."""
        return self._model

    def __len__(self) -> int:
        return self._processor.get_piece_size()

    def encode(self, lines: list[str]) -> list[list[int]]:
        """Piece ids of each line, without BOS and EOS; an empty line has none."""
        return self._processor.encode([normalise(line) for line in lines])

    def decode(self, ids: list[list[int]]) -> list[str]:
        """Text of each row of ids. Special ids are dropped; bytes that form no character become U+FFFD.

        The text is normalised, so that one row is one line, whatever bytes a model strings together.
        """
        plain = [[token for token in row if token not in _SPECIAL] for row in ids]
        return [normalise(line) for line in self._processor.decode(plain)] if plain else []

    def pieces(self, ids: list[int]) -> list[str]:
        """The pieces as they stand in the vocabulary: ``▁`` begins a word, ``<0xE1>`` is a byte, EOS is ``</s>``."""
        return [_SPECIAL.get(token) or self._processor.id_to_piece(token) for token in ids]


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of both sides; the same object twice where the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer

    @property
    def shared(self) -> bool:
        """True where one joint vocabulary serves both sides."""
        return self.source is self.target

    @classmethod
    def train(
        cls,
        sources: Iterable[str],
        targets: Iterable[str],
        vocabulary_size: int,
        shared: bool = True,
        cache_dir: Path | None = None,
    ) -> Self:
        """Learn one joint vocabulary, or one of ``vocabulary_size`` for each side."""
        if shared:
            joint = Tokenizer.train(chain(sources, targets), vocabulary_size, cache_dir)
            return cls(joint, joint)
        source = Tokenizer.train(sources, vocabulary_size, cache_dir)
        return cls(source, Tokenizer.train(targets, vocabulary_size, cache_dir))

    def state(self) -> dict[str, bytes]:
        """What a checkpoint stores: ``source``, and ``target`` where it is another vocabulary."""
        state = {"source": self.source.to_bytes()}
        return state if self.shared else state | {"target": self.target.to_bytes()}

    @classmethod
    def from_state(cls, state: dict[str, bytes]) -> Self:
        """The pair that ``state`` described."""
        source = Tokenizer.from_bytes(state["source"])
        return cls(source, Tokenizer.from_bytes(state["target"]) if "target" in state else source)


def _sample(lines: Iterable[str]) -> list[str]:
    """All lines, or ``SAMPLE`` of them, always the same ones, in their order.

    One pass that holds no more than it gives: a reservoir (Vitter 1985, ACM TOMS 11(1), algorithm R).
    """
    random = Random(0)
    kept: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if number < SAMPLE:
            kept.append((number, line))
        elif (place := int(random.random() * (number + 1))) < SAMPLE:
            kept[place] = number, line
    return [line for _, line in sorted(kept)]


def _cache_name(lines: list[str], vocabulary_size: int) -> str:
    """A name that differs wherever lines, settings or SentencePiece's version differ."""
    digest = hashlib.sha256(repr((vocabulary_size, sentencepiece.__version__, sorted(_SETTINGS.items()))).encode())
    for line in lines:
        digest.update(line.encode() + b"\n")  # normalised: no line break inside
    return digest.hexdigest()[:32]


def _train(lines: list[str], vocabulary_size: int) -> bytes:
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, vocab_size=vocabulary_size, **_SETTINGS
        )
    except RuntimeError as error:
        needed = re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error))
        if needed is None:
            raise UserError(f"the vocabulary cannot be learnt: SentencePiece says: {error}") from error
        raise UserError(
            f"a vocabulary of {vocabulary_size} pieces is too small: bytes and letters of this corpus alone take "
            f"{needed[1]}; set data.vocabulary_size higher"
        ) from error
    return model.getvalue()


def _write_atomically(path: Path, content: bytes) -> None:
    """Write beside, then rename: another process finds the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
