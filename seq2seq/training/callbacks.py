"""What a training shows while it runs: scalars, pictures, a progress bar, and a line a validation in the log."""

import logging
import math
import time
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import RichProgressBar

from seq2seq.aligner import align
from seq2seq.data.batching import Batch, source_batch
from seq2seq.decoding.scoring import forced_attention
from seq2seq.evaluation.links import Gold, alignment_error_rate
from seq2seq.heatmaps import attention_heatmap
from seq2seq.symbols import EOS
from seq2seq.translator import Translator

log = logging.getLogger(__name__)


class LastValidation(Callback):
    """A run's last weights are validated, and so saved, wherever in an epoch its limit of steps or epochs falls.

    Lightning validates a run that is told to stop, but not one that comes to its end between two validations.
    """

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        last = trainer.fit_loop.epoch_loop.batch_progress.is_last_batch
        if trainer.global_step == trainer.max_steps or (last and trainer.current_epoch + 1 == trainer.max_epochs):
            trainer.should_stop = True


class Scalars(Callback):
    """``train/*`` every ``every`` optimiser steps.

    ``train/loss`` is what is optimised (smoothed), ``train/perplexity`` comes from the plain likelihood; both are means
    over the first device's tokens since the last point. ``train/gradient_norm`` is the last step's, before clipping.
    ``train/tokens_per_second`` counts real source and target pieces over training time, validation apart.
    """

    _KEPT = ("speed", "last_step", "_pieces", "_seconds", "_tokens", "_window_pieces", "_window_seconds")

    def __init__(self, every: int) -> None:
        self.every = every
        self.speed = 0.0  # over the whole run, pieces a second
        self.last_step = 0  # of the last point
        self._pieces, self._seconds = 0, 0.0  # whole run
        self._sums: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._tokens, self._window_pieces, self._window_seconds = 0, 0, 0.0
        self._norm = torch.tensor(math.nan)  # a run that ended between two points is resumed with no step left to do
        self._since: float | None = None

    def state_dict(self) -> dict[str, Any]:
        """All of it: a resumed run draws the same points."""
        if self._since is not None:
            self._stop_clock()
            self._since = time.perf_counter()
        sums = [torch.stack(pair) for pair in self._sums]
        kept = {name: getattr(self, name) for name in self._KEPT} | {"gradient_norm": float(self._norm)}
        return kept | {"sums": torch.stack(sums) if sums else torch.zeros(0, 2)}  # (batches, 2)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The reverse of ``state_dict``."""
        for name in self._KEPT:
            setattr(self, name, state_dict[name])
        self._norm = torch.tensor(state_dict.get("gradient_norm", math.nan))  # older files have none
        self._sums = [(loss, nll) for loss, nll in state_dict["sums"]]

    def _stop_clock(self) -> None:
        if self._since is not None:
            self._window_seconds += time.perf_counter() - self._since
        self._since = None

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        self._since = time.perf_counter()

    def on_validation_start(self, trainer: Trainer, module: LightningModule) -> None:
        self._stop_clock()
        if trainer.should_stop:  # the last save follows, and must hold everything
            self.on_train_end(trainer, module)

    def on_train_batch_start(self, trainer: Trainer, module: LightningModule, batch: Batch, index: int) -> None:
        if self._since is None:  # the first batch after a validation, its pictures and its checkpoints
            self._since = time.perf_counter()

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        self._sums.append((outputs["loss_sum"], outputs["nll_sum"]))
        self._norm = module.gradient_norm
        self._tokens += batch.tokens
        self._window_pieces += batch.tokens + int(batch.source_lengths.sum())
        if trainer.global_step - self.last_step >= self.every:
            self._log(trainer, module)

    def on_train_end(self, trainer: Trainer, module: LightningModule) -> None:
        if self._sums and trainer.global_step > self.last_step:
            self._log(trainer, module)

    def _log(self, trainer: Trainer, module: LightningModule) -> None:
        self._stop_clock()
        loss, nll = (float(torch.stack(part).sum()) / self._tokens for part in zip(*self._sums, strict=True))
        self._pieces += self._window_pieces
        self._seconds += self._window_seconds
        self.speed = self._pieces * trainer.world_size / max(self._seconds, 1e-9)
        values = {
            "train/loss": loss,
            "train/perplexity": math.exp(min(nll, 50.0)),
            "train/learning_rate": trainer.optimizers[0].param_groups[0]["lr"],
            "train/gradient_norm": float(self._norm),
            "train/tokens_per_second": self._window_pieces * trainer.world_size / max(self._window_seconds, 1e-9),
        }
        if trainer.logger is not None:
            trainer.logger.log_metrics(values, step=trainer.global_step)
        trainer.progress_bar_metrics.update(
            {"loss": values["train/loss"], "tokens/s": values["train/tokens_per_second"]}
        )
        self.last_step = trainer.global_step
        self._sums, self._tokens, self._window_pieces, self._window_seconds = [], 0, 0, 0.0
        self._since = time.perf_counter()


