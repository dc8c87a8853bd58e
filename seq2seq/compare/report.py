"""The report of a comparison: one HTML file, the table as Markdown and CSV, the numbers as JSON, and TensorBoard."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq.compare.comparison import MOST_SHOWN, Comparison
from seq2seq.compare.table import NONE, as_csv, cells, markdown, used
from seq2seq.evaluation import page
from seq2seq.evaluation.figures import figure_to_png, figure_to_svg
from seq2seq.evaluation.report import write_json


def write_report(comparison: Comparison, output: Path, commands: Sequence[str]) -> None:
    """Write ``comparison.{json,md,csv}``, ``report.html``, its curves as PNG and TensorBoard's events into ``output``.

    commands: those that make the report again, for its end.
    """
    rows = comparison.result["systems"]
    notes = "".join(f"- {line}\n" for line in [*rules(comparison.result), *_stress_lines(comparison.result)])
    warnings = "".join(f"- {line}\n" for line in comparison.result["fairness"]["different"])
    text = f"{markdown(rows)}\n{notes}{warnings}"
    output.mkdir(parents=True, exist_ok=True)
    write_json(output / "comparison.json", comparison.result)
    for name, content in (("comparison.md", text), ("comparison.csv", as_csv(rows))):
        (output / name).write_text(content, encoding="utf-8", newline="\n")
    (output / "report.html").write_text(html(comparison, commands), encoding="utf-8", newline="\n")
    for name, figure in (("bleu_vs_length", comparison.length), ("bleu_joined", comparison.stress)):
        if figure is not None:
            figure_to_png(figure, output / f"{name}.png")
    _write_board(comparison, output, text)


def _write_board(comparison: Comparison, output: Path, text: str) -> None:
    """The curves and the table, in a folder of their own, in place of what was there."""
    from torch.utils.tensorboard import SummaryWriter

    folder = output / "tensorboard"
    for old in folder.glob("events.out.tfevents.*"):
        old.unlink()
    with SummaryWriter(str(folder)) as board:
        board.add_figure("bleu_vs_length", comparison.length, close=False)
        if comparison.stress is not None:
            board.add_figure("bleu_joined", comparison.stress, close=False)
        board.add_text("comparison", text)


def rules(result: dict[str, Any]) -> list[str]:
    """What the numbers are, in words."""
    test, settings = result["test"], result["settings"]
    lines = [f"{test['sentences']:,} sentences ({test['name']})."]
    rows = result["systems"]
    if any(len(row["runs"]) > 1 for row in rows):
        lines.append("Scores are means over seeds ± the standard deviation of a sample (n − 1).")
    tested = next((row["paired"] for row in rows if row["paired"]), None)
    if tested:
        who = "the median run (by BLEU) of each system" if any(len(row["runs"]) > 1 for row in rows) else "the outputs"
        lines.append(
            f"p: of BLEU against {result['baseline']}, two-sided, by sacreBLEU's paired bootstrap "
            f"({tested['trials'][0]:,} resamples) and paired approximate randomisation "
            f"({tested['trials'][1]:,} trials), on {who}; "
            "below 0.05 with a star; not corrected for the number of comparisons. They say whether the difference "
            "would hold on other sentences of this kind, not whether it would with other seeds."
        )
        if any(row["paired"] and row["paired"]["pairs"] > 1 for row in rows):
            pairs = ", ".join(
                f"{row['name']} {row['paired']['higher']} of {row['paired']['pairs']}" for row in rows if row["paired"]
            )
            lines.append(f"Of all pairs of runs, those in which it has more BLEU than {result['baseline']}: {pairs}.")
    lines.append(
        f"BLEU 40+ words: of all sentences with a {result['length']['of']} of {result['length']['long']} words and "
        f"more; {NONE} where they are fewer than {settings['smallest']}."
    )
    if any(row["parameters"] for row in rows):
        lines.append(
            "Training time, tokens/s and sentences/s are as each run measured them, beside whatever else the machine "
            "did then."
        )
    if any(row["aer"] for row in rows):
        lines.append(
            "AER: alignment error rate (lower is better) of links from the attention over the references, "
            f"layer {settings['layer']}, head {settings['head']}; a row of the weights is taken for the word that is "
            "generated, or for the word just read (shifted); of a model without attention there is none. The diagonal, "
            f"which knows nothing, has {test['diagonal_aer']:.3f}."
        )
    return lines


def _stress_lines(result: dict[str, Any]) -> list[str]:
    sets, longest = result["stress"]["sets"], result["stress"]["longest_in_training"]
    if not sets or not any(row["stress"] for row in result["systems"]):
        return []
    lines = []
    for together, one in sets.items():
        longer = "" if longest is None else f"; {one['longer']} are longer than all of the training text"
        words = f"{one['mean_words']:.0f} words on average and at most {one['most_words']}"
        lines.append(f"{together} joined: {one['groups']} groups, {words}{longer}")
    known = [] if longest is None else [f"The longest source in the training text has {longest} words."]
    return [f"Stress test, {line}." for line in lines] + known


def html(comparison: Comparison, commands: Sequence[str]) -> str:
    """The page."""
    result = comparison.result
    rows = result["systems"]
    columns = used(rows)
    parts = [
        page.bullets(result["fairness"]["different"], "warn"),
        page.heading("Table"),
        page.table([column.heading for column in columns], [cells(row, columns) for row in rows]),
        page.bullets(rules(result)),
        *_cut_note(comparison),
        page.heading("BLEU against length"),
        page.figure(
            page.svg(figure_to_svg(comparison.length)),
            f"Curves of BLEU against {result['length']['of']} length for {', '.join(comparison.shown)}",
            f"Bars: {result['length']['bars']}.",
        ),
        _length_table(result),
        *_stress_part(comparison),
        page.heading("Was it fair?"),
        page.paragraph("Equal for all:"),
        page.pairs(result["fairness"]["equal"].items()),
        page.bullets(result["fairness"]["different"], "warn") or page.paragraph("Nothing else differs."),
        *_pictures_part(comparison),
        *_sentences_part(comparison),
        page.heading("How this was made"),
        page.code("\n".join(commands)),
        page.pairs((key, "null" if value is None else str(value)) for key, value in result["settings"].items()),
    ]
    return page.page(f"{len(rows)} systems on {result['test']['name']}", parts)


def _cut_note(comparison: Comparison) -> list[str]:
    count = len(comparison.result["systems"])
    if count <= MOST_SHOWN:
        return []
    text = f"Figures, heatmaps and sentences are of the first {MOST_SHOWN} of {count} systems, the baseline among them."
    return [page.paragraph(text)]


def _length_table(result: dict[str, Any]) -> str:
    buckets = result["systems"][0]["bleu_by_length"]
    headings = ["BLEU", *(f"{_range(bucket)}, n\u00a0=\u00a0{bucket['sentences']}" for bucket in buckets)]
    rows = [[row["name"], *(f"{one['bleu']:.1f}" for one in row["bleu_by_length"])] for row in result["systems"]]
    note = ""
    if result["length"]["pooled"]:
        few = result["settings"]["smallest"]
        note = page.paragraph(f"Buckets of fewer than {few} sentences are pooled with a neighbour.")
    return page.table(headings, rows) + note


def _range(bucket: dict[str, Any]) -> str:
    if bucket["to"] is None:
        return f"{bucket['from']}+ words"
    return f"{bucket['from']}–{bucket['to']} words" if bucket["to"] > bucket["from"] else f"{bucket['from']} words"


def _stress_part(comparison: Comparison) -> list[str]:
    if comparison.stress is None:
        return []
    result = comparison.result
    rows = []
    for row in result["systems"]:
        scores = (row["stress"] or {}).values()
        each = [f"{one['whole']['mean']:.1f} / {one['apart']['mean']:.1f}" for one in scores]
        rows.append([row["name"], f"{row['bleu']['mean']:.1f}", *(each or [NONE] * len(result["stress"]["sets"]))])
    headings = ["BLEU as one / apart", "the test", *(f"{together} joined" for together in result["stress"]["sets"])]
    return [
        page.heading("Sentences joined"),
        page.paragraph(
            "Consecutive sentences of the test set are joined and translated as one; beside it the same sentences "
            "translated apart and joined afterwards. What lies between the two is the cost of length, and of several "
            "sentences in one line: a model that has seldom seen these may end after the first."
        ),
        page.bullets(_stress_lines(result)),
        page.figure(
            page.svg(figure_to_svg(comparison.stress)),
            f"BLEU of joined sentences, as one and apart, for {', '.join(comparison.shown)}",
        ),
        page.table(headings, rows),
    ]


def _pictures_part(comparison: Comparison) -> list[str]:
    if not comparison.pictures:
        return []
    parts = [
        page.heading("Where they look"),
        page.paragraph(
            "The attention while each model is made to write the same translation, the reference, word by word. "
            "A row is the step that generates its word; titles say which layer and head."
        ),
    ]
    for one in comparison.pictures:
        shown, without = [], []
        for name, png in one["pictures"]:
            if png is None:
                without.append(page.paragraph(f"{name} has no attention: there is nothing to draw.", "none"))
            else:
                shown.append(page.figure(f"data:image/png;base64,{png}", f"Attention of {name} over “{one['source']}”"))
        parts += [page.heading(f"Sentence {one['sentence']}: {one['source']}", 3), *without, page.row(shown)]
    return parts


def _sentences_part(comparison: Comparison) -> list[str]:
    if not any(found["gained"] or found["lost"] for found in comparison.sentences.values()):
        return []
    baseline = comparison.result["baseline"]
    parts = [
        page.heading("Sentences that differ most"),
        page.paragraph(f"By sentence BLEU against {baseline}, in the median run of each system."),
    ]
    for number, (name, found) in enumerate(comparison.sentences.items()):
        inside = []
        for kind, title in (("gained", "above"), ("lost", "below")):
            if found[kind]:
                inside.append(page.heading(f"{name} furthest {title} {baseline}", 3))
                inside += [_sentence(one, name, baseline) for one in found[kind]]
        if inside:
            parts.append(page.details(f"{name} against {baseline}", "".join(inside), is_open=number == 0))
    return parts


def _sentence(one: dict[str, Any], name: str, baseline: str) -> str:
    first, second = one["bleu"]
    rows = [
        [f"source ({one['words']} words)", one["source"]],
        ["reference", one["reference"]],
        [f"{baseline} ({first:.0f})", one["baseline"]],
        [f"{name} ({second:.0f})", one["system"]],
    ]
    return page.table([f"sentence {one['sentence']}", "text"], rows, "text")
