"""Kills a training at many moments, resumes it each time, and compares it with one that was never interrupted.

    python tests/kill.py [rnn bahdanau luong transformer]          # `make test-kill`; about four minutes a model

The run is killed by SIGKILL, resumed, killed again and so on through ``MOMENTS``, then left to its end. Dropout is on,
two batches make a step, two workers load the data. Everything that the two runs leave must be the same: every tensor of
both checkpoints by SHA-256, every other value but clocks, the metrics, and TensorBoard's points, each exactly once.
"""

import builtins
import hashlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# What is going on when the process dies, and how often it had happened before since the process began, that included.
MOMENTS = [
    ("training step", 9),
    ("validation batch", 1),
    ("file half written", 2),
    ("optimiser step done", 8),
    ("validation batch", 5),
    ("file written, not synced", 3),
    ("validation scored, not saved", 1),
    ("file synced, last not yet kept as previous", 2),
    ("training step", 16),
    ("last kept as previous, no new last", 3),
    ("validation batch", 3),
    ("events rewritten, old ones still there", 1),
    ("file renamed", 4),
    ("optimiser step done", 9),
    ("validation batch", 7),
    ("file half written", 5),
    ("milliseconds of training", 300),
    ("validation batch", 2),
    ("file renamed", 7),
    ("milliseconds of training", 700),
    ("milliseconds of training", 1300),
    ("test split being translated", 1),
]
CLOCKS = {"seconds", "_seconds", "_window_seconds", "speed", "tokens_per_second", "Timer"}
OVERRIDES = [
    *("data=files", "recipe=small", "data.vocabulary_size=500", "data.workers=2", "data.batch_tokens=512"),
    *("model.dropout=0.2", "trainer.accelerator=cpu", "trainer.accumulate=2", "trainer.max_epochs=12"),
    *(
        "training.patience=50",
        "trainer.validate_every=0.5",
        "trainer.save_steps=3",
        "trainer.log_every=2",
        "decoding=greedy",
    ),
]


def main() -> None:
    """Run every model named on the command line, or all four; status 1 where anything differs."""
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        corpus = write_corpus(Path(scratch) / "corpus")
        for model in sys.argv[1:] or ["rnn", "bahdanau", "luong", "transformer"]:
            common = [f"model={model}", f"data.dir={corpus}", f"data.cache_dir={scratch}/cache", *OVERRIDES]
            whole, killed = (Path(scratch) / model / name for name in ("whole", "killed"))
            train([*common, f"run_dir={whole}"])
            for number, (moment, count) in enumerate(MOMENTS, start=1):
                train([*common, f"run_dir={killed}", "resume=true"], moment, count)
                print(f"{model}: kill {number}, {moment}, no. {count}: step {saved_step(killed)} is saved", flush=True)
            train([*common, f"run_dir={killed}", "resume=true"])
            differences = differing(contents(whole), contents(killed))
            failed = failed or bool(differences)
            tensors = sum(isinstance(value, str) and value.startswith("sha256") for value in contents(whole).values())
            first = {name.partition(".")[0].partition(" ")[0]: name for name in reversed(differences)}  # one of a kind
            verdict = f"DIFFERS in {', '.join(first.values())}" if differences else f"{tensors} tensors, all the same"
            print(f"{model}: {len(MOMENTS)} kills; {verdict}", flush=True)
    sys.exit(failed)


def write_corpus(folder: Path) -> Path:
    """Short sentences of the built-in grammar."""
    from seq2seq.data.grammar import generate

    folder.mkdir()
    for split, pairs in generate(seed=7, train=900, validation=120, test=120).items():
        short = [pair for pair in pairs if len(pair.source.split()) < 20]
        name = {"validation": "dev"}.get(split, split)
        for language, side in (("en", "source"), ("vi", "target")):
            text = "".join(getattr(pair, side) + "\n" for pair in short)
            (folder / f"{name}.{language}").write_text(text, "utf-8")
    return folder


def train(overrides: list[str], moment: str = "", count: int = 0) -> None:
    """One process; with a moment it must die there, else end well."""
    command = [sys.executable, __file__, "--child", moment, str(count), *overrides]
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT)
    if process.returncode != (-signal.SIGKILL if moment else 0):
        sys.exit(f"expected {moment or 'a good end'}, got status {process.returncode}:\n{process.stdout.decode()}")


