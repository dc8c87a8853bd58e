"""One run from settings to metrics: corpus, tokenizer, model, Lightning's trainer, test, and the run's folder."""

import json
import logging
import os
import re
import shlex
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import yaml
from lightning.pytorch import Trainer, seed_everything
from lightning.pytorch.callbacks import Callback, EarlyStopping
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.plugins.environments import SLURMEnvironment
from lightning.pytorch.utilities import rank_zero_only
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from rich.console import Console

from seq2seq.aligner import gold_alignments
from seq2seq.assess import Assessment, assess, corpus_from, save, show
from seq2seq.checkpoint import Loaded, load_checkpoint, stored_tokenizers
from seq2seq.data.corpora import fingerprint, lines
from seq2seq.data.datamodule import TranslationData
from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.errors import Interrupted, UserError
from seq2seq.evaluation.figures import bleu_vs_length_figure
from seq2seq.evaluation.links import Gold
from seq2seq.evaluation.report import metrics, write_json
from seq2seq.memory import keep_few_kernels, keep_freed_memory
from seq2seq.models import build_model, count_parameters
from seq2seq.models.interface import Seq2Seq
from seq2seq.training.callbacks import AlignmentErrors, LastValidation, LogLines, Pictures, ProgressBar, Scalars
from seq2seq.training.module import TranslationModule
from seq2seq.training.resuming import Stored, clean_board, merged, newest, remaining
from seq2seq.training.saving import Saving, StoppedError, WholeFile
from seq2seq.training.settings import check_settings, duration, precision
from seq2seq.translator import Translator

log = logging.getLogger(__name__)

_SHARED_FOLDER = "SEQ2SEQ_RUN_FOLDER"  # for the processes that Lightning starts on the other devices


def train_and_test(settings: dict[str, Any], command: str, asked: dict[str, Any] | None = None) -> dict[str, Any]:
    """Train, test the best checkpoint, write the run's folder; gives the content of ``metrics.json``.

    command: what was typed, for the log. asked: with ``settings["resume"]``, what of the settings was typed, by dotted
    names; the others are those of the run gone on with. A mistake that ends a run before anything is saved leaves no
    folder behind. Raises Interrupted where a signal asked for the end.
    """
    if settings["resume"]:
        settings = merged(settings, asked or {})
    check_settings(settings)
    start = load_checkpoint(settings["init_from"]) if settings["init_from"] else None
    model = (start.settings if start else settings)["model"]["name"]
    parent = Path("runs") / settings["data"]["name"] / model
    folder, new = _run_folder(settings["run_dir"], parent, settings["resume"])
    try:
        return _train_in(folder, settings, command, start)
    except UserError:
        if new and not (folder / "checkpoints").exists():
            shutil.rmtree(folder, ignore_errors=True)
        raise
    except (StoppedError, KeyboardInterrupt) as stop:
        number = stop.signal_number if isinstance(stop, StoppedError) else signal.SIGINT
        step = f" at step {stop.step}, which is saved" if isinstance(stop, StoppedError) else ""
        raise Interrupted(f"stopped{step}; to go on: {_command_to_go_on(folder)}", 128 + number) from stop
    except RuntimeError as error:
        if not re.search("gloo|NCCL", str(error)):
            raise
        raise UserError(f"another process of this run has died; to go on: {_command_to_go_on(folder)}") from error


def _command_to_go_on(folder: Path) -> str:
    return shlex.join(["python", "scripts/train.py", "resume=true", f"run_dir={folder}"])


def _train_in(folder: Path, settings: dict[str, Any], command: str, start: Loaded | None) -> dict[str, Any]:
    with _log_to(folder / "train.log") if rank_zero_only.rank == 0 else nullcontext():
        stored = newest(folder) if settings["resume"] else None
        if stored is not None and not remaining(folder, stored, settings):
            log.info("%s is finished: nothing is left to do; a larger limit (trainer.max_epochs=…) extends it", folder)
            return json.loads((folder / "metrics.json").read_text("utf-8"))
        if start is not None and stored is None:
            _take_from(start, settings)
        seed_everything(settings["seed"], workers=True, verbose=False)
        _quiet_lightning()
        keep_freed_memory()
        keep_few_kernels()
        corpus = corpus_from(settings["data"])
        for split in ("train", "validation"):
            if split not in corpus:
                raise UserError(f"data={settings['data']['name']} has no {split} split: training needs one")
        saving = Saving(folder / "checkpoints", fingerprint(corpus), settings["trainer"])
        tokenizers, model = _tokenizers_and_model(settings, corpus, start, stored)
        if stored is not None:
            stored.check_corpus(saving.corpus)
        if rank_zero_only.rank == 0:
            (folder / "config.yaml").write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), "utf-8")
            clean_board(folder, stored)
        data = _data_module(settings, corpus, tokenizers)
        file = settings["data"].get("gold")
        gold = gold_alignments(file, *data.texts("validation")) if file else gold_alignments(corpus["validation"])
        module = TranslationModule(model, tokenizers, data.texts("validation"), settings)
        scalars = Scalars(settings["trainer"]["log_every"])
        trainer = _trainer(settings, folder, scalars, saving, gold)
        log.info("run folder %s; command: %s", folder, command)
        log.info(
            "model %s, %s parameters; vocabulary %d; %d training pairs; precision %s, seed %d",
            *(settings["model"]["name"], f"{count_parameters(model):,}", len(tokenizers.target)),
            *(data.report["train"]["kept"], trainer.precision, settings["seed"]),
        )
        if stored is not None:
            log.info("going on from %s, step %d", stored.path, stored.step)
        trainer.fit(module, data, ckpt_path=stored and stored.path)
        if not trainer.is_global_zero:
            return {}
        best = load_checkpoint(folder)
        report = {
            "seconds": saving.seconds,
            "epochs": saving.epochs,
            "steps": trainer.global_step,
            "tokens_per_second": scalars.speed,
            "best_step": best.step,
            "seed": settings["seed"],
            "precision": trainer.precision,
        }
        return _test(settings, folder, corpus, saving.corpus, best, report, trainer)


