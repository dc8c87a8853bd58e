"""Going on with a run: whose settings hold, which file to go on from, and what of its board is still true."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seq2seq.checkpoint import ENTRY, LAST, PREVIOUS, read_checkpoint
from seq2seq.errors import UserError
from seq2seq.training.events import keep_events
from seq2seq.training.settings import ENDS, extends

log = logging.getLogger(__name__)

# What may differ from the run that is gone on with: limits, devices, when to save, and where the same data lie now.
FREE = {
    *("resume", "run_dir", *(f"trainer.{name}" for name in ENDS)),
    *("trainer.accelerator", "trainer.devices", "trainer.nodes", "trainer.strategy"),
    *("trainer.save_steps", "trainer.save_minutes", "data.workers", "data.cache_dir"),
    *("data.dir", "data.train", "data.dev", "data.test", "data.base", "data.gold"),
}


@dataclass(frozen=True)
class Stored:
    """A run's newest whole checkpoint."""

    path: Path
    content: dict[str, Any]

    @property
    def step(self) -> int:
        """Optimiser steps done."""
        return self.content["global_step"]

    def state(self, callback: str) -> dict[str, Any]:
        """What the callback of this class had kept."""
        return self.content["callbacks"][callback]

    def check_corpus(self, fingerprint: str) -> None:
        """Raises UserError where the run was trained on other text."""
        if self.state("Saving")["corpus"] != fingerprint:
            raise UserError(
                f"{self.path}: the run was trained on other text than what lies at data.* now: "
                "give it the same files, or start another run with init_from"
            )


def merged(settings: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """The settings that the run in ``run_dir`` was started with, with what may change taken from ``asked``.

    settings: as composed now; they hold where the folder has no run yet. asked: what of them was typed, by dotted
    names. Raises UserError for something typed that contradicts the run.
    """
    if not settings["run_dir"]:
        raise UserError("resume=true needs run_dir=PATH, the folder of the run to go on with")
    folder = Path(settings["run_dir"]).expanduser()
    if not (folder / "config.yaml").exists():
        return settings
    stored = yaml.safe_load((folder / "config.yaml").read_text("utf-8"))
    for key, value in asked.items():
        group, _, name = key.rpartition(".")
        place = stored
        for part in filter(None, group.split(".")):
            place = place.get(part) or {}
        if key in FREE:
            place[name] = value
        elif place.get(name) != value:
            raise UserError(
                f"{key}={value}: the run in {folder} has {place.get(name)}, and its settings hold; "
                "leave this out, or start another run"
            )
    return stored | {"resume": True, "run_dir": settings["run_dir"]}


def newest(folder: Path) -> Stored | None:
    """The last checkpoint, or the one before it where the last is damaged; None where there is none yet.

    Raises UserError where all there are damaged.
    """
    complaints = []
    for name in (LAST, PREVIOUS):
        path = folder / "checkpoints" / name
        if not path.exists():
            continue
        try:
            content = read_checkpoint(path)
        except UserError as error:
            complaints.append(str(error))
            continue
        for complaint in complaints:
            log.warning("%s; going on from %s", complaint, path)
        return Stored(path, content)
    if complaints:
        raise UserError(f"nothing to go on from: {'; '.join(complaints)}; remove {folder} to start anew")
    return None


def remaining(folder: Path, stored: Stored, settings: dict[str, Any]) -> bool:
    """Whether anything is left to do for the run in ``folder``. Raises UserError for limits that it is past already."""
    saving, limits = stored.state("Saving"), settings["trainer"]
    for name, done in (("max_epochs", saving["epochs"]), ("max_steps", stored.step)):
        if -1 != limits[name] < done:
            raise UserError(f"trainer.{name}={limits[name]}: the run has done {done:g} already; give more")
    tested = saving["finished"] and (folder / "metrics.json").exists()
    return not tested or extends(stored.content[ENTRY]["settings"]["trainer"], limits)


def clean_board(folder: Path, stored: Stored | None) -> None:
    """Take from TensorBoard's files what the run will write again."""
    if stored is None:
        keep_events(folder, lambda tag, step: False)
        return
    points = stored.state("Scalars")["last_step"]
    validated = stored.step if stored.state("Saving")["validated_step"] == stored.step else stored.step - 1
    last = {"train": points, "validation": validated, "alignment": validated, "translations": validated}
    keep_events(folder, lambda tag, step: step <= last.get(tag.partition("/")[0], -1))
