"""The trainings that a comparison needs: which are missing, and several of them side by side as processes."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seq2seq.errors import Interrupted, UserError
from seq2seq.models import MODELS
from seq2seq.training.settings import check_settings
from seq2seq.workers import cores

log = logging.getLogger(__name__)

# What may differ between a run and what would be trained now, because it changes nothing in the result.
FREE = {
    *("resume", "run_dir", "trainer.save_steps", "trainer.save_minutes"),
    *("data.workers", "data.cache_dir", "data.gold"),
}
PLACES = {f"data.{key}" for key in ("dir", "train", "dev", "test", "base")}
LATER = {"decoding.precision": "fp32"}  # settings that runs may lack, but for those that were null without them
_POLL = 0.2  # seconds


@dataclass(frozen=True, eq=False)
class Job:
    """One training. settings: the keys of conf/train.yaml. arguments: what to type behind ``train.py`` for them."""

    folder: Path
    settings: dict[str, Any]
    arguments: list[str]

    @property
    def log_file(self) -> Path:
        """What the process says; its own ``train.log`` is in the folder."""
        return self.folder.with_name(f"{self.folder.name}.log")

    def finished(self) -> bool:
        """Whether the folder holds this run already, with its scores.

        Raises UserError, with its name, for the first setting in which the run there is another one.
        """
        file = self.folder / "config.yaml"
        if not file.exists():
            return False
        before, now = stored(yaml.safe_load(file.read_text("utf-8")) or {}), stored(self.settings)
        # The recipe comes last: it only feeds other settings, which say it better.
        for key in sorted(before | now, key=lambda key: key.startswith("recipe.")):
            there, wanted = (one.get(key) for one in (before, now))
            if key not in FREE and there != wanted:
                raise UserError(
                    f"{self.folder} was trained with {key}={_shown(there)}, and {_shown(wanted)} is asked for now: "
                    "leave that out, or name another run_dir"
                )
        return (self.folder / "metrics.json").exists()


def jobs_of(options: dict[str, Any], typed: Sequence[str], compose: Callable[[list[str]], dict[str, Any]]) -> list[Job]:
    """A training of each model with each seed. options: the keys of conf/compare.yaml.

    typed: settings of training for all. compose: from such words to all settings of one training.
    Raises UserError for what cannot be set for all at once, and for what ``compose`` does.
    """
    for word in typed:
        key = word.partition("=")[0]
        instead = {"model": "models=[…]", "seed": "seeds=[…]", "resume": "the same command, which resumes"}
        if key in {*instead, "init_from", "model.name"}:
            raise UserError(f"{word}: is not for all trainings; use {instead.get(key, 'train.py, and then runs=[…]')}")
    models, seeds = options["models"] or list(MODELS), options["seeds"]
    for name, values in (("models", models), ("seeds", seeds)):
        if not values or len(set(values)) < len(values):
            raise UserError(f"{name}={values}: give each once, and at least one")
    jobs = []
    for model in models:
        settings = compose([*typed, f"model={model}"])
        parent = Path(options["run_dir"] or Path("runs") / settings["data"]["name"] / "compare").expanduser()
        for seed in seeds:
            check_settings(settings | {"seed": seed})
            folder = parent / f"{model}-{seed}"
            arguments = [*typed, f"model={model}", f"seed={seed}", f"run_dir={folder}", "resume=true"]
            jobs.append(Job(folder, settings | {"seed": seed}, arguments))
    return jobs


def moved_of(typed: Sequence[str], read: Callable[[str], Any]) -> dict[str, Any]:
    """Where the corpus of finished runs lies now. read: from ``key=value`` to the value.

    Raises UserError for other settings of training.
    """
    found = {}
    for word in typed:
        key = word.partition("=")[0]
        if key not in PLACES:
            raise UserError(f"{word}: runs= are trained already; only {', '.join(sorted(PLACES))} may be given")
        found[key.removeprefix("data.")] = read(word)
    return found


def flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names."""
    result = {}
    for key, value in settings.items():
        result |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return result


def stored(settings: dict[str, Any]) -> dict[str, Any]:
    """A run's settings by dotted names. One that it does not have, because it came later, is what it was without it."""
    return LATER | flat(settings)


def _shown(value: Any) -> Any:
    return "null" if value is None else value