def _run_folder(run_dir: str | None, parent: Path, resume: bool) -> tuple[Path, bool]:
    """``run_dir``, else a new folder in ``parent`` by time; and whether it was made here.

    A folder that holds a run already, finished or not, is refused, but to resume it.
    The processes of a run on several devices share the folder that the first of them found.
    """
    if rank_zero_only.rank != 0:
        folder = run_dir or os.environ.get(_SHARED_FOLDER)
        if not folder:
            raise UserError("run_dir is not set: processes that are started from outside need run_dir=PATH")
        return Path(folder), False
    if run_dir:
        folder = Path(run_dir).expanduser()
        if not resume and ((folder / "checkpoints").exists() or (folder / "train.log").exists()):
            raise UserError(
                f"run_dir={folder} holds a run already: name another folder, or go on with it by resume=true"
            )
    else:
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
        folder, count = parent / stamp, 1
        while folder.exists():
            count += 1
            folder = parent / f"{stamp}_{count}"
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"run_dir={folder}: {error.strerror}: name a folder that you can write to") from error
    os.environ[_SHARED_FOLDER] = str(folder)
    return folder, new


@contextmanager
def _log_to(path: Path) -> Iterator[None]:
    """Everything logged goes to this file too."""
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    logging.getLogger().addHandler(handler)
    logging.getLogger("seq2seq").setLevel(logging.INFO)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


def _quiet_lightning() -> None:
    """Lightning's remarks on hardware and on loaders; its other warnings and errors stay."""
    warnings.filterwarnings("ignore", ".*LeafSpec.*")
    warnings.filterwarnings("ignore", ".*does not have many workers.*")
    warnings.filterwarnings("ignore", ".*smaller than the logging interval.*")
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _take_from(loaded: Loaded, settings: dict[str, Any]) -> None:
    """The model and vocabulary of ``init_from`` win over the settings, dropout apart; each difference is logged."""
    stored = loaded.settings["model"] | {"dropout": settings["model"]["dropout"]}
    vocabulary = {key: loaded.settings["data"][key] for key in ("vocabulary_size", "shared_vocabulary")}
    for group, taken in (("model", stored), ("data", vocabulary)):
        for key, value in taken.items():
            if settings[group].get(key) != value:
                log.info("init_from: %s.%s is the checkpoint's, %s", group, key, value)
    ways = [
        " to ".join(data[side] for side in ("source", "target")) for data in (loaded.settings["data"], settings["data"])
    ]
    if ways[0] != ways[1]:
        log.info("init_from: the checkpoint translates %s, this run %s", *ways)
    settings["model"], settings["data"] = stored, settings["data"] | vocabulary


def _tokenizers_and_model(
    settings: dict[str, Any], corpus: Any, start: Loaded | None, stored: Stored | None
) -> tuple[TokenizerPair, Seq2Seq]:
    """Fresh ones, those to start from, or (the weights come later) those to go on with."""
    if stored is not None:
        pair = stored_tokenizers(stored.content)
        return pair, build_model(settings["model"], len(pair.source), len(pair.target), pair.shared)
    if start is not None:
        pair = start.tokenizers
        model = build_model(settings["model"], len(pair.source), len(pair.target), pair.shared)
        model.load_state_dict(start.model.state_dict())
        return pair, model
    data = settings["data"]
    tokenizers = TokenizerPair.train(
        lines(corpus["train"], "source"),
        lines(corpus["train"], "target"),
        data["vocabulary_size"],
        shared=data["shared_vocabulary"],
        cache_dir=Path(data["cache_dir"]),
    )
    sizes = len(tokenizers.source), len(tokenizers.target)
    return tokenizers, build_model(settings["model"], *sizes, tokenizers.shared)


