"""Runs in their folders, and the systems that they make up."""

import json

import pytest
import tiny
from written import run, write

from seq2seq.compare.runs import Run, Store, read_hypotheses, read_runs, systems_of
from seq2seq.errors import UserError


def test_a_result_is_computed_once_for_what_it_depends_on(tmp_path):
    made = []

    def make():
        made.append(1)
        return len(made)

    for _ in range(2):
        assert Store(tmp_path / "s").get("kind", {"a": 1}, make) == 1
    assert Store(tmp_path / "s").get("kind", {"a": 2}, make) == 2
    assert Store(tmp_path / "s").get("other", {"a": 1}, make) == 3


def test_a_damaged_result_and_a_folder_that_cannot_be_written_are_only_slower(tmp_path, caplog):
    store = Store(tmp_path)
    assert store.get("kind", 1, lambda: None) is None
    (path,) = tmp_path.iterdir()
    path.write_text('{"resu')
    assert store.get("kind", 1, lambda: 5) == 5
    assert json.loads(path.read_text()) == {"result": 5}
    assert Store(path / "file" / "is_no_folder").get("kind", 1, lambda: 6) == 6
    assert "computed again" in caplog.text


def test_a_changed_checkpoint_has_no_old_results(tmp_path):
    folder = tiny.write_run(tmp_path / "run", "rnn")
    one = run(folder)
    first = one.translate(tiny.ENGLISH)
    assert one.translate(tiny.ENGLISH) == first
    assert first[0] == [text.text for text in one.translator.translate(tiny.ENGLISH, **one.settings["decoding"])]
    other = Run(one.name, folder, [], one.store, one.settings, one.metrics)
    other.stored("kind", 1, lambda: "old")
    (folder / "checkpoints" / "best.ckpt").write_bytes(b"something else")
    again = Run(one.name, folder, [], one.store, one.settings, one.metrics)
    assert again.stored("kind", 1, lambda: "new") == "new"


def test_runs_are_read_from_folders_and_by_pattern(tmp_path, caplog):
    paths = [write(run(tmp_path / f"rnn-{seed}", seed=seed)) for seed in (1, 2)]
    (tmp_path / "rnn-3" / "checkpoints").mkdir(parents=True)
    (tmp_path / "comparison").mkdir()
    found = read_runs([str(tmp_path / "*")], "cpu")
    assert [one.path for one in found] == paths
    assert (found[0].name, found[0].hypotheses, found[0].trained) == ("rnn", tiny.VIETNAMESE, True)
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'rnn-3'}: left out, it has no metrics.json and is not finished"
    ]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["rnn-1", "rnn-1"], "named twice"),
        (["rnn-1", "rnn-*"], "named twice"),
        (["x*"], r"runs=.*x\*: there is no finished run"),
        (["x"], "x: is no finished run .*metrics.json: No such file"),
    ],
)
def test_a_folder_without_a_finished_run_is_one_line(tmp_path, paths, message):
    write(run(tmp_path / "rnn-1"))
    with pytest.raises(UserError, match=message) as caught:
        read_runs([str(tmp_path / path) for path in paths], "cpu")
    assert "\n" not in str(caught.value)


def test_runs_that_differ_in_their_seed_alone_are_one_system(tmp_path):
    runs = [run(tmp_path / str(seed), "luong", seed) for seed in (3, 1, 2)] + [run(tmp_path / "x", "rnn")]
    systems = systems_of(runs)
    assert [(system.name, system.seeds) for system in systems] == [("luong", [1, 2, 3]), ("rnn", [1])]


def test_runs_of_one_model_with_other_settings_are_systems_of_their_own(tmp_path):
    runs = [run(tmp_path / "a" / "small"), run(tmp_path / "a" / "large", data={"batch_tokens": 2048})]
    assert [system.name for system in systems_of(runs)] == ["rnn (small)", "rnn (large)"]
    runs[1].path = tmp_path / "b" / "small"
    assert [system.name for system in systems_of(runs)] == [f"rnn ({one.path})" for one in runs]


def test_files_of_translations_are_systems_by_their_names(tmp_path):
    (tmp_path / "other.vi").write_text("a\u0302 b \n\nc\n", "utf-8")
    (one,) = read_hypotheses([str(tmp_path / "other.vi")], tmp_path)
    assert (one.name, one.hypotheses, one.trained) == ("other", ["â b", "", "c"], False)
    assert systems_of([one])[0].seeds == []
    with pytest.raises(UserError, match=r"hypotheses=.*nowhere"):
        read_hypotheses([str(tmp_path / "nowhere")], tmp_path)


def test_a_seed_counts_once(tmp_path):
    same = [run(tmp_path / "a", seed=1), run(tmp_path / "b", seed=1), run(tmp_path / "c", seed=2)]
    with pytest.raises(UserError, match=r"a, .*b, .*c: these runs of rnn have a seed in common"):
        systems_of(same)
    assert systems_of(same[1:])[0].seeds == [1, 2]


def test_a_run_by_two_paths_is_one_run(tmp_path):
    folder = write(run(tmp_path / "a"))
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(UserError, match="named twice"):
        read_runs([str(folder), str(tmp_path / "link")], "cpu")
