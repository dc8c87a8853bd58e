"""The scripts that draw what the scale and the causal mask do."""

import math

import pytest
import tiny
import torch

from seq2seq.errors import UserError

QUICK = ["positions=16", "sentences=8"]


@pytest.fixture(params=["attention_scaling", "causal_mask"])
def script(request):
    return tiny.load_script(request.param)


@pytest.fixture(scope="module")
def scaling():
    return tiny.load_script("attention_scaling")


def test_the_gradient_is_the_size_of_autograds_jacobian(scaling):
    energies = torch.randn(7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    jacobian = torch.autograd.functional.jacobian(lambda row: row.softmax(-1), energies)
    assert scaling.jacobian_norm(energies.softmax(-1)).item() == pytest.approx(jacobian.norm().item())
    assert scaling.jacobian_norm(torch.tensor([0.0, 1.0, 0.0])) == 0


def test_with_the_scale_size_does_not_matter_and_without_it_softmax_saturates(scaling, tmp_path):
    options = {"positions": 16, "sentences": 8, "seed": 0}
    found = {(row["d_k"], row["scaled"]): row for row in scaling.rows(options)}
    for size in scaling.SIZES:
        scaled, plain = found[size, True], found[size, False]
        assert scaled["deviation"] == pytest.approx(1, abs=0.1)
        assert plain["deviation"] == pytest.approx(math.sqrt(size) * scaled["deviation"])
        assert scaled["entropy"] == pytest.approx(found[4, True]["entropy"], abs=0.1)
        assert scaled["median"] == pytest.approx(found[4, True]["median"], abs=0.03)
    entropies = [found[size, False]["entropy"] for size in scaling.SIZES]
    assert entropies == sorted(entropies, reverse=True)
    assert found[1024, False]["median"] < 0.05 * found[1024, True]["median"]
    assert found[1024, False]["largest"] > 0.9
    text = scaling.main([*QUICK, f"output={tmp_path / 'x.png'}"])
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert text.count("| q·k |") == text.count("| q·k / √d_k |") == len(scaling.SIZES)
    assert text == scaling.main(QUICK) != scaling.main([*QUICK, "seed=1"])


def test_the_mask_is_a_lower_triangle_and_changes_only_how_mass_is_shared(tmp_path):
    script = tiny.load_script("causal_mask")
    free, masked = script.main(["sentence=a b c d", f"output={tmp_path / 'x.png'}", "size=8"])
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert (free > 0).all()
    assert torch.equal(masked > 0, torch.ones(4, 4).tril().bool())
    torch.testing.assert_close(masked, free.tril() / free.tril().sum(-1, keepdim=True))


@pytest.mark.parametrize("word", ["seed=x", "n=3", "output=no/where/x.png", "seed", "seed=-1"])
def test_a_mistake_is_one_line(script, word):
    with pytest.raises(UserError) as caught:
        script.main([word])
    assert word.partition("=")[0] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("words", [[], ["output=x.png", "sentence= "], ["output=x.png", "size=0"]])
def test_a_picture_needs_a_place_and_words(words):
    with pytest.raises(UserError):
        tiny.load_script("causal_mask").main(words)
