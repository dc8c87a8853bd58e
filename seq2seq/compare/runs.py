"""Runs as they lie in their folders, what a checkpoint gives beside them, and the systems that they make up."""

import hashlib
import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from glob import glob
from pathlib import Path
from typing import Any

import yaml

from seq2seq.checkpoint import find_checkpoint
from seq2seq.compare.training import FREE, stored
from seq2seq.data.batching import LONGEST
from seq2seq.data.readers import read_lines
from seq2seq.errors import UserError
from seq2seq.evaluation.report import write_json
from seq2seq.testsets import read_files
from seq2seq.translator import Translator

log = logging.getLogger(__name__)

FORMAT = 1  # of what is stored: a newer number makes everything anew


class Store:
    """Results that took long, as JSON files in one folder, by what they depend on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, kind: str, depends: Any, make: Callable[[], Any]) -> Any:
        """The stored result, or ``make()``, which is stored then. depends: plain values; another one, another result.

        A folder that cannot be written to is only slower.
        """
        text = json.dumps([FORMAT, kind, depends], sort_keys=True)
        path = self.folder / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        try:
            return json.loads(path.read_text("utf-8"))["result"]
        except (OSError, ValueError, KeyError):  # none yet, or half of one
            result = make()
        try:
            write_json(path, {"result": result})
        except OSError as error:
            log.warning("%s: %s, so that this will be computed again", path, error.strerror)
        return result


@dataclass(eq=False)
class Run:
    """One training's folder, or (with ``settings`` and ``metrics`` empty) a file of translations.

    name: the model's, or the file's. hypotheses: of the test split, or the file's.
    device: where the checkpoint translates, as ``find_device`` takes it.
    """

    name: str
    path: Path
    hypotheses: list[str]
    store: Store
    settings: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    device: str = "auto"

    @property
    def trained(self) -> bool:
        """Whether there is a checkpoint, and not only output."""
        return bool(self.metrics)

    @cached_property
    def fingerprint(self) -> str:
        """Of the bytes of what translates: the best checkpoint, or the hypotheses themselves."""
        if not self.trained:
            return digest(self.hypotheses)
        with open(find_checkpoint(self.path), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]

    @cached_property
    def translator(self) -> Translator:
        """Loaded when something is not stored yet."""
        try:
            return Translator.from_checkpoint(self.path, self.device)
        except UserError as error:
            raise UserError(f"{error} (align=false stress=0 compares without it)") from error

    def release(self) -> None:
        """Give the memory of the model back."""
        self.__dict__.pop("translator", None)

    def stored(self, kind: str, depends: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` gives for this checkpoint; see ``Store.get``."""
        return self.store.get(kind, [self.fingerprint, depends], make)

    def translate(self, lines: Sequence[str], factor: int = 1) -> tuple[list[str], float]:
        """Translations, whole up to ``LONGEST`` pieces, as the run was tested, and the seconds that they took.

        factor: of the output's length limit.
        """
        decoding = dict(self.settings["decoding"])
        decoding |= {"max_length": factor * decoding["max_length"], "max_source": LONGEST}

        def make() -> list[Any]:
            translator = self.translator
            start = time.perf_counter()
            texts = [one.text for one in translator.translate(lines, **decoding)]
            seconds = time.perf_counter() - start
            log.info("%s: %d lines translated in %.0f s", self.path.name, len(lines), seconds)
            return [texts, seconds]

        texts, seconds = self.stored("translations", [digest(lines), decoding], make)
        return texts, seconds

    def tokenizer(self) -> str:
        """A hash of the tokenizers' bytes; empty where the checkpoint cannot be read."""

        def make() -> str:
            state = self.translator.tokenizers.state()
            return hashlib.sha256(b"\n".join(state[side] for side in sorted(state))).hexdigest()[:16]

        try:
            return self.stored("tokenizer", None, make)
        except UserError as error:
            log.warning("%s", error.__cause__ or error)
            return ""


@dataclass(eq=False)
class System:
    """Runs that differ in their seed alone, in the order of their seeds."""

    name: str
    runs: list[Run]

    @property
    def trained(self) -> bool:
        """Whether its runs have checkpoints."""
        return self.runs[0].trained

    @property
    def seeds(self) -> list[int]:
        """One a run."""
        return [run.settings["seed"] for run in self.runs if run.trained]


def digest(lines: Sequence[str]) -> str:
    """A hash of lines of text."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def read_runs(paths: Sequence[str], device: str) -> list[Run]:
    """Finished runs. paths: their folders; ``*`` and ``?`` stand for what is there, and then pass over the unfinished.

    Raises UserError for a folder without a finished run, and for one that is named twice.
    """
    folders: list[Path] = []
    for path in map(str, paths):
        found = sorted(glob(path)) if set(path) & set("*?") and not Path(path).exists() else [path]
        runs = [Path(one) for one in found if len(found) == 1 or (Path(one) / "metrics.json").exists()]
        for one in set(map(Path, found)) - set(runs):
            if (one / "checkpoints").exists():
                log.warning("%s: left out, it has no metrics.json and is not finished", one)
        if not runs:
            raise UserError(f"runs={path}: there is no finished run")
        folders += runs
    places = [folder.resolve() for folder in folders]
    twice = next((one for one, place in zip(folders, places, strict=True) if places.count(place) > 1), None)
    if twice:
        raise UserError(f"runs: {twice} is named twice")
    return [_read_run(folder, device) for folder in folders]


def _read_run(folder: Path, device: str) -> Run:
    try:
        metrics = json.loads((folder / "metrics.json").read_text("utf-8"))
        settings = yaml.safe_load((folder / "config.yaml").read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{folder}: is no finished run ({Path(error.filename).name}: {error.strerror})") from error
    hypotheses = list(read_lines(str(folder / "test.hyp"))) if metrics["test"] else []
    return Run(metrics["model"]["name"], folder, hypotheses, Store(folder / "comparison"), settings, metrics, device)


def systems_of(runs: Sequence[Run]) -> list[System]:
    """Runs put together where their settings agree but for the seed, in the order of each one's first run.

    Two systems of one model are told apart by their first folder's name, and where that does not do, by its path.
    Raises UserError where one seed was trained twice: the spread over seeds would be too small.
    """
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        kept = stored(run.settings).items()
        settings = {key: value for key, value in kept if key not in FREE | {"seed"} and value is not None}
        groups[json.dumps([run.name, settings or str(run.path)], sort_keys=True)].append(run)
    systems = [
        System(group[0].name, sorted(group, key=lambda run: run.settings.get("seed", 0))) for group in groups.values()
    ]
    for system in systems:
        if len(set(system.seeds)) < len(system.seeds):
            shown = ", ".join(str(run.path) for run in system.runs)
            raise UserError(f"{shown}: these runs of {system.name} have a seed in common; name one of each seed")
    for spell in (lambda path: path.name, str):
        names = [system.name for system in systems]
        for system in systems:
            if names.count(system.name) > 1:
                first = system.runs[0]
                system.name = f"{first.name} ({spell(first.path)})"
    return systems


def read_hypotheses(paths: Sequence[str], output: Path) -> list[Run]:
    """Files of translations, normalised as corpora are, named by their stems. output: where their scores are kept."""
    found = []
    for path in map(Path, paths):
        lines = read_files(hypotheses=str(path))["hypotheses"]
        found.append(Run(path.stem, path, lines, Store(output / "cache")))
    return found