def _data_module(settings: dict[str, Any], corpus: Any, tokenizers: TokenizerPair) -> TranslationData:
    data = settings["data"]
    return TranslationData(
        corpus,
        tokenizers,
        batch_tokens=data["batch_tokens"],
        max_length=data["max_length"],
        max_ratio=data["max_ratio"],
        seed=settings["seed"],
        accumulate=settings["trainer"]["accumulate"],
        workers=data["workers"],
    )


class _Board(TensorBoardLogger):
    """TensorBoard's events alone: the settings are in them and in ``config.yaml``, so no ``hparams.yaml``."""

    def save(self) -> None:
        """Let TensorBoard see what there is so far."""
        self.experiment.flush()


def _trainer(
    settings: dict[str, Any], folder: Path, scalars: Scalars, saving: Saving, gold: list[Gold] | None
) -> Trainer:
    options, training = settings["trainer"], settings["training"]
    every = options["validate_every"]
    whole = isinstance(every, int) and every > 1
    callbacks: list[Callback] = [LastValidation(), scalars, Pictures(training["examples"]), LogLines(), saving]
    if gold:
        callbacks.insert(2, AlignmentErrors(gold))  # before what saves: a validation that is saved is shown
    if training["patience"]:
        # else it asks behind an epoch, and a run that goes on from there has no score yet
        when = {"check_on_train_epoch_end": False}
        callbacks.append(EarlyStopping("validation/bleu", mode="max", patience=training["patience"], **when))
    if sys.stderr.isatty():
        callbacks.append(ProgressBar())
    plugins: list[Any] = [WholeFile()]
    if SLURMEnvironment.detect():
        plugins.append(SLURMEnvironment(auto_requeue=False))  # SIGTERM saves, and resume=true goes on
    arguments = {
        "accelerator": options["accelerator"],
        "devices": options["devices"],
        "num_nodes": options["nodes"],
        "strategy": options["strategy"],
        "plugins": plugins,
        "precision": precision(options["precision"], options["accelerator"]),
        "accumulate_grad_batches": options["accumulate"],
        "max_epochs": options["max_epochs"],
        "max_steps": options["max_steps"],
        "max_time": duration(options["max_time"]),
        "val_check_interval": every if whole else float(every),
        "check_val_every_n_epoch": None if whole else 1,
        "num_sanity_val_steps": 0,
        "use_distributed_sampler": False,
        "logger": _Board(folder, name=None, version=""),
        "callbacks": callbacks,
        "enable_progress_bar": sys.stderr.isatty(),
        "enable_model_summary": False,
        "gradient_clip_val": training["clip"],
    }
    try:
        return Trainer(**arguments)
    except (MisconfigurationException, ValueError) as error:
        raise UserError(f"trainer.*: {' '.join(str(error).split())}") from error


def _test(
    settings: dict[str, Any],
    folder: Path,
    corpus: Any,
    corpus_fingerprint: str,
    best: Loaded,
    report: dict[str, Any],
    trainer: Trainer,
) -> dict[str, Any]:
    """Translate the test split, if there is one, with the best checkpoint; write and print what came out."""
    name = settings["model"]["name"]
    assessment = None
    if "test" in corpus:
        translator = Translator(best.model, best.tokenizers, trainer.strategy.root_device, settings)
        texts = (list(corpus["test"][side]) for side in ("source", "target"))
        assessment = assess(translator, *texts, settings["decoding"])
        save(assessment, folder, name)
        _show_on_board(trainer.logger, settings, assessment)
        show(assessment, Console(width=100))
    result = metrics(
        model=name,
        parameters=count_parameters(best.model),
        data=settings["data"]["name"],
        fingerprint=corpus_fingerprint,
        pairs={split: len(rows) for split, rows in corpus.items()},
        train=report,
        test=assessment.metrics() if assessment else {},
    )
    write_json(folder / "metrics.json", result)
    log.info("done: %s%s", folder, "" if assessment else " (no test split: nothing was tested)")
    return result


def _show_on_board(logger: TensorBoardLogger, settings: dict[str, Any], assessment: Assessment) -> None:
    board, name = logger.experiment, settings["model"]["name"]
    for bucket in assessment.buckets:
        board.add_scalar("test/bleu_vs_length", bucket.bleu, global_step=bucket.low)
    board.add_figure("bleu_vs_length", bleu_vs_length_figure({name: assessment.buckets}))
    logger.log_hyperparams(
        {key: settings[key] for key in ("model", "data", "training", "trainer", "decoding", "seed")},
        {"test/bleu": assessment.scores.bleu, "test/chrf": assessment.scores.chrf},
    )
    logger.finalize("success")
