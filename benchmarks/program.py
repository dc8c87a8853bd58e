"""What the whole program costs beside a bare loop: ``scripts/train.py``, with all that it logs, over the same batches.

    python benchmarks/program.py bahdanau transformer --steps 200 --rounds 5

A bare loop is forward, loss, backward, clipping and AdamW on batches that are in memory already. Both count real
source and target pieces over training time (validation, checkpoints and pictures apart), take turns, and see batches of
the same plan (the loop those of the first epoch, again and again). Where the program keeps 100 %, Lightning, logging
and loading cost nothing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

import torch
from torch import nn

from seq2seq.assess import corpus_from
from seq2seq.cli import composed
from seq2seq.data.corpora import lines
from seq2seq.data.datamodule import TranslationData
from seq2seq.data.grammar import generate
from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.memory import keep_few_kernels, keep_freed_memory
from seq2seq.models import build_model
from seq2seq.symbols import PAD
from seq2seq.training.loss import projected_loss
from seq2seq.training.settings import precision

ROOT = Path(__file__).resolve().parents[1]


def write_corpus(folder: Path, pairs: int) -> None:
    """Pairs of the built-in corpus as files, with a validation split that takes no time and no test."""
    for name, split in (("train", generate(train=pairs, validation=0, test=0)["train"]), ("dev", None)):
        rows = split or generate(train=4, validation=0, test=0)["train"]
        for side, texts in (("en", [row.source for row in rows]), ("vi", [row.target for row in rows])):
            (folder / f"{name}.{side}").write_text("".join(f"{text}\n" for text in texts), "utf-8")


def arguments(model: str, folder: Path, steps: int) -> list[str]:
    """What is typed behind ``train.py``."""
    common = [f"model={model}", "data=files", f"data.dir={folder}", "recipe=small", f"data.cache_dir={folder}/cache"]
    return [*common, "trainer.max_epochs=-1", f"trainer.max_steps={steps}", f"trainer.validate_every={steps}"]


def program(model: str, folder: Path, steps: int, *more: str, threads: int | None = None) -> float:
    """Pieces a second of the whole program, as it says itself. more: settings. threads: of each process."""
    environment = os.environ | ({} if threads is None else {"OMP_NUM_THREADS": str(threads)})
    with tempfile.TemporaryDirectory() as run:
        command = [sys.executable, "scripts/train.py", *arguments(model, folder, steps), *more, f"run_dir={run}/run"]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, cwd=ROOT, env=environment, check=True, **silent)
        return json.loads(Path(run, "run", "metrics.json").read_text("utf-8"))["train"]["tokens_per_second"]


def bare(model: str, folder: Path, steps: int) -> float:
    """Pieces a second of the loop alone."""
    keep_freed_memory()
    keep_few_kernels()
    settings = composed("train", arguments(model, folder, steps))
    data, options = settings["data"], settings["training"]
    corpus = corpus_from(data)
    texts = (lines(corpus["train"], side) for side in ("source", "target"))
    tokenizers = TokenizerPair.train(*texts, data["vocabulary_size"], shared=data["shared_vocabulary"])
    chosen = {key: data[key] for key in ("batch_tokens", "max_length", "max_ratio")}
    loader = TranslationData(corpus, tokenizers, seed=settings["seed"], workers=0, **chosen).train_dataloader()
    batches = list(islice(cycle(loader), steps))
    torch.manual_seed(settings["seed"])
    network = build_model(settings["model"], len(tokenizers.source), len(tokenizers.target), tokenizers.shared)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)
    bf16 = precision(settings["trainer"]["precision"], "cpu") == "bf16-mixed"
    started = time.perf_counter()
    for batch in batches:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            features, _ = network.decode(network.encode(batch.source, batch.source_lengths), batch.target_input)
            real = batch.target_output != PAD  # (B, T)
            wanted = batch.target_output[real]  # (N,)
            loss = projected_loss(network.output, features[real], wanted, options["label_smoothing"])[0]
        optimizer.zero_grad()
        (loss / batch.tokens).backward()
        nn.utils.clip_grad_norm_(network.parameters(), options["clip"])
        optimizer.step()
    seconds = time.perf_counter() - started
    return sum(batch.tokens + int(batch.source_lengths.sum()) for batch in batches) / seconds


def summary(turns: dict[str, list[float]]) -> str:
    """Of the rates of two contenders by turns: medians, and the median, lowest and highest ratio of a round."""
    ratios = [one / other for one, other in zip(*turns.values(), strict=True)]
    middle = ", ".join(f"{name} {statistics.median(rates):,.0f}" for name, rates in turns.items())
    return f"{middle} pieces/s; ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def run(words: list[str] | None = None) -> dict[str, dict[str, list[float]]]:
    """Measure what the command line names; prints a line a model. Gives pieces a second of each turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="names of conf/model")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=8000, help="of the corpus that is trained on")
    parser.add_argument("--bare", type=Path, help=argparse.SUPPRESS)  # a turn of the loop, in a process of its own
    options = parser.parse_args(words)
    if options.bare:
        print(bare(options.models[0], options.bare, options.steps))
        return {}
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder, options.pairs)
        for model in options.models:
            turns: dict[str, list[float]] = {"program": [], "bare loop": []}
            for _ in range(options.rounds):
                turns["program"].append(program(model, folder, options.steps))
                command = [sys.executable, __file__, model, "--bare", name, "--steps", str(options.steps)]
                paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
                environment = os.environ | {"PYTHONPATH": paths}
                turns["bare loop"].append(float(subprocess.check_output(command, env=environment, text=True)))
            print(f"{model}: {summary(turns)}", flush=True)
            found[model] = turns
    return found


if __name__ == "__main__":
    run()