def train_missing(jobs: Sequence[Job], side_by_side: int | str, script: Path) -> None:
    """Train what is not finished, resuming what was begun; gives back when all are.

    side_by_side: how many at once, or ``auto``. script: ``train.py``.
    Raises UserError where a finished or begun run has other settings (before anything is trained), and where a training
    fails (when the others are done); Interrupted where a signal asks for the end, and each training has saved.
    """
    missing = [job for job in jobs if not job.finished()]
    if len(missing) < len(jobs):
        log.info("%d of %d trainings are finished already", len(jobs) - len(missing), len(jobs))
    if not missing:
        return
    count = _at_once(side_by_side, missing)
    log.info(
        "%d to train, %d side by side; look on: tensorboard --logdir %s", len(missing), count, jobs[0].folder.parent
    )
    environment = os.environ | {"OMP_NUM_THREADS": str(max(1, cores() // count))}
    failed = _run(missing, count, script, environment)
    if failed:
        shown = ", ".join(f"{job.folder.name} (see {job.log_file})" for job in failed)
        raise UserError(f"{len(failed)} of {len(missing)} trainings failed, so nothing is compared: {shown}")


def _at_once(side_by_side: int | str, missing: Sequence[Job]) -> int:
    if side_by_side == "auto":
        # What one process takes of a GPU is not known; a core is what one small training keeps busy.
        most = cores() if all(_on_cpu(job.settings["trainer"]["accelerator"]) for job in missing) else 1
    elif type(side_by_side) is int and side_by_side >= 1:
        most = side_by_side
    else:
        raise UserError(f"jobs={side_by_side}: give a whole number from 1 on, or auto")
    return min(most, len(missing))


def _on_cpu(accelerator: str) -> bool:
    import torch

    return accelerator == "cpu" or not (torch.cuda.is_available() or torch.backends.mps.is_available())


def _run(missing: Sequence[Job], count: int, script: Path, environment: dict[str, str]) -> list[Job]:
    """Gives the jobs that failed."""
    waiting, running, failed, done = list(missing), {}, [], 0
    with _signals() as received:
        try:
            while running or (waiting and not received):
                while waiting and len(running) < count and not received:
                    job = waiting.pop(0)
                    running[job] = _start(job, script, environment), time.monotonic()
                time.sleep(_POLL)
                while received[1:]:  # told on once each; the first stays, to be known by
                    received.pop()
                    _stop(running)
                for job in [job for job, (process, _) in running.items() if process.poll() is not None]:
                    process, start = running.pop(job)
                    minutes = (time.monotonic() - start) / 60
                    done += process.returncode == 0
                    if process.returncode == 0:
                        log.info("%s: done in %.1f min (%d of %d)", job.folder.name, minutes, done, len(missing))
                    elif not received:
                        failed.append(job)
                        log.error("%s: failed; %s says why", job.folder.name, job.log_file)
        finally:
            for process, _ in running.values():  # an error of our own: leave nothing behind
                process.terminate()
    if received:
        line = f"stopped with {done} of {len(missing)} trainings done; the same command goes on with the others"
        raise Interrupted(line, 128 + received[0])
    return failed


def _start(job: Job, script: Path, environment: dict[str, str]) -> subprocess.Popen:
    job.folder.parent.mkdir(parents=True, exist_ok=True)
    verb = "going on" if (job.folder / "checkpoints").exists() else "starting"
    log.info("%s: %s, log in %s", job.folder.name, verb, job.log_file)
    command = [sys.executable, str(script), *job.arguments]
    with open(job.log_file, "ab") as file:
        # A group of its own: Ctrl-C at the terminal comes here alone, and is told on once.
        return subprocess.Popen(command, stdout=file, stderr=file, env=environment, start_new_session=True)


def _stop(running: dict[Job, tuple[subprocess.Popen, float]]) -> None:
    """Let them save and end; asked twice, they end at once."""
    for process, _ in running.values():
        process.terminate()


@contextmanager
def _signals() -> Iterator[list[int]]:
    """The numbers of the signals that ask for the end: the first one, and each again until it is taken off."""
    received: list[int] = []

    def note(number: int, frame: Any) -> None:
        received.extend([number] if received else [number, number])
        log.info("stopping: each training saves first")

    numbers = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    handlers = {number: signal.signal(number, note) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
