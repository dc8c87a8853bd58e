"""The LightningModule: it trains a plain model and validates it by translating.

Legend: B sentences, T target length, H features, N real target tokens of the batch, V vocabulary.
"""

import math
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.callbacks import Timer
from torch import Tensor

from seq2seq import checkpoint
from seq2seq.data.batching import Batch
from seq2seq.data.tokenizer import TokenizerPair
from seq2seq.decoding.products import products
from seq2seq.decoding.search import search
from seq2seq.errors import UserError
from seq2seq.evaluation.bleu import score
from seq2seq.evaluation.length import bleu_by_length
from seq2seq.models.interface import Seq2Seq
from seq2seq.symbols import PAD
from seq2seq.training.loss import projected_loss
from seq2seq.training.schedules import learning_rate_factor


class TranslationModule(LightningModule):
    """Token-normalised cross-entropy, AdamW and a warm-up schedule; validation by BLEU of real decoding."""

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: TokenizerPair,
        validation_texts: tuple[list[str], list[str]],
        settings: dict[str, Any],
    ) -> None:
        """validation_texts: raw sources and references of the validation split, in its order.

        settings: the run's, plain types; ``settings["training"]`` is read here and all of it is stored.
        """
        super().__init__()
        self.model, self.tokenizers, self.settings = model, tokenizers, settings
        self.options = settings["training"]
        self.sources, self.references = validation_texts
        self.translations: list[str] = []  # of the validation split, as of the last validation
        self._decoded: list[tuple[int, list[int]]] = []
        self._nll = torch.zeros(2, dtype=torch.float64)  # sum in nats, tokens
        self.gradient_norm = torch.tensor(math.nan)  # of the last step, before clipping
        self._step_rows: list[Tensor] = []  # of the training split, since the last optimiser step

    def loss(self, batch: Batch, smoothing: float) -> tuple[Tensor, Tensor]:
        """Sums over the batch's real target tokens: smoothed loss and plain negative log-likelihood, in nats."""
        memory = self.model.encode(batch.source, batch.source_lengths)
        features, _ = self.model.decode(memory, batch.target_input)  # (B, T, H)
        real = batch.target_output != PAD  # (B, T)
        # no padding is ever projected
        return projected_loss(self.model.output, features[real], batch.target_output[real], smoothing)

    def training_step(self, batch: Batch, index: int) -> dict[str, Any]:
        """Each token of an optimiser step weighs the same, however it falls into batches, devices and accumulation.

        Lightning divides by the batches it accumulates and averages over devices; both are undone here, and the
        sum is divided by the tokens of the whole step, which the batch plan knows.
        """
        self._step_rows.append(batch.rows)
        loss, nll = self.loss(batch, self.options["label_smoothing"])
        scale = self.trainer.accumulate_grad_batches * self.trainer.world_size / batch.step_tokens
        return {"loss": loss * scale, "loss_sum": loss.detach(), "nll_sum": nll.detach()}

    def configure_gradient_clipping(
        self, optimizer: Any, gradient_clip_val: float | None = None, gradient_clip_algorithm: str | None = None
    ) -> None:
        """Clip by the global norm, and keep the norm for ``train/gradient_norm``."""
        limit = self.options["clip"] or math.inf
        self.gradient_norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit)
        if not self.gradient_norm.isfinite() and self.trainer.precision != "16-mixed":  # whose scaler skips such steps
            lines = sorted(torch.cat(self._step_rows).tolist())
            shown = ", ".join(str(line + 1) for line in lines[:20]) + (", …" if len(lines) > 20 else "")
            raise UserError(
                f"training diverged at step {self.global_step}: the gradient is not a number; look at pairs {shown} "
                f"({len(lines)} in all) of the training split, lower training.learning_rate, or raise training.warmup"
            )
        self._step_rows.clear()

    def on_validation_epoch_start(self) -> None:
        """Forget the last validation."""
        self._decoded = []
        self._nll.zero_()

    def validation_step(self, batch: Batch, index: int) -> None:
        """Plain likelihood of the references, and greedy translations."""
        _, nll = self.loss(batch, 0.0)
        self._nll += torch.tensor([float(nll), float(batch.tokens)], dtype=torch.float64)
        with products(self.model):  # in fp32, as evaluation does
            found = search(self.model, batch.source, batch.source_lengths, beam=1, alpha=0.0)
        self._decoded += zip(batch.rows.tolist(), [best[0].tokens for best in found], strict=True)

    def on_validation_epoch_end(self) -> None:
        """One BLEU over all ranks, by the very function that evaluation uses."""
        nll, decoded = self._nll, self._decoded
        if self.trainer.world_size > 1:
            parts: list[Any] = [None] * self.trainer.world_size
            torch.distributed.all_gather_object(parts, (nll, decoded))
            nll = sum(part[0] for part in parts)
            decoded = [pair for part in parts for pair in part[1]]
        by_row = dict(decoded)
        rows = sorted(by_row)
        self.translations = self.tokenizers.target.decode([by_row[row] for row in rows])
        sources = [self.sources[row] for row in rows]
        references = [self.references[row] for row in rows]
        scores = score(self.translations, references, with_ter=False)
        mean = float(nll[0] / nll[1])
        values = {
            "validation/loss": mean,
            "validation/perplexity": math.exp(min(mean, 50.0)),
            "validation/bleu": scores.bleu,
            "validation/chrf": scores.chrf,
        }
        for bucket in bleu_by_length(sources, self.translations, references, bootstrap=100):
            values[f"validation/bleu_by_length/{bucket.label}"] = bucket.bleu
        # for callbacks that watch a value, the same on every rank; the logger gets it without Lightning's extra tags
        watched = {key: torch.tensor(value) for key, value in values.items()}
        self.log_dict(watched, batch_size=1, logger=False, sync_dist=True)
        if self.logger is not None:
            self.logger.log_metrics(values, step=self.global_step)

    def progress(self, steps: int) -> float:
        """Share of the run that is done after ``steps`` updates, by its nearest limit: steps, epochs or time."""
        trainer = self.trainer
        share = steps / self._steps  # 0 where neither steps nor epochs are limited: their number is infinite
        for callback in trainer.callbacks:
            if isinstance(callback, Timer) and callback.time_remaining() is not None:
                elapsed = callback.time_elapsed()
                spent = elapsed / max(1e-9, elapsed + callback.time_remaining())
                # one clock for all devices, else their weights would drift apart
                share = max(share, trainer.strategy.broadcast(spent) if trainer.world_size > 1 else spent)
        return share

    def configure_optimizers(self) -> dict[str, Any]:
        """AdamW (Loshchilov & Hutter 2019, arXiv 1711.05101), decaying matrices only; the schedule moves every step."""
        matrices = [p for p in self.model.parameters() if p.dim() > 1]
        vectors = [p for p in self.model.parameters() if p.dim() <= 1]
        groups = [
            {"params": matrices, "weight_decay": self.options["weight_decay"]},
            {"params": vectors, "weight_decay": 0.0},
        ]
        fused = self.trainer.precision != "16-mixed"  # fused, it would unscale gradients only after they are clipped
        optimizer = torch.optim.AdamW(groups, lr=self.options["learning_rate"], betas=(0.9, 0.98), fused=fused)

        self._steps = self.trainer.estimated_stepping_batches

        def factor(step: int) -> float:
            return learning_rate_factor(self.options["schedule"], step, self.options["warmup"], self.progress(step))

        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def on_save_checkpoint(self, stored: dict[str, Any]) -> None:
        """Make the file stand alone."""
        stored[checkpoint.ENTRY] = checkpoint.contents(self.settings, self.tokenizers)
