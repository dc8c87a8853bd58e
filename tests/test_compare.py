"""``scripts/compare.py`` from a command line to its report, with two tiny models on a corpus of a few pairs."""

import base64
import json
import re
import shutil
import subprocess
import sys

import pytest
import tiny
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from test_train import SMALL

from seq2seq import cli

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NASTY = "The <script>alert('x')</script> sleeps & <b>reads</b> on the chair and on \"old\" books."
REPORT = ("smallest=1", "edges=[1,4]", "examples=2", "stress=2", "device=cpu")


def call(folder, *arguments, monkeypatch):
    """What the script gives for a command line that is typed in ``folder``."""
    results = []
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["compare.py", *map(str, arguments)])
        function = tiny.load_script("compare").compare
        task = lambda settings, training: results.append(function(settings, training))  # noqa: E731
        cli.run("compare", task, "", multirun=False, other="train")
    return results[0]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two finished trainings and their report, with the arguments that made them."""
    folder = tmp_path_factory.mktemp("compare")
    corpus = tiny.write_corpus(folder / "corpus")
    for language, line in (("en", NASTY), ("vi", NASTY.replace("sleeps", "ngủ"))):
        with open(corpus / f"test.{language}", "a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    with pytest.MonkeyPatch.context() as patch:
        call(folder, *typed(folder), monkeypatch=patch)
    return folder


def typed(folder):
    return [
        *("models=[rnn,bahdanau]", "run_dir=runs", "jobs=2", *REPORT, *SMALL),
        *("trainer.max_epochs=12", "training.learning_rate=0.02", "data.batch_tokens=32", "training.patience=null"),
        *(f"data.dir={folder / 'corpus'}", f"data.cache_dir={folder / 'cache'}"),
    ]


@pytest.fixture
def again(home, monkeypatch):
    """Calls in a copy of what is finished."""

    def _again(*arguments):
        return call(home, *arguments, monkeypatch=monkeypatch)

    return _again


@pytest.fixture
def complaint(again, capfd):
    def _complaint(*arguments):
        with pytest.raises(SystemExit) as stop:
            again(*arguments)
        assert stop.value.code == 2
        (line,) = (line for line in capfd.readouterr().err.splitlines() if line.startswith("error: "))
        return line

    return _complaint


def result(home, folder="runs/comparison"):
    return json.loads((home / folder / "comparison.json").read_text("utf-8"))


def test_two_models_are_trained_and_compared(home):
    found = result(home)
    assert found["baseline"] == "rnn"
    assert [(row["name"], row["seeds"]) for row in found["systems"]] == [("rnn", [1]), ("bahdanau", [1])]
    assert found["fairness"]["different"] == []
    for row in found["systems"]:
        metrics = json.loads((home / "runs" / f"{row['name']}-1" / "metrics.json").read_text("utf-8"))
        assert row["bleu"]["mean"] == metrics["test"]["bleu"]
        assert row["parameters"] == metrics["model"]["parameters"]
        assert set(row["stress"]) == {"2", "3", "4"}
    assert found["systems"][0]["paired"] is None
    assert 0 < found["systems"][1]["paired"]["bootstrap"] <= 1
    for name in ("comparison.md", "comparison.csv", "report.html", "bleu_vs_length.png"):
        assert (home / "runs" / "comparison" / name).stat().st_size > 0
    assert "| bahdanau | 1 |" in (home / "runs" / "comparison" / "comparison.md").read_text("utf-8")


def test_the_board_has_the_curves_and_the_table(home):
    events = EventAccumulator(str(home / "runs" / "comparison" / "tensorboard"))
    events.Reload()
    assert {"bleu_vs_length", "bleu_joined"} == set(events.Tags()["images"])
    assert "comparison/text_summary" in events.Tags()["tensors"]


def test_a_second_call_trains_and_translates_nothing_and_says_the_same(home, again, monkeypatch):
    files = {name: (home / "runs/comparison" / name).read_bytes() for name in ("comparison.json", "comparison.csv")}
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setattr("seq2seq.translator.Translator.from_checkpoint", None)
    again(*typed(home))
    assert {name: (home / "runs/comparison" / name).read_bytes() for name in files} == files
    assert len(list((home / "runs/comparison/tensorboard").glob("events.*"))) == 1


def test_an_interrupted_training_is_gone_on_with(home, again):
    before = result(home)
    run, log = home / "runs" / "rnn-1", home / "runs" / "rnn-1.log"
    other = home / "runs" / "bahdanau-1" / "metrics.json"
    changed = other.stat().st_mtime_ns
    (run / "metrics.json").unlink()
    (run / "test.hyp").unlink()
    (run / "checkpoints" / "last.ckpt").rename(run / "checkpoints" / "previous.ckpt")
    log.unlink()
    after = again(*typed(home))
    assert "going on from" in log.read_text("utf-8")
    assert after["systems"][0]["bleu"] == before["systems"][0]["bleu"]
    assert other.stat().st_mtime_ns == changed  # that one was finished


def test_another_setting_is_refused_in_one_line(home, complaint):
    line = complaint(*typed(home), "model.hidden=8")
    assert line == (
        "error: runs/rnn-1 was trained with model.hidden=16, and 8 is asked for now: "
        "leave that out, or name another run_dir"
    )


def test_finished_runs_are_compared_by_their_folders(home, again, complaint):
    given = ("runs=[runs/bahdanau-1,runs/rnn-*]", *REPORT)
    found = again(*given, "output=by folder")
    assert [row["name"] for row in found["systems"]] == ["bahdanau", "rnn"]
    assert found["systems"][0]["bleu"] == result(home)["systems"][1]["bleu"]
    found = again(*given, "output=by folder", "baseline=rnn", "length=reference", "align=false", "stress=0")
    assert [row["name"] for row in found["systems"]] == ["rnn", "bahdanau"]
    assert found["length"]["of"] == "reference"
    assert "<img" in (home / "by folder" / "report.html").read_text("utf-8")
    assert "baseline=luong: is none of bahdanau, rnn" in complaint(*given, "baseline=luong")


def test_other_peoples_output_stands_beside_runs_and_alone(home, again, complaint):
    references = home / "corpus" / "test.vi"
    shutil.copy(references, home / "perfect.vi")
    shutil.copy(home / "runs" / "rnn-1" / "test.hyp", home / "copy.vi")
    found = again("runs=[runs/rnn-1]", "hypotheses=[perfect.vi,copy.vi]", "output=others", *REPORT)
    rows = {row["name"]: row for row in found["systems"]}
    assert rows["perfect"]["bleu"]["mean"] == pytest.approx(100)
    assert rows["copy"]["paired"]["identical"]
    assert rows["copy"]["paired"]["bootstrap"] == 1.0
    assert rows["perfect"]["parameters"] is None
    assert any("perfect is a file of translations" in line for line in found["fairness"]["different"])
    alone = again(
        *("hypotheses=[copy.vi,perfect.vi]", f"source={home / 'corpus' / 'test.en'}", f"reference={references}"),
        *("output=alone", *REPORT),
    )
    assert [row["bleu"]["mean"] for row in alone["systems"]] == [
        rows[one]["bleu"]["mean"] for one in ("copy", "perfect")
    ]
    assert "name source=FILE and reference=FILE" in complaint("hypotheses=[copy.vi]", *REPORT)


def test_runs_translate_other_files(home, again):
    pair = (f"source={home / 'corpus' / 'dev.en'}", f"reference={home / 'corpus' / 'dev.vi'}")
    found = again("runs=[runs/rnn-1,runs/bahdanau-1]", *pair, "output=files", *REPORT)
    assert found["test"]["sentences"] == 4
    assert found["systems"][0]["sentences_per_second"]["mean"] > 0


def test_a_moved_corpus_is_named_and_another_one_is_refused(home, complaint):
    (home / "elsewhere").mkdir(exist_ok=True)
    for file in (home / "corpus").iterdir():
        shutil.copy(file, home / "elsewhere" / file.name)
    (home / "elsewhere" / "test.en").write_text("1\n2\n3\n4\n5\n", "utf-8")
    line = complaint("runs=[runs/rnn-1]", f"data.dir={home / 'elsewhere'}", *REPORT)
    assert "was trained and tested on other text than what lies at data.* now" in line


def test_runs_of_other_test_sets_are_refused(home, again, complaint):
    if not (home / "other").exists():
        shutil.copytree(home / "runs" / "rnn-1", home / "other")
        shutil.copytree(home / "corpus", home / "corpus2")
        (home / "corpus2" / "test.en").write_text("1\n2\n3\n4\n5\n", "utf-8")
        config = (home / "other" / "config.yaml").read_text("utf-8")
        (home / "other" / "config.yaml").write_text(
            config.replace(str(home / "corpus"), str(home / "corpus2")), "utf-8"
        )
        from seq2seq.data.corpora import fingerprint, load_corpus

        metrics = json.loads((home / "other" / "metrics.json").read_text("utf-8"))
        metrics["data"]["fingerprint"] = fingerprint(load_corpus("files", dir=str(home / "corpus2")))
        (home / "other" / "metrics.json").write_text(json.dumps(metrics), "utf-8")
    assert "tested on different sentences" in complaint("runs=[runs/rnn-1,other]", *REPORT)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["models=[rnn]", "runs=[runs/rnn-1]"], "models= are trained and runs= are there already"),
        (["model=rnn"], "model=rnn: is not for all trainings; use models=[…]"),
        (["models=rnn"], "models=rnn: a list is expected here, such as ['rnn']"),
        (["models=[foo]"], "model=foo: there is no such choice"),
        (["modles=[rnn]"], "modles: no such setting; did you mean models?"),
        (
            ["models=[rnn]", "trainer.max_epoch=3"],
            "trainer.max_epoch: no such setting; did you mean trainer.max_epochs?",
        ),
        (["seeds=[one]"], "seeds=['one']: a list"),
        (["runs=[]"], "runs=[]: the list is empty"),
        (["layer=lst"], "layer=lst: give a number from 0 on, or mean"),
        (["head=min"], "head=min: give a number from 0 on, or mean or max"),
        (["smallest=0"], "smallest=0: give a whole number from 1 on"),
        (["stress=-1"], "stress=-1: give a whole number from 0 on"),
        (["length=both"], "length=both: choose source or reference"),
        (["quantiles=0"], "0 quantile buckets"),
        (["edges=[10,5]"], "length buckets must start at increasing word counts"),
        (["device=abacus"], "device=abacus"),
        (["baseline=luong", "models=[rnn]"], "baseline=luong: is none of rnn"),
        (["gold=nowhere"], "gold=nowhere: there is no such file"),
        (["source=nowhere", "reference=nowhere"], "source=nowhere: cannot be read"),
        (["runs=[runs/rnn-1]", "trainer.max_epochs=3"], "trainer.max_epochs=3: runs= are trained already"),
        (["runs=[runs/rnn-1]", "layer=7"], None),
        (["runs=[runs/bahdanau-1]", "layer=7"], "layer=7: this model has layer 0 alone"),
        (["runs=[runs/rnn-1]", "source=a"], "source=FILE and reference=FILE go together"),
        (["-m", "models=[rnn]"], "-m runs a training several times"),
    ],
)
def test_a_mistake_is_one_line(complaint, again, arguments, message):
    if message is None:  # no layers: nothing to be wrong about
        again(*arguments, *REPORT, "output=nothing")
    else:
        assert message in complaint(*arguments, *(word for word in REPORT if word.split("=")[0] not in arguments[0]))


def test_the_report_is_one_file_that_fetches_nothing(home):
    text = (home / "runs" / "comparison" / "report.html").read_text("utf-8")
    addresses = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"'\s>)]*)""", text)
    assert addresses
    assert {address.partition(":")[0] for address in addresses} == {"data"}
    assert "http://" not in text
    assert "https://" not in text
    assert "<script" not in text
    assert "&lt;script&gt;alert(&#x27;x&#x27;)" in text
    assert text.index("Content-Security-Policy") < text.index("<style")
    assert all(re.search(r'alt="[^"]+"', image) for image in re.findall(r"<img[^>]*>", text))
    assert "rnn has no attention" in text
    assert "bahdanau · one layer · one head" not in text  # the picture's own title; its alternative text is
    assert "Attention of bahdanau over" in text


