"""Two processes with one thread each beside one process with two, at training on one CPU.

    python benchmarks/processes.py bahdanau transformer --processes 2 --rounds 5

Both are ``scripts/train.py`` on the built-in corpus and see as many pieces an optimiser step: batches of n times as
many positions in one process, or n processes that exchange gradients. They take turns.
"""

import argparse
import tempfile
from pathlib import Path

from program import program, summary, write_corpus


def run(words: list[str] | None = None) -> dict[str, dict[str, list[float]]]:
    """Measure what the command line names; prints a line a model. Gives pieces a second of each turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="names of conf/model")
    parser.add_argument("--processes", type=int, default=2, help="and threads of the one process")
    parser.add_argument("--positions", type=int, default=1024, help="padded positions of a process's batch")
    parser.add_argument("--recipe", default="small", help="a name of conf/recipe")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=8000, help="of the corpus that is trained on")
    options = parser.parse_args(words)
    count = options.processes
    one = [f"recipe={options.recipe}", f"data.batch_tokens={options.positions * count}", "trainer=cpu"]
    several = [f"recipe={options.recipe}", f"data.batch_tokens={options.positions}", "trainer=ddp"]
    several += ["trainer.accelerator=cpu", f"trainer.devices={count}"]
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder, options.pairs)
        for model in options.models:
            names = f"{count} processes", f"one with {count} threads"
            turns: dict[str, list[float]] = {name: [] for name in names}
            for _ in range(options.rounds):
                turns[names[0]].append(program(model, folder, options.steps, *several, threads=1))
                turns[names[1]].append(program(model, folder, options.steps, *one, threads=count))
            print(f"{model}: {summary(turns)}", flush=True)
            found[model] = turns
    return found


if __name__ == "__main__":
    run()
