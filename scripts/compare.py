"""Train what is missing of several models and seeds, compare them, and write a table and a report."""

import logging
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq import cli
from seq2seq.errors import UserError

if TYPE_CHECKING:  # heavy: imported where it is used, so that --help answers at once
    from seq2seq.compare.runs import Run

log = logging.getLogger(__name__)

USAGE = """
Compare models: train what is missing, score, test for significance, and write one report.

  python scripts/compare.py                                             # the four models on the built-in corpus
  python scripts/compare.py models=[rnn,luong_local_p] seeds=[1,2,3] data=files data.dir=DIR trainer.max_epochs=10
  python scripts/compare.py runs=[runs/a,runs/b,runs/picture/*]         # finished runs; of one model: its seeds
  python scripts/compare.py runs=[runs/a] hypotheses=[other.vi]         # with others' output of the same test split
  python scripts/compare.py hypotheses=[a.vi,b.vi] source=talks.en reference=talks.vi

The same command again trains only what is not finished and computes only what is new.

Settings (conf/compare.yaml explains each); all of train.py may stand beside them, and hold for every training:
  models=[…] seeds=[1]    what to train, into <run_dir>/<model>-<seed>
  run_dir=DIR             default runs/<data>/compare       jobs=auto   trainings side by side
  runs=[…]                finished runs in place of models  hypotheses=[…]   files of translations by others
  source=F reference=F    other sentences than the test split    gold=F   their word alignments, in Pharaoh's format
  output=DIR              of report.html and comparison.{json,md,csv}; default <run_dir>/comparison
  baseline=NAME           what the others are tested against; default the first
  edges=[1,10,20] quantiles=4 smallest=20 length=source|reference    the buckets of BLEU against length
  stress=100              groups of joined sentences, 0: none    align=false   no alignment error rates and heatmaps
  layer=mean head=mean    of the attention    examples=3   sentences drawn and shown    device=auto
"""


def compare(settings: dict[str, Any], training: Sequence[str] = ()) -> dict[str, Any]:
    """Compare from plain settings (the keys of conf/compare.yaml). Gives what ``comparison.json`` holds.

    training: settings of conf/train.yaml as they are typed.
    """
    from rich.console import Console

    from seq2seq.compare.comparison import check_options, compare_systems
    from seq2seq.compare.report import write_report
    from seq2seq.compare.runs import read_hypotheses, read_runs, systems_of
    from seq2seq.compare.table import printed
    from seq2seq.compare.testset import read_test_set
    from seq2seq.compare.training import jobs_of, moved_of, train_missing

    check_options(settings)
    given = settings["runs"], settings["hypotheses"]
    for key in ("models", "runs", "hypotheses"):
        if settings[key] == []:
            raise UserError(f"{key}=[]: the list is empty; name some, or leave it out")
    if settings["models"] and settings["runs"]:
        raise UserError("models= are trained and runs= are there already: give one of them, or all folders as runs=")
    moved: dict[str, Any] = {}
    folders = settings["runs"] or []
    if settings["models"] or not any(given):
        jobs = jobs_of(settings, training, lambda words: cli.composed("train", words))
        train_missing(jobs, settings["jobs"], cli.CONF.parent / "scripts" / "train.py")
        folders = [job.folder for job in jobs]
    else:
        moved = moved_of(training, cli.typed_value)
    runs: list[Run] = read_runs(folders, settings["device"])
    output = Path(settings["output"] or _beside(runs) / "comparison").expanduser()
    runs += read_hypotheses(settings["hypotheses"] or [], output)
    test = read_test_set(runs, {key: settings[key] for key in ("source", "reference", "gold")}, moved)
    comparison = compare_systems(systems_of(runs), test, settings, output)
    write_report(comparison, output, [shlex.join(["python", *cli.TYPED])])
    console = Console(width=140)
    for table in printed(comparison.result["systems"]):
        console.print(table)
    for line in comparison.result["fairness"]["different"]:
        log.warning("%s", line)
    log.info("written: %s", output / "report.html")
    return comparison.result


def _beside(runs: Sequence["Run"]) -> Path:
    """The folder that all runs lie in; the current one where there is none."""
    parents = {run.path.parent for run in runs}
    return parents.pop() if len(parents) == 1 else Path(".")


if __name__ == "__main__":
    cli.run("compare", compare, USAGE, multirun=False, other="train")
