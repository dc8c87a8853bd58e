"""The table's cells against ones written by hand."""

import csv
import io

from rich.console import Console

from seq2seq.compare.table import as_csv, markdown, printed

NOTHING = dict.fromkeys(
    ("parameters", "epochs", "train_seconds", "tokens_per_second", "sentences_per_second", "bleu_long", "aer", "paired")
)


def mean(value, spread=None):
    return {"mean": value, "sd": spread, "values": []}


ROWS = [
    {
        **{"name": "rnn", "seeds": [1, 2], "parameters": 1409872, "epochs": mean(12.0, 0.0)},
        **{"train_seconds": mean(222.0, 3.0), "tokens_per_second": mean(47434.2, 9.0), "bleu": mean(14.84, 0.31)},
        **{"chrf": mean(31.96, 0.58), "ter": mean(79.0, 0.1), "length_ratio": mean(0.861, 0.02)},
        **{"sentences_per_second": mean(109.4, 1.0), "bleu_long": None, "aer": None, "paired": None},
    },
    {
        **{"name": "luong", "seeds": [1, 2], "parameters": 1540944, "epochs": mean(12.0, 0.0)},
        **{"train_seconds": mean(42.0, 3.0), "tokens_per_second": mean(9.6, 9.0), "bleu": mean(95.06, 0.4)},
        **{"chrf": mean(96.3, 0.3), "ter": mean(3.7, 0.4), "length_ratio": mean(0.99, 0.0)},
        **{"sentences_per_second": mean(61.5, 1.0), "bleu_long": mean(94.1, 0.5)},
        "aer": {"generated": mean(0.1881, 0.01), "shifted": mean(0.5993, 0.02)},
        "paired": {"bootstrap": 0.000999, "randomisation": 0.0611, "identical": False},
    },
    {
        **NOTHING,
        **{"name": "other|<x>", "seeds": [], "bleu": mean(14.8), "chrf": mean(32.0), "ter": None},
        "length_ratio": mean(1.0),
        "paired": {"bootstrap": 1.0, "randomisation": 1.0, "identical": True},
    },
]


def test_markdown_has_a_row_for_each_system():
    lines = markdown(ROWS).splitlines()
    assert lines[0] == (
        "| model | seeds | parameters | epochs | training | tokens/s | BLEU | p (bootstrap) | p (randomisation) | chrF "
        "| TER | length ratio | BLEU 40+ words | AER generated | AER shifted | sentences/s |"
    )
    assert lines[2:] == [
        "| rnn | 1, 2 | 1,409,872 | 12 | 3.7 min | 47,434 | 14.8 ± 0.3 | – | – | 32.0 ± 0.6 | 79.0 ± 0.1 "
        "| 0.86 ± 0.02 | – | – | – | 109 |",
        "| luong | 1, 2 | 1,540,944 | 12 | 42 s | 10 | 95.1 ± 0.4 | 0.0010* | 0.0611 | 96.3 ± 0.3 | 3.7 ± 0.4 "
        "| 0.99 ± 0.00 | 94.1 ± 0.5 | 0.188 ± 0.010 | 0.599 ± 0.020 | 62 |",
        "| other\\|<x> | – | – | – | – | – | 14.8 | 1 (same matches) | 1 (same matches) | 32.0 | – | 1.00 "
        "| – | – | – | – |",
    ]


def test_a_column_that_nobody_has_is_left_out():
    assert "AER" not in markdown([ROWS[0]])
    assert "seeds" not in markdown([ROWS[2]])


def test_csv_has_plain_numbers():
    rows = list(csv.DictReader(io.StringIO(as_csv(ROWS))))
    assert (rows[1]["name"], rows[1]["bleu"], rows[1]["bleu_sd"]) == ("luong", "95.06", "0.4")
    assert (rows[1]["p_bootstrap"], rows[1]["aer_generated"], rows[1]["train_seconds"]) == (
        "0.000999",
        "0.1881",
        "42.0",
    )
    assert (rows[2]["parameters"], rows[2]["bleu_sd"], rows[2]["seeds"]) == ("", "", "")
    assert rows[0]["seeds"] == "1, 2"


def test_two_tables_fit_a_terminal(capsys):
    console = Console(width=140)
    for table in printed(ROWS):
        console.print(table)
    output = capsys.readouterr().out
    assert all(word in output for word in ("Scores", "Cost", "95.1 ± 0.4", "other|<x>", "1,540,944"))
    assert "…" not in output