def child(moment: str, count: int, overrides: list[str]) -> None:
    """Train in this process, and die at the moment."""
    sys.path.insert(0, str(ROOT))
    from seq2seq.training import callbacks, events, module, run, saving

    left = [count]

    def die() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(place: Any, name: str, before: bool) -> None:
        function = getattr(place, name)

        def killing(*arguments: Any, **options: Any) -> Any:
            if before:
                die()
            result = function(*arguments, **options)
            if not before:
                die()
            return result

        setattr(place, name, killing)

    class System:
        """``os`` as the file's writer sees it, with a look at what is renamed to what."""

        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def fsync(self, handle: int) -> None:
            if moment == "file written, not synced":
                die()
            os.fsync(handle)

        def replace(self, source: Path, target: Path) -> None:
            first = str(target).endswith(saving.PREVIOUS)
            if moment == "file synced, last not yet kept as previous" and first:
                die()
            os.replace(source, target)
            if moment == ("last kept as previous, no new last" if first else "file renamed"):
                die()

    def opened(path: Path, mode: str) -> Any:
        file = builtins.open(path, mode)  # noqa: SIM115 (closed by `Half`)
        write = file.write

        class Half:
            def write(self, content: memoryview) -> None:
                write(content[: len(content) // 2])
                file.flush()
                die()
                write(content[len(content) // 2 :])

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: Any) -> None:
                file.close()

        return Half()

    saving.os = System()
    if moment == "file half written":
        saving.open = opened
    elif moment == "training step":
        around(module.TranslationModule, "training_step", before=True)
    elif moment == "optimiser step done":
        around(module.torch.optim.AdamW, "step", before=False)
    elif moment == "validation batch":
        around(module.TranslationModule, "validation_step", before=False)
    elif moment == "validation scored, not saved":
        around(callbacks.Pictures, "on_validation_end", before=False)
    elif moment == "events rewritten, old ones still there":
        around(events.Path, "rmdir", before=False)
    elif moment == "milliseconds of training":
        start = saving.Saving.on_train_start
        timer = threading.Timer(count / 1000, os.kill, (os.getpid(), signal.SIGKILL))
        saving.Saving.on_train_start = lambda *arguments: (start(*arguments), timer.start())
    elif moment == "test split being translated":
        around(run, "assess", before=True)
    sys.argv = ["scripts/train.py", *overrides]
    runpy.run_path(str(ROOT / "scripts" / "train.py"), run_name="__main__")


def saved_step(run: Path) -> int:
    """The step of the newest whole checkpoint; 0 where there is none."""
    from seq2seq.training.resuming import newest

    stored = newest(run)
    return stored.step if stored else 0


def contents(run: Path) -> dict[str, Any]:
    """Everything that a run has left, by name; tensors as their SHA-256."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    from seq2seq.checkpoint import read_checkpoint

    found: dict[str, Any] = {}
    for name in ("best", "last"):
        found |= flat(read_checkpoint(run / "checkpoints" / f"{name}.ckpt"), name)
    found |= flat(json.loads((run / "metrics.json").read_text("utf-8")), "metrics.json")
    found["test.hyp"] = (run / "test.hyp").read_text("utf-8")
    points: Counter[Any] = Counter()
    for file in run.glob("events.out.tfevents.*"):
        for event in EventFileLoader(str(file)).Load():
            for value in event.summary.value:
                number = value.tensor.float_val[0] if value.tensor.float_val else None
                clock = value.tag.rpartition("/")[2] in CLOCKS or value.tag.startswith("_hparams_")
                points[value.tag, event.step, None if clock else number] += 1
    return found | {f"event {point}": count for point, count in points.items()}


def flat(value: Any, name: str) -> dict[str, Any]:
    """Nested dicts and lists by dotted names, without clocks and without what a resumed run must differ in."""
    import torch

    if name.rpartition(".")[2] in CLOCKS | {"resume", "run_dir"}:
        return {}
    if isinstance(value, dict):
        value = [*value.items()]
    elif isinstance(value, list | tuple):
        value = [*enumerate(value)]
    elif isinstance(value, torch.Tensor):
        digest = hashlib.sha256(value.reshape(-1).view(torch.uint8).numpy().tobytes())
        return {name: f"sha256 {digest.hexdigest()} {value.dtype} {tuple(value.shape)}"}
    else:
        return {name: value}
    return {key: one for part, nested in value for key, one in flat(nested, f"{name}.{part}").items()}


def differing(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Names whose values differ, or which only one side has."""
    return sorted(key for key in first.keys() | second.keys() if first.get(key, "") != second.get(key, ""))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    else:
        main()
