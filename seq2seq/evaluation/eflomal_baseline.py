"""eflomal (Östling & Tiedemann 2016), a statistical word aligner, beside a model's links; it is installed apart."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from seq2seq.evaluation.links import Links, read_pharaoh

Texts = tuple[Sequence[str], Sequence[str]]  # sources and targets, line by line


def is_installed() -> bool:
    """Whether there is an eflomal to ask. It is no requirement of this package, because it needs a compiler."""
    return find_spec("eflomal") is not None


def eflomal_links(training: Texts, pairs: Texts) -> list[Links]:
    """eflomal's forward links (each target word has one source word or none) of ``pairs``.

    It learns from ``training`` and ``pairs`` together, lower-cased (by itself), and draws samples: two calls differ a
    little. A pair with an empty side has no link. Raises ImportError where it is not installed.
    """
    eflomal = import_module("eflomal")
    texts = [
        (source, target)
        for sources, targets in (training, pairs)
        for source, target in zip(sources, targets, strict=True)
    ]
    whole = [row for row, (source, target) in enumerate(texts) if source.split() and target.split()]
    sources, targets = ([f"{texts[row][side]}\n" for row in whole] for side in (0, 1))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "links"
        eflomal.Aligner().align(sources, targets, links_filename_fwd=str(path))
        lengths = [(len(texts[row][0].split()), len(texts[row][1].split())) for row in whole]
        found = read_pharaoh(path.read_text().splitlines(), lengths, base=0, name="eflomal")
    links = dict(zip(whole, (one.sure for one in found), strict=True))
    return [links.get(row, frozenset()) for row in range(len(texts) - len(pairs[0]), len(texts))]
