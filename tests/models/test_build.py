"""Models by name, their sizes, and dropout."""

import math

import pytest
import torch
from zoo import SETTINGS, build

from seq2seq.errors import UserError
from seq2seq.models import MODELS, build_model, count_parameters
from seq2seq.models.dropout import Dropout, cpu_dropout, random_bytes


def test_the_four_models_are_there():
    assert list(MODELS) == ["rnn", "bahdanau", "luong", "transformer"]


def test_unknown_names_and_keys_are_refused_in_one_line():
    with pytest.raises(UserError, match="rnn, bahdanau, luong, transformer"):
        build_model({"name": "os.system"}, 10, 10, True)
    with pytest.raises(UserError, match="scoer"):
        build_model(SETTINGS["luong"] | {"scoer": "dot"}, 10, 10, True)


def test_a_variant_has_a_name_of_its_own_and_the_class_of_its_family():
    model = build_model(SETTINGS["transformer"] | {"name": "transformer_x2"}, 10, 10, True)
    assert isinstance(model, MODELS["transformer"])
    for name in ("transformer_../x", "transformer/x", "transformer_", "_transformer", "Transformer_x", "os_x", None, 3):
        with pytest.raises(UserError, match="is unknown: choose one of rnn, bahdanau, luong, transformer"):
            build_model(SETTINGS["transformer"] | {"name": name}, 10, 10, True)


@pytest.mark.parametrize("name", SETTINGS)
def test_tied_matrices_count_once(name):
    tied, free = build(name), build(name, tied=False)
    size = tied.target_embedding.weight.numel()
    assert count_parameters(free) - count_parameters(tied) == 2 * size  # source, target and output were one
    assert tied.output.weight is tied.target_embedding.weight is tied.source_embedding.weight


def test_separate_vocabularies_keep_separate_embeddings():
    model = build_model(SETTINGS["bahdanau"], 30, 40, False)
    assert model.source_embedding.weight.shape[0] == 30
    assert model.output.weight is model.target_embedding.weight
    assert model.project(torch.zeros(2, 12)).shape == (2, 40)


def test_cpu_dropout_drops_at_its_rate_and_keeps_the_mean():
    torch.manual_seed(0)
    dropped = torch.stack([cpu_dropout(torch.ones(100, 101), 0.3) for _ in range(100)])
    zero = (dropped == 0).float().mean().item()
    assert zero == pytest.approx(0.3, abs=2e-3)  # four deviations
    assert dropped.mean().item() == pytest.approx(1.0, abs=3e-3)
    assert dropped.unique().numel() == 2
    rows = (dropped.view(-1, 1010) == 0).float().mean(1)
    assert rows.min() > 0.22  # no stretch without drops: neighbours are independent


@pytest.mark.parametrize("rate", [2.0**-16, 0.1, 0.5, 0.999, 1 - 2.0**-20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cpu_dropout_keeps_what_a_plain_comparison_keeps(rate, dtype):
    values = torch.full((100, 1003), 2.0, dtype=dtype)
    torch.manual_seed(0)
    ours = cpu_dropout(values, rate)
    torch.manual_seed(0)
    drop = math.floor(rate * 256 + torch.rand(()).item())
    kept = random_bytes(values.numel()).view(values.shape).int() + 128 >= drop
    scale = torch.tensor(1 / (1 - rate), dtype=dtype)
    assert torch.equal(ours, torch.where(kept, values * scale, 0))


@pytest.mark.parametrize("rate", [2.0**-12, 0.1, 1 - 2.0**-10])
def test_cpu_dropout_has_its_rate_on_average_over_masks(rate):
    torch.manual_seed(0)
    dropped = torch.stack([cpu_dropout(torch.ones(64), rate) == 0 for _ in range(20_000)]).double().mean(1)
    assert dropped.mean().item() == pytest.approx(rate, abs=4 * (dropped.std() / 20_000**0.5).item())
    assert 0 < dropped.mean() < 1


def test_random_bytes_are_uniform_and_new_every_time():
    torch.manual_seed(0)
    pieces = torch.stack([random_bytes(1 << 18) for _ in range(2)]).double()
    assert (pieces.flatten() + 128).long().bincount(minlength=256) == pytest.approx(2048, abs=5 * 2048**0.5)
    assert abs(torch.corrcoef(pieces)[0, 1]) < 0.01  # five deviations
    assert abs(torch.corrcoef(pieces.view(-1, 8).T).fill_diagonal_(0)).max() < 0.02  # pieces of one number
    assert len(random_bytes(5)) == 5


def test_dropout_follows_the_seed_and_is_off_in_evaluation():
    layer, values = Dropout(0.5), torch.randn(7, 3)
    torch.manual_seed(3)
    first = layer(values)
    torch.manual_seed(3)
    assert torch.equal(layer(values), first)
    assert not torch.equal(layer(values), first)
    assert torch.equal(layer.eval()(values), values)


def test_dropouts_gradient_is_its_mask():
    torch.manual_seed(0)
    values = torch.randn(50, requires_grad=True)
    output = Dropout(0.25)(values)
    output.sum().backward()
    torch.testing.assert_close(values.grad, torch.where(output == 0, 0.0, output / values).detach())
