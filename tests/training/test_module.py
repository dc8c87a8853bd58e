"""The LightningModule in a real Trainer on a handful of pairs, in fp32 on the CPU."""

import pytest
import tiny
import torch
from datasets import Dataset, DatasetDict
from lightning.pytorch import Trainer

from seq2seq.data.datamodule import TranslationData
from seq2seq.evaluation.bleu import score
from seq2seq.models import build_model
from seq2seq.symbols import PAD
from seq2seq.training.module import TranslationModule

TRAINING = {
    **{"learning_rate": 0.01, "schedule": "constant", "warmup": 1, "label_smoothing": 0.1},
    **{"weight_decay": 0.0, "clip": 1e9},
}


def parts(name, budget=1000, accumulate=1, **changes):
    """A module and its data on the pairs of ``tiny``."""
    columns = {"source": tiny.ENGLISH, "target": tiny.VIETNAMESE}
    corpus = DatasetDict({split: Dataset.from_dict(columns) for split in ("train", "validation")})
    pair = tiny.tokenizers()
    data = TranslationData(
        corpus, pair, batch_tokens=budget, max_length=100, max_ratio=9.0, seed=1, accumulate=accumulate
    )
    torch.manual_seed(0)
    model = build_model(tiny.MODELS[name] | {"dropout": 0.0} | changes, len(pair.source), len(pair.target), True)
    settings = {"training": TRAINING, "model": {"name": name}}
    return TranslationModule(model, pair, data.texts("validation"), settings), data


def fit(module, data, tmp_path, **options):
    trainer = Trainer(
        **{"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False},
        **{"enable_checkpointing": False, "use_distributed_sampler": False, "num_sanity_val_steps": 0},
        default_root_dir=tmp_path,
        **{"gradient_clip_val": 1e9} | options,
    )
    trainer.fit(module, data)
    return trainer


@pytest.mark.parametrize("name", tiny.MODELS)
def test_accumulated_batches_of_unequal_size_give_the_gradient_of_one_large_batch(name, tmp_path):
    norms = []
    for accumulate in (1, 3):
        module, data = parts(name, accumulate=accumulate)
        assert len(data.train_dataloader()) == accumulate
        fit(module, data, tmp_path, max_steps=1, accumulate_grad_batches=accumulate, limit_val_batches=0)
        norms.append(module.gradient_norm)
    torch.testing.assert_close(norms[0], norms[1], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", tiny.MODELS)
def test_extra_padding_changes_neither_the_loss_nor_its_gradient(name):
    module, data = parts(name)
    batch = next(iter(data.train_dataloader()))
    wide = type(batch)(
        **vars(batch)
        | {
            key: torch.nn.functional.pad(getattr(batch, key), (0, 7), value=PAD)
            for key in ("source", "target_input", "target_output")
        }
    )
    results = []
    for each in (batch, wide):
        module.zero_grad()
        loss, nll = module.loss(each, 0.1)
        loss.backward()
        results.append((loss.detach(), nll, module.model.target_embedding.weight.grad.clone()))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", tiny.MODELS)
def test_a_few_pairs_are_learnt_by_heart_and_validated_by_translating_them(name, tmp_path):
    module, data = parts(name, hidden=32, **({} if name == "transformer" else {"embedding": 32}))
    trainer = fit(module, data, tmp_path, max_epochs=60, check_val_every_n_epoch=60)
    assert module.translations == tiny.VIETNAMESE
    assert float(trainer.callback_metrics["validation/bleu"]) == pytest.approx(100.0)
    assert score(module.translations, tiny.VIETNAMESE).bleu == pytest.approx(100.0)


def test_reported_perplexity_is_of_the_plain_likelihood(tmp_path):
    module, data = parts("rnn")
    trainer = fit(module, data, tmp_path, max_steps=1)
    batch = next(iter(data.val_dataloader()))
    module.model.eval()
    with torch.no_grad():
        _, nll = module.loss(batch, 0.5)
    shown = float(trainer.callback_metrics["validation/perplexity"])
    assert shown == pytest.approx(float((nll / batch.tokens).exp()), rel=1e-4)


def test_warm_up_counts_optimiser_steps_not_batches(tmp_path):
    module, data = parts("rnn", accumulate=2)
    module.options = TRAINING | {"warmup": 4}
    trainer = fit(module, data, tmp_path, max_steps=2, accumulate_grad_batches=2, limit_val_batches=0)
    assert trainer.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.01 * 3 / 4)
