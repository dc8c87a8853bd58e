"""What the systems had in common, and what not: a difference in a score is the model's only where the rest is equal."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from seq2seq.assess import label_decoding
from seq2seq.compare.runs import Run, System
from seq2seq.compare.training import FREE, flat
from seq2seq.decoding.products import FP32

NAMED = 3  # systems that are named where one value holds for many
_GROUPS = ("data", "training", "trainer", "decoding", "init_from")
# What the facts below say already, and what only says where things lie.
_SAID = {"data.batch_tokens", "trainer.validate_every", "trainer.precision", *FREE}
_SAID |= {f"data.{key}" for key in ("dir", "train", "dev", "test", "base", "name", "grammar_seed")}
_SAID |= {f"decoding.{key}" for key in ("beam", "alpha", "coverage", "precision")}


def check_fairness(systems: Sequence[System]) -> dict[str, Any]:
    """``equal``: facts with their one value; ``different``: a line for each that is not equal.

    Facts are what a comparison stands on (data, tokenizer, token budget, selection, decoder, precision, seeds,
    versions) and every other setting of training that differs, but for the model's own. Of others' output nothing is
    known, and a line says so.
    """
    trained = [system for system in systems if system.trained]
    facts = {system.name: _facts(system) for system in trained}
    names = list(dict.fromkeys(key for found in facts.values() for key in found))
    equal, different = {}, []
    for name in names:
        groups: dict[str, list[str]] = defaultdict(list)
        for system, found in facts.items():
            groups[found.get(name, str(None))].append(system)
        if len(groups) == 1:
            if ("." not in name and name != "init_from") or name == "data.batch_tokens":
                equal[name] = next(iter(groups))
        else:
            different.append(f"not equal: {name}: {'; '.join(f'{_named(who)} {what}' for what, who in groups.items())}")
    for system in systems:
        if not system.trained:
            different.append(f"not known: {system.name} is a file of translations, and nothing else is known of it")
    return {"equal": equal, "different": different}


def _named(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _facts(system: System) -> dict[str, str]:
    """Each as text; where the runs of a system differ, all their values."""
    each = [_facts_of(run) for run in system.runs]
    facts = {name: _one(run.get(name, "") for run in each) for name in each[0]}
    return facts | {"seeds": ", ".join(map(str, system.seeds))}


def _one(values: Any) -> str:
    return " / ".join(dict.fromkeys(values))


def _facts_of(run: Run) -> dict[str, str]:
    settings, metrics, decoding = run.settings, run.metrics, run.settings["decoding"]
    every = settings["trainer"]["validate_every"]
    whole = isinstance(every, int) and every > 1
    pairs = ", ".join(f"{count:,} {split}" for split, count in metrics["data"]["pairs"].items())
    named = {
        "corpus": f"{metrics['data']['name']}, {settings['data']['source']} to {settings['data']['target']}, {pairs}",
        "text (fingerprint of all splits)": metrics["data"]["fingerprint"],
        "tokenizer (fingerprint of its bytes)": run.tokenizer() or "not known",
        "data.batch_tokens": str(settings["data"]["batch_tokens"]),
        "selection": f"highest validation BLEU, looked at every {every:g} {'batches' if whole else 'epoch(s)'}",
        "decoder": label_decoding(decoding) + (f", {FP32}" if decoding.get("precision", FP32) == FP32 else ""),
        "precision": metrics["train"]["precision"],
        "versions": ", ".join(f"{package} {version}" for package, version in metrics["versions"].items()),
    }
    rest = {key: value for key, value in flat(settings).items() if key.partition(".")[0] in _GROUPS}
    return named | {key: str(value) for key, value in rest.items() if key not in _SAID}
