"""Our speed beside that of peers: the same work, in short slices by turns, one process at a time.

    python benchmarks/compare.py                                  # training, all models, built-in corpus
    python benchmarks/compare.py train transformer --corpus NEWS --rounds 7
    python benchmarks/compare.py beam bahdanau transformer --threads 1
    python benchmarks/compare.py check                            # do all learn, and mask padding?

Only ratios within one run mean anything: the machine's other work changes from minute to minute, and each round
compares what ran next to each other. Peers are those found in the folder of environments (``install.sh``).
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from flops import training_flops
from protocol import PAD, Workload
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# who has which model; the names are those of ours.SETTINGS
PEERS = {
    "rnn": ("opennmt", "torchlingo"),
    "bahdanau": ("opennmt", "joeynmt", "torchlingo"),
    "luong": ("opennmt", "joeynmt"),
    "luong_free": ("opennmt", "joeynmt", "torchlingo"),
    "transformer": ("opennmt", "joeynmt", "torchlingo", "marian", "ctranslate2"),
}
UNITS = {"train": "pieces/s", "greedy": "sentences/s", "beam": "sentences/s"}
BESIDE = {"int8": "bf16"}  # what of ours a precision that ours has not stands beside


class Worker:
    """A process with one model of one toolkit, asleep unless asked."""

    def __init__(self, toolkit: str, model: str, options: argparse.Namespace) -> None:
        self.toolkit = toolkit
        module = "ours" if toolkit == "ours" else f"peers.{toolkit}"
        limits = {name: str(options.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        environment = os.environ | limits | {"PYTHONPATH": str(ROOT) if toolkit == "ours" else ""}
        sizes = ["--threads", str(options.threads), "--per-slice", str(options.per_slice)]
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self.process = subprocess.Popen(
            [str(python_of(toolkit, options.environments)), "-m", module, str(options.workload), model, *sizes],
            cwd=HERE,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.hello = self._read()

    def ask(self, *words: object) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        print(*words, file=self.process.stdin, flush=True)
        return self._read()

    def _read(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise SystemExit(f"{self.errors.read()[-2000:]}\nerror: the worker of {self.toolkit} has died")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


@dataclass
class Entry:
    """One worker at one precision, and what was measured of it, a value a round."""

    worker: Worker
    precision: str
    rates: list[float] = field(default_factory=list)  # units a second
    peak_mib: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)  # needed operations a second, of ours in training

    def result(self, model: str, ours: "Entry | None", peak: float | None) -> dict[str, Any]:
        """A row of the table. ours: what this one is beside. peak: operations a second at most."""
        ratios = [one / other for one, other in zip(ours.rates, self.rates, strict=True)] if ours else None
        return {
            "model": model,
            "toolkit": self.worker.toolkit,
            "precision": self.precision,
            "parameters": self.worker.hello["parameters"],
            "versions": self.worker.hello["versions"],
            "rates": self.rates,
            "rate": median(self.rates),
            "ratios": ratios,
            "ratio": median(ratios) if ratios else None,
            "share_of_peak": median(self.used) / peak if self.used and peak else None,
            "peak_mib": max(self.peak_mib),
        }


def python_of(toolkit: str, environments: Path) -> Path:
    """The interpreter that has this toolkit."""
    return Path(sys.executable) if toolkit == "ours" else environments / toolkit / "bin" / "python"


def compare(task: str, model: str, options: argparse.Namespace, workload: Workload) -> list[dict[str, Any]]:
    """Measure one model of all toolkits that have it: rows of results, ours first."""
    installed = [name for name in PEERS[model] if python_of(name, options.environments).exists()]
    workers = [Worker(name, model, options) for name in ("ours", *installed)]
    try:
        if task == "check":
            return [{"model": model, "toolkit": one.toolkit} | one.hello | one.ask("check") for one in workers]
        entries = [
            Entry(worker, precision)
            for worker in workers
            for precision in worker.hello["precisions"]
            if task in worker.hello["tasks"]
            and (precision in options.precision or BESIDE.get(precision) in options.precision)
        ]
        peaks = _measure(task, model, entries, options, workload)
    finally:
        for worker in workers:
            worker.close()
    ours = {entry.precision: entry for entry in entries if entry.worker.toolkit == "ours"}
    rows = []
    for entry in entries:
        mine = entry.worker.toolkit == "ours"
        beside = None if mine else ours[BESIDE.get(entry.precision, entry.precision)]
        rows.append(entry.result(model, beside, peaks.get(entry.precision)))
    return rows


def _measure(
    task: str, model: str, entries: list[Entry], options: argparse.Namespace, workload: Workload
) -> dict[str, float]:
    """Fill the entries, a round on the same slice by turns. Gives the machine's peak by precision."""
    peaks: dict[str, float] = {}
    for turn in range(options.rounds + 1):  # round 0 warms up
        order = entries[turn % len(entries) :] + entries[: turn % len(entries)]
        for entry in order:
            answer = entry.worker.ask(task, entry.precision, turn)
            if turn == 0:
                continue
            entry.rates.append(answer["units"] / answer["seconds"])
            entry.peak_mib.append(answer["peak_mib"])
            if entry.worker.toolkit == "ours" and task == "train":
                needed = slice_flops(model, workload, turn, options.per_slice)
                entry.used.append(needed / answer["seconds"])
                found = entry.worker.ask("peak", entry.precision)["peak"]
                peaks[entry.precision] = max(found, peaks.get(entry.precision, 0.0))
        print(f"{model}: round {turn} of {options.rounds}", file=sys.stderr)
    return peaks


