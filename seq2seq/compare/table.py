"""The table of a comparison: Markdown and HTML cells for people, CSV of plain numbers, two narrower ones to print."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

NONE = "–"
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Column:
    """heading: for people. key: of the CSV. value: of one system's results, a number, a text or None.

    show: a value as text; or the digits of a mean and its deviation, which ``value`` then gives as ``mean_of`` does.
    group: ``scores`` or ``cost``.
    """

    heading: str
    key: str
    value: Callable[[dict[str, Any]], Any]
    show: Callable[[Any], str] | int = str
    group: str = "scores"

    def text(self, row: dict[str, Any]) -> str:
        """The cell of one system."""
        value = self.value(row)
        if value is None:
            return NONE
        return _both(value, self.show) if isinstance(self.show, int) else self.show(value)


def _mean(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda row: row[key] and row[key]["mean"]


def _both(value: dict[str, Any], digits: int) -> str:
    """``95.1 ± 0.4``, of a mean and its standard deviation, which one run does not have."""
    spread = "" if value["sd"] is None else f" ± {value['sd']:.{digits}f}"
    return f"{value['mean']:.{digits}f}{spread}"


def _p(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda row: row["paired"] and row["paired"][key]


def show_p(p: float) -> str:
    """Four digits, with a star where it is below 5 %."""
    return f"{p:.4f}{'*' if p < SIGNIFICANT else ''}"


def _aer(convention: str) -> Callable[[dict[str, Any]], Any]:
    return lambda row: row["aer"] and row["aer"][convention]


def minutes(seconds: float) -> str:
    """``3.7 min`` or ``45 s``."""
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.0f} s"


COLUMNS = (
    Column("model", "name", lambda row: row["name"]),
    Column("seeds", "seeds", lambda row: ", ".join(map(str, row["seeds"])) or None),
    Column("parameters", "parameters", lambda row: row["parameters"], "{:,}".format, "cost"),
    Column("epochs", "epochs", _mean("epochs"), "{:g}".format, "cost"),
    Column("training", "train_seconds", _mean("train_seconds"), minutes, "cost"),
    Column("tokens/s", "tokens_per_second", _mean("tokens_per_second"), "{:,.0f}".format, "cost"),
    Column("BLEU", "bleu", lambda row: row["bleu"], 1),
    Column("p (bootstrap)", "p_bootstrap", _p("bootstrap"), show_p),
    Column("p (randomisation)", "p_randomisation", _p("randomisation"), show_p),
    Column("chrF", "chrf", lambda row: row["chrf"], 1),
    Column("TER", "ter", lambda row: row["ter"], 1),
    Column("length ratio", "length_ratio", lambda row: row["length_ratio"], 2),
    Column("BLEU 40+ words", "bleu_40", lambda row: row["bleu_long"], 1),
    Column("AER generated", "aer_generated", _aer("generated"), 3),
    Column("AER shifted", "aer_shifted", _aer("shifted"), 3),
    Column("sentences/s", "sentences_per_second", _mean("sentences_per_second"), "{:,.0f}".format, "cost"),
)


def cells(row: dict[str, Any], columns: Sequence[Column] = COLUMNS) -> list[str]:
    """One system's row as text."""
    shown = [column.text(row) for column in columns]
    if row["paired"] and row["paired"]["identical"]:
        keys = [column.key for column in columns]
        shown = ["1 (same matches)" if key.startswith("p_") else cell for key, cell in zip(keys, shown, strict=True)]
    return shown


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """All columns, but those that are empty for every system."""
    columns = used(rows)
    numbers = [column.key not in ("name", "seeds") for column in columns]
    lines = [
        "| " + " | ".join(column.heading for column in columns) + " |",
        "|" + "|".join("---:" if number else "---" for number in numbers) + "|",
    ]
    for row in rows:
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells(row, columns)) + " |")
    return "\n".join(lines) + "\n"


def used(rows: Sequence[dict[str, Any]]) -> list[Column]:
    """The columns in which any system has a value."""
    return [column for column in COLUMNS if any(column.value(row) is not None for row in rows)]


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Numbers as they are; a mean over seeds has a second column ``…_sd``. Empty where there is none."""
    table = []
    for row in rows:
        values: dict[str, Any] = {}
        for column in COLUMNS:
            value = column.value(row)
            if isinstance(column.show, int):
                values[column.key] = value and value["mean"]
                values[f"{column.key}_sd"] = value and value["sd"]
            else:
                values[column.key] = value
        table.append(values)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return stream.getvalue()


def printed(rows: Sequence[dict[str, Any]]) -> list[Table]:
    """Two tables for the terminal: scores, and what they cost."""
    tables = []
    for group, title in (("scores", "Scores"), ("cost", "Cost")):
        columns = [column for column in used(rows) if column.group == group or column.key == "name"]
        table = Table(title=title, title_justify="left")
        for column in columns:
            text = column.key in ("name", "seeds")
            table.add_column(column.heading, justify="left" if text else "right", overflow="fold")
        for row in rows:
            table.add_row(*map(Text, cells(row, columns)))
        tables.append(table)
    return tables