class Pictures(Callback):
    """The same few validation sentences after each validation: alignment heatmaps and translations.

    A heatmap has the reference on its rows (teacher forcing), so that its axes stay the same and TensorBoard's
    slider shows alignment being learnt: row t holds the weights of the step that generates word t.
    """

    def __init__(self, examples: int, words: tuple[int, int] = (5, 16)) -> None:
        """words: source lengths that make a readable picture; sentences outside are shown if there are no others."""
        self.examples, self.words = examples, words

    def _rows(self, sources: list[str]) -> list[int]:
        low, high = self.words
        fitting = [row for row, source in enumerate(sources) if low <= len(source.split()) <= high]
        rows = sorted(fitting or range(len(sources)), key=lambda row: len(sources[row].split()))
        count = min(self.examples, len(rows))
        return [rows[index * len(rows) // count] for index in range(count)]

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        if trainer.sanity_checking or trainer.logger is None or not trainer.is_global_zero:
            return
        board = trainer.logger.experiment
        lines = ["| source | reference | hypothesis |", "|---|---|---|"]
        was_training = module.model.training
        module.model.eval()
        for number, row in enumerate(self._rows(module.sources)):
            texts = module.sources[row], module.references[row], module.translations[row]
            lines.append("| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |")
            figure = self._heatmap(module, *texts[:2])
            if figure is not None:
                board.add_figure(f"alignment/{number}", figure, global_step=trainer.global_step)
        module.model.train(was_training)
        board.add_text("translations", "\n".join(lines), global_step=trainer.global_step)

    def _heatmap(self, module: LightningModule, source: str, reference: str) -> Any:
        pair = module.tokenizers
        source_ids, target_ids = pair.source.encode([source])[0], pair.target.encode([reference])[0]
        ids, lengths = source_batch([source_ids])
        attention = forced_attention(module.model, ids.to(module.device), lengths.to(module.device), [target_ids])
        if attention.cross is None:
            return None
        weights = attention.cross[0].float().cpu().numpy()  # (L, heads, T, S)
        source_tokens, tokens = pair.source.pieces([*source_ids, EOS]), pair.target.pieces([*target_ids, EOS])
        return attention_heatmap(weights, source_tokens, tokens, module.settings["model"]["name"])


class AlignmentErrors(Callback):
    """``alignment/aer`` after each validation: of the model's attention over the first pairs of the validation split.

    By the defaults of ``align``. A model without attention has no such point.
    """

    def __init__(self, gold: list[Gold], pairs: int = 200) -> None:
        """gold: of the validation split, in its order. pairs: how many are aligned, so that it costs little."""
        self.gold = gold[:pairs]

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        if trainer.sanity_checking or trainer.logger is None or not trainer.is_global_zero:
            return
        was_training = module.model.training
        module.model.eval()
        translator = Translator(module.model, module.tokenizers, settings=module.settings)
        texts = (side[: len(self.gold)] for side in (module.sources, module.references))
        links = align(translator, *texts)
        module.model.train(was_training)
        if links is not None:
            values = {"alignment/aer": alignment_error_rate(links, self.gold).aer}
            trainer.logger.log_metrics(values, step=trainer.global_step)


class ProgressBar(RichProgressBar):
    """Lightning's Rich bar with tokens/s, loss, time gone and time left, and no version number."""

    def get_metrics(self, trainer: Trainer, module: LightningModule) -> dict[str, Any]:
        """What stands at the end of the bar."""
        shown = super().get_metrics(trainer, module)
        return {key: value for key, value in shown.items() if key in ("loss", "tokens/s")}


class LogLines(Callback):
    """A line in the log after each validation."""

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        if trainer.sanity_checking or not trainer.is_global_zero:
            return
        values = {key: float(value) for key, value in trainer.callback_metrics.items()}
        log.info(
            "epoch %d, step %d: validation BLEU %.2f, chrF %.2f, perplexity %.2f%s",
            trainer.current_epoch + 1,
            trainer.global_step,
            values["validation/bleu"],
            values["validation/chrf"],
            values["validation/perplexity"],
            f"; {speed:,.0f} tokens/s" if (speed := trainer.progress_bar_metrics.get("tokens/s")) else "",
        )