def slice_flops(model: str, workload: Workload, number: int, per_slice: int) -> float:
    """Operations that training on a slice needs."""
    batches = (workload.train[i % len(workload.train)] for i in range(number * per_slice, (number + 1) * per_slice))
    return sum(
        training_flops(model, batch.lengths.numpy(), batch.target_output.ne(PAD).sum(1).numpy(), workload.vocabulary)
        for batch in batches
    )


def show(task: str, rows: list[dict[str, Any]], console: Console) -> None:
    """Print the results as a table."""
    table = Table(title=f"{task}, {UNITS.get(task, '')}".rstrip(", "))
    columns = ["model", "toolkit", "parameters"]
    if task == "check":
        columns += ["loss in a batch", "each alone", "first step", "last step"]
    else:
        columns += ["precision", UNITS[task], "lowest–highest", "ours / this", "lowest–highest", "of peak", "MiB"]
    for column in columns:
        table.add_column(column, justify="left" if column in ("model", "toolkit", "precision") else "right")
    for row in rows:
        cells = [row["model"], row["toolkit"], f"{row['parameters']:,}"]
        if task == "check":
            cells += [f"{row[key]:.4f}" if key in row else "" for key in ("together", "alone", "first", "last")]
        else:
            ratios = row["ratios"]
            rates = (
                f"{rate:,.{0 if rate >= 100 else 1}f}" for rate in (row["rate"], min(row["rates"]), max(row["rates"]))
            )
            cells += [row["precision"], next(rates), "–".join(rates)]
            cells += [f"{row['ratio']:.2f}", f"{min(ratios):.2f}–{max(ratios):.2f}"] if ratios else ["", ""]
            cells += [f"{row['share_of_peak']:.0%}" if row["share_of_peak"] else "", f"{row['peak_mib']:,.0f}"]
        table.add_row(*cells)
    console.print(table)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", default="train", choices=["train", "greedy", "beam", "check"])
    parser.add_argument("models", nargs="*", help=f"of {', '.join(PEERS)}; default: all")
    parser.add_argument("--corpus", help="a folder with train.en, train.vi, test.en, test.vi; default: built in")
    parser.add_argument("--workload", type=Path, help="a file by workload.py, instead of a corpus")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--per-slice", type=int, default=4, help="training batches of a round")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--precision", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"])
    parser.add_argument("--output", type=Path, help="a file for the results as JSON")
    parser.add_argument(
        "--environments",
        type=Path,
        default=Path(os.environ.get("BENCHMARK_ENVIRONMENTS", HERE / "environments")),
        help="where install.sh made the peers' environments",
    )
    options = parser.parse_args(arguments)
    options.models = options.models or list(PEERS)
    for model in options.models:
        if model not in PEERS:
            parser.error(f"there is no model {model!r}: choose from {', '.join(PEERS)}")
    if options.rounds < 1:
        parser.error("--rounds: give at least 1")
    options.environments = options.environments.absolute()
    return options


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Compare what the options name; gives what is written as JSON to ``options.output``."""
    with tempfile.TemporaryDirectory() as folder:
        if options.workload is None:
            options.workload = Path(folder) / "workload.npz"
            make = [sys.executable, str(HERE / "workload.py"), str(options.workload)]
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            if subprocess.run([*make, *filter(None, [options.corpus])], env=environment, stdout=sys.stderr).returncode:
                raise SystemExit(2)
        options.workload = options.workload.absolute()
        workload = Workload.load(options.workload)
        result = {
            "task": options.task,
            "threads": options.threads,
            "rounds": options.rounds,
            "per_slice": options.per_slice,
            "machine": {"processor": processor(), "cores": os.cpu_count(), "system": platform.platform()},
            "rows": [],
        }
        for model in options.models:
            result["rows"] += compare(options.task, model, options, workload)
            if options.output:  # after every model: what was measured stays, whatever happens to the next
                options.output.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return result


def processor() -> str:
    """Its name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())


def main() -> None:
    """Compare and print."""
    options = parse()
    result = run(options)
    show(options.task, result["rows"], Console(width=140))


if __name__ == "__main__":
    main()