def test_pictures_in_the_report_are_pictures(home):
    text = (home / "runs" / "comparison" / "report.html").read_text("utf-8")
    found = re.findall(r'src="data:image/(png|svg\+xml);base64,([^"]*)"', text)
    assert [kind for kind, _ in found].count("svg+xml") == 2  # by length, and joined
    assert [kind for kind, _ in found].count("png") == 2  # two sentences under one model with attention
    for kind, content in found:
        start = base64.b64decode(content)[:8]
        assert start == b"\x89PNG\r\n\x1a\n" if kind == "png" else start.startswith(b"<?xml")


def browse(page, tmp_path):
    """The page as the browser has it in the end, and what it had to say."""
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
    more = ("--enable-logging=stderr", "--v=0", f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000")
    command = [CHROMIUM, *flags, *more, "--dump-dom", page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "<body" not in done.stdout:
        pytest.skip(f"the browser does not start here: {done.stderr[-200:]}")
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_opens_the_report_without_a_complaint_and_shows_all_pictures(home, tmp_path):
    page = home / "runs" / "comparison" / "report.html"
    content, complaints = browse(page, tmp_path)
    assert complaints == []
    assert "Sentences that differ most" in content
    # The same page with a script of ours, and no policy to forbid it, to ask the browser for the pictures' sizes.
    widths = "[...document.images].map(i => `width:${i.naturalWidth};`)"
    script = f"<script>onload = () => document.body.append({widths})</script>"
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8"))
    copy = tmp_path / "copy.html"
    copy.write_text(text.replace("</body>", f"{script}</body>"), "utf-8")
    content, _ = browse(copy, tmp_path)
    widths = [int(width) for width in re.findall(r"width:(\d+);(?=[,<w\s])", content)]
    assert len(widths) == text.count("<img ") == 4
    assert min(widths) > 0


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_would_complain_of_a_script_or_a_request(home, tmp_path):
    text = (home / "runs" / "comparison" / "report.html").read_text("utf-8")
    bad = "<script>document.title = 1</script><img src='https://example.org/x.png' alt='x'>"
    (tmp_path / "bad.html").write_text(text.replace("</body>", f"{bad}</body>"), "utf-8")
    _, complaints = browse(tmp_path / "bad.html", tmp_path)
    assert len([line for line in complaints if "Content Security Policy" in line]) == 2
