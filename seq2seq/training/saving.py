"""Checkpoints of a training: whole or not at all, the last two kept, and all that a run needs to go on exactly.

A save is taken after an optimiser step, never in the middle of an accumulation. What Lightning leaves out is added
here: the random states of every process, and loop counters that say one thing only, namely which batches are done.
"""

import io
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO

from seq2seq.checkpoint import BEST, LAST, PREVIOUS, read_checkpoint
from seq2seq.data.batching import Batch
from seq2seq.errors import UserError
from seq2seq.training.settings import ENDS, extends

RANDOM = "random_states"  # entry of a checkpoint: one for each process
_BATCHES = "epoch_loop.batch_progress"
_VALIDATION = "epoch_loop.val_loop.batch_progress"
_COUNTERS = ("ready", "started", "processed", "completed")
_KEPT = ("corpus", "best_bleu", "validated_step", "finished", "epochs", "seconds")


class StoppedError(Exception):
    """A signal asked for the end; everything up to ``step`` is saved."""

    def __init__(self, signal_number: int, step: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signal_number).name} at step {step}")
        self.signal_number, self.step = signal_number, step


class WholeFile(TorchCheckpointIO):
    """Lightning's checkpoint files, written beside the target, synced and renamed; ``last`` leaves its predecessor."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        """Write one file. Raises UserError where the disc is full or the folder cannot be written to."""
        path = Path(path)
        content = io.BytesIO()  # torch's own writer reports a full disc as an internal error
        torch.save(checkpoint, content)
        part = path.with_name(f".{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(part, "wb") as file:
                file.write(content.getbuffer())
                file.flush()
                os.fsync(file.fileno())
            if path.name == LAST and path.exists():
                os.replace(path, path.with_name(PREVIOUS))
            os.replace(part, path)
            _sync_folder(path.parent)
        except OSError as error:
            part.unlink(missing_ok=True)
            kept = [path.with_name(name) for name in (LAST, PREVIOUS) if path.with_name(name).exists()]
            rest = f"; the last good checkpoint is {kept[0]}" if kept else ""
            raise UserError(f"{path}: the checkpoint cannot be saved: {error.strerror}{rest}") from error

    def load_checkpoint(self, path: str | Path, map_location: Any = None, **_: Any) -> dict[str, Any]:
        """Read one file, with all of ``read_checkpoint``'s care."""
        return read_checkpoint(Path(path))


