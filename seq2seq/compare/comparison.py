"""From systems and a test set to one result: the numbers of ``comparison.json``, figures, and sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from seq2seq.compare.examples import differences, heatmaps
from seq2seq.compare.fairness import check_fairness
from seq2seq.compare.runs import Store, System, digest
from seq2seq.compare.scores import (
    LONG,
    Scored,
    alignment_errors,
    curve,
    describe,
    length_starts,
    long_bleu,
    mean_of,
    median_run,
    paired,
    score_run,
)
from seq2seq.compare.stress import stress, stress_sets, stress_words
from seq2seq.compare.testset import TestSet
from seq2seq.errors import UserError
from seq2seq.evaluation.figures import bleu_vs_length_figure, joined_figure
from seq2seq.evaluation.length import bucket_starts
from seq2seq.evaluation.links import alignment_error_rate, diagonal
from seq2seq.models import MODELS
from seq2seq.testsets import read_files
from seq2seq.translator import find_device

MOST_SHOWN = 8  # systems in a figure: more curves, and more heatmaps in a row, nobody tells apart
CHOICES = ("edges", "quantiles", "smallest", "length", "stress", "align", "layer", "head", "examples")


@dataclass(frozen=True)
class Comparison:
    """result: plain values, what ``comparison.json`` holds. length, stress: figures; stress is None where it is off.

    pictures: of ``heatmaps``. sentences: of ``differences``, by system. shown: names in figures and examples.
    """

    result: dict[str, Any]
    length: Figure
    stress: Figure | None
    pictures: list[dict[str, Any]]
    sentences: dict[str, dict[str, list[dict[str, Any]]]]
    shown: list[str]


def check_options(options: dict[str, Any]) -> None:
    """Raises UserError for settings that make no sense, before any time is spent."""
    for key, least in (("smallest", 1), ("stress", 0), ("examples", 0)):
        if options[key] < least:
            raise UserError(f"{key}={options[key]}: give a whole number from {least} on")
    if options["length"] not in ("source", "reference"):
        raise UserError(f"length={options['length']}: choose source or reference")
    for key, words in (("layer", ("mean",)), ("head", ("mean", "max"))):
        if type(options[key]) is not int and options[key] not in words:
            raise UserError(f"{key}={options[key]}: give a number from 0 on, or {' or '.join(words)}")
    bucket_starts(np.ones(1), options["edges"], options["quantiles"])
    find_device(options["device"])
    if bool(options["source"]) != bool(options["reference"]):
        raise UserError("source=FILE and reference=FILE go together")
    if options["source"]:
        read_files(source=options["source"], reference=options["reference"])
    if options["gold"] and not Path(options["gold"]).is_file():
        raise UserError(f"gold={options['gold']}: there is no such file")
    given = options["runs"] or options["hypotheses"]
    names = options["models"] or ([] if given else list(MODELS))
    if names and options["baseline"] not in (None, *names, *(Path(path).stem for path in options["hypotheses"] or ())):
        raise UserError(f"baseline={options['baseline']}: is none of {', '.join(names)}")


def compare_systems(systems: Sequence[System], test: TestSet, options: dict[str, Any], output: Path) -> Comparison:
    """Score, test and draw. options: the keys of conf/compare.yaml. output: folder of results kept for the next time.

    Raises UserError for outputs that do not fit the test set, and for a baseline that is none of the systems.
    """
    systems = _baseline_first(systems, options["baseline"])
    baseline, shown = systems[0].name, systems[:MOST_SHOWN]
    scored = {system.name: [score_run(run, test) for run in system.runs] for system in systems}
    lengths, over_seeds = test.lengths(options["length"]), all(len(system.runs) > 1 for system in systems)
    starts, pooled = length_starts(lengths, options)
    curves = {name: curve(runs, lengths, starts, over_seeds) for name, runs in scored.items()}
    groups = stress_sets(test, options["stress"], options["smallest"])
    rows = []
    for system in systems:
        runs = scored[system.name]
        row = describe(system, runs) | {
            "bleu_long": long_bleu(runs, lengths, options["smallest"]),
            "bleu_by_length": [bucket.as_dict() for bucket in curves[system.name]],
            "paired": None if system is systems[0] else _tests(runs, scored[baseline], test, output),
            "aer": _alignment(system, test, options),
            "stress": _stress(system, runs, test, groups),
        }
        rows.append(row)
        for run in system.runs:
            if run.trained:
                run.tokenizer()  # stored, for the check of fairness
            run.release()
    single = "95 % bootstrap interval" + (" of the median run" if any(len(one.runs) > 1 for one in systems) else "")
    bars = "lowest to highest seed" if over_seeds else single
    result = {
        "test": {
            **{"name": test.name, "sentences": len(test.sources), "fingerprint": _fingerprint(test)},
            "diagonal_aer": _diagonal_error(test),
        },
        "baseline": baseline,
        "systems": rows,
        "length": {"of": options["length"], "pooled": pooled, "long": LONG, "bars": bars},
        "stress": {
            "longest_in_training": test.longest,
            "sets": {str(together): stress_words(test, each) for together, each in groups.items()},
        },
        "fairness": check_fairness(systems),
        "settings": {key: options[key] for key in CHOICES},
        "versions": {"sacrebleu": version("sacrebleu")},
    }
    axis = f"{options['length']} length (words)"
    note = f"buckets of fewer than {options['smallest']} sentences are pooled with a neighbour" if pooled else ""
    medians = {system.name: median_run(scored[system.name]) for system in shown}
    trained = [(system.name, medians[system.name].run) for system in shown if system.trained]
    return Comparison(
        result,
        bleu_vs_length_figure({system.name: curves[system.name] for system in shown}, bars, axis, note),
        _stress_figure(result, [row for row in rows[: len(shown)] if row["stress"]]),
        heatmaps(trained, test, options["examples"], options["layer"], options["head"]) if options["align"] else [],
        {
            name: differences(one, medians[baseline], test, options["examples"])
            for name, one in medians.items()
            if name != baseline
        },
        [system.name for system in shown],
    )


def _baseline_first(systems: Sequence[System], name: str | None) -> list[System]:
    names = [system.name for system in systems]
    if name is not None and name not in names:
        raise UserError(f"baseline={name}: is none of {', '.join(names)}")
    first = systems[names.index(name)] if name else systems[0]
    return [first, *(system for system in systems if system is not first)]


def _fingerprint(test: TestSet) -> str:
    return digest([*test.sources, *test.references])


def _tests(runs: Sequence[Scored], baseline: Sequence[Scored], test: TestSet, output: Path) -> dict[str, Any]:
    """The paired tests of the median runs, and in how many pairs of runs the system has the higher BLEU."""
    found = paired(median_run(runs), median_run(baseline), test, Store(output / "cache"))
    pairs = [one.values["bleu"] > other.values["bleu"] for one in runs for other in baseline]
    return found | {"higher": sum(pairs), "pairs": len(pairs)}


def _diagonal_error(test: TestSet) -> float | None:
    """The alignment error rate of the diagonal, which knows nothing; None without gold."""
    if test.gold is None:
        return None
    sizes = zip(test.lengths("source").tolist(), test.lengths("reference").tolist(), strict=True)
    return alignment_error_rate([diagonal(*size) for size in sizes], test.gold).aer


def _alignment(system: System, test: TestSet, options: dict[str, Any]) -> dict[str, Any] | None:
    """AER by convention, over the runs."""
    if not options["align"]:
        return None
    each = [alignment_errors(run, test, options["layer"], options["head"]) for run in system.runs]
    if any(one is None for one in each):
        return None
    return {convention: mean_of([one[convention]["aer"] for one in each]) for convention in each[0]}


def _stress(
    system: System, runs: Sequence[Scored], test: TestSet, groups: dict[int, list[list[int]]]
) -> dict[str, Any] | None:
    if not system.trained or not groups:
        return None
    return {str(together): stress(runs, test, each) for together, each in groups.items()}


def _stress_figure(result: dict[str, Any], rows: Sequence[dict[str, Any]]) -> Figure | None:
    if not rows:
        return None
    sets = result["stress"]["sets"]
    curves = {
        row["name"]: [(1, *[row["bleu"]["mean"]] * 4)]  # the whole test, whose intervals stand by length
        + [
            (int(together), one["whole"]["mean"], *one["interval"], one["apart"]["mean"])
            for together, one in row["stress"].items()
        ]
        for row in rows
    }
    sizes = {1: "the test"} | {int(together): f"{one['mean_words']:.0f} words" for together, one in sets.items()}
    several = [len(row["seeds"]) > 1 for row in rows]
    bars = "lowest to highest seed" if any(several) else "95 % bootstrap interval"
    return joined_figure(curves, sizes, bars if all(several) == any(several) else f"{bars}; one seed: 95 % bootstrap")