def _sync_folder(folder: Path) -> None:
    """Make renames last through a power cut, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class Saving(Checkpoint):
    """Writes ``last`` by steps, by minutes and around validations, ``best`` by validation BLEU; leaves on a signal.

    Lightning runs it behind all other callbacks, so that their states are those of the same step.
    """

    def __init__(self, folder: Path, corpus: str, options: dict[str, Any]) -> None:
        """folder: where the files go. corpus: its fingerprint, so that a run goes on with no other.

        options: ``settings["trainer"]``, with ``save_steps`` and ``save_minutes`` (None: not by these) and the limits.
        """
        self.folder, self.corpus, self.options = folder, corpus, options
        self.best_bleu = -1.0
        self.validated_step = 0  # the last step whose validation is done
        self.finished = False  # the training is over: its limit is reached, or patience is
        self.epochs = 0.0
        self.seconds = 0.0  # of training, earlier parts of a resumed run included
        self._step = self._saved_step = 0
        self._whole = True  # no accumulation is under way
        self._saved_at = self._clock = time.monotonic()
        self._random: list[dict[str, Any]] | None = None  # to be restored, as is the next
        self._loader: dict[str, int] | None = None
        self._signal: int | None = None
        self._handlers: dict[int, Any] = {}

    # What is kept

    def state_dict(self) -> dict[str, Any]:
        """Plain values; the best score lives here, and not in the file of the best weights."""
        now = time.monotonic()
        self.seconds, self._clock = self.seconds + now - self._clock, now
        return {name: getattr(self, name) for name in _KEPT} | {"limits": {key: self.options[key] for key in ENDS}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The reverse of ``state_dict``; with a larger limit the run is not finished after all."""
        for name in _KEPT:
            setattr(self, name, state_dict[name])
        self.finished = self.finished and not extends(state_dict["limits"], self.options)

    def on_save_checkpoint(self, trainer: Trainer, module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Add the random states; bring Lightning's counters to one meaning: all batches that were begun are done.

        Lightning tells from counters that are out of step where in its own loop a file was written. Here a file says
        only whether the validation of its step is done; if one is due and is not, it is run first on going on.
        """
        state = _random_state()
        states: list[Any] = [state] * trainer.world_size
        if trainer.world_size > 1:
            torch.distributed.all_gather_object(states, state)
        checkpoint[RANDOM] = states
        loops = checkpoint["loops"]["fit_loop"]
        loops["epoch_loop.state_dict"]["_batches_that_stepped"] = trainer.global_step  # it counts a resumption too
        for scope in ("total", "current"):
            batches = loops[_BATCHES][scope]
            loops[_BATCHES][scope] = dict.fromkeys(_COUNTERS, batches["processed"])
            begun = int(self.validated_step != trainer.global_step)  # Lightning: 1 begun and 0 done is to be run
            loops[_VALIDATION][scope] = {"ready": begun, "started": begun, "processed": 0, "completed": 0}

    def on_load_checkpoint(self, trainer: Trainer, module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """With another number of processes, count batches in their share of the list (and draw new random numbers)."""
        states, loops = checkpoint[RANDOM], checkpoint["loops"]["fit_loop"]
        (self._loader,) = loops["state_dict"]["combined_loader"]
        if len(states) == trainer.world_size:
            self._random = states
            return
        for scope in ("total", "current"):
            batches = loops[_BATCHES][scope]["processed"] * len(states) // trainer.world_size
            batches -= batches % trainer.accumulate_grad_batches  # a whole step; some sentences may be seen twice
            loops[_BATCHES][scope] = dict.fromkeys(_COUNTERS, batches)
        loops[_BATCHES]["is_last_batch"] = False
        self._loader["given"] = loops[_BATCHES]["current"]["processed"]

    # When

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        """Take data and random states up where they were, and the signals from Lightning."""
        if self._loader is not None:  # Lightning itself does not: it has its loader before it reads the checkpoint
            trainer.train_dataloader.load_state_dict(self._loader)
        if self._random is not None:
            _set_random_state(self._random[trainer.global_rank])
        self._step = self._saved_step = trainer.global_step
        self._saved_at = self._clock = time.monotonic()
        if self.finished:
            trainer.should_stop = True
        if threading.current_thread() is threading.main_thread():  # no other may
            self._handlers = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}

    def _note(self, number: int, frame: Any) -> None:
        if self._signal is not None:  # asked twice: at once
            raise StoppedError(number, self._saved_step)
        self._signal = number

    def teardown(self, trainer: Trainer, module: LightningModule, stage: str) -> None:
        """Give the signals back."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers = {}

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        """Save where it is time to, or where a signal asks for the end."""
        self._whole, self._step = trainer.global_step > self._step, trainer.global_step
        if not self._whole or trainer.should_stop:  # the last validation comes now, and the save behind it
            return
        number, due = self._signal or 0, self._due()
        if trainer.world_size > 1:  # all processes save, and leave, at the same step
            answer = torch.tensor([number, due], device=module.device)
            torch.distributed.all_reduce(answer, torch.distributed.ReduceOp.MAX)
            number, due = answer.tolist()
        if number or due:
            self._save(trainer, LAST)
        if number:
            raise StoppedError(number, trainer.global_step)

    def _due(self) -> bool:
        steps, minutes = self.options["save_steps"], self.options["save_minutes"]
        gone = (time.monotonic() - self._saved_at) / 60
        return (steps is not None and self._step - self._saved_step >= steps) or (
            minutes is not None and gone >= minutes
        )

    def on_validation_start(self, trainer: Trainer, module: LightningModule) -> None:
        """A validation may take long, and is not gone back behind."""
        if self._whole and not trainer.should_stop and self._saved_step != trainer.global_step:
            self._save(trainer, LAST)

    def on_validation_batch_start(
        self, trainer: Trainer, module: LightningModule, batch: Batch, index: int, dataloader_idx: int = 0
    ) -> None:
        """Do not wait for the end of a validation: going on begins it anew."""
        if self._signal is not None and trainer.world_size == 1:
            raise StoppedError(self._signal, self._saved_step)

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Keep the best weights, then the state with that knowledge: a kill between the two repeats the validation."""
        self.validated_step, self.finished = trainer.global_step, trainer.should_stop
        self.epochs = round(trainer.global_step * trainer.accumulate_grad_batches / trainer.num_training_batches, 2)
        bleu = float(trainer.callback_metrics["validation/bleu"])
        if bleu > self.best_bleu:
            self.best_bleu = bleu
            self._save(trainer, BEST)
        if self._whole or self.finished:
            self._save(trainer, LAST)

    def _save(self, trainer: Trainer, name: str) -> None:
        if trainer.logger is not None:
            trainer.logger.save()  # no event of a saved step is lost
        trainer.save_checkpoint(self.folder / name)
        if name == LAST:
            self._saved_step, self._saved_at = trainer.global_step, time.monotonic()


def _random_state() -> dict[str, Any]:
    """The states of all global generators, in types that are loaded without running code."""
    version, numbers, spare = random.getstate()
    name, keys, *rest = np.random.get_state()
    return {
        "python": [version, list(numbers), spare],
        "numpy": [name, torch.from_numpy(keys.astype(np.int64)), *rest],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
    }


def _set_random_state(state: dict[str, Any]) -> None:
    version, numbers, spare = state["python"]
    random.setstate((version, tuple(numbers), spare))
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
