"""A comparison as tables, on a screen or in a pipe."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from app.compare.record import Record
from app.shell.printable import one_line
from app.shell.tables import plain_table
from models.size_text import size_text


def tables(record: Record) -> Iterator[Table]:
    """What the command line prints: one setting in full, several side by side."""
    if len(record.drafting) == 1:
        yield _full_table(record, record.drafting[0])
        return
    yield settings_table(record)
    if record.has_categories:
        yield category_table(record)


def _full_table(record: Record, setting: int) -> Table:
    """One line per category, and one over all. Pairs of numbers are plain/drafted."""
    grid = plain_table(
        record.settings[setting].label, ">plain\ntok/s", ">drafted\ntok/s", ">\nratio", ">\nspread",
        ">acc./\nround", ">acc.\nrate", ">1st token\nms", ">peak\nmemory",
    )  # fmt: skip
    whole = record.comparison(setting)
    for name, c in [*record.categories(setting).items(), ("all", whole)]:
        if c is whole:
            grid.add_section()
        grid.add_row(
            one_line(name),
            _speed_cell(c.plain_tps),
            _speed_cell(c.drafted_tps),
            c.ratio_cell,
            c.spread_cell,
            f"{c.accepted_per_round:.2f}",
            f"{c.acceptance_rate:.0%}",
            f"{c.plain_time_to_first_token * 1000:.0f}/{c.drafted_time_to_first_token * 1000:.0f}",
            size_text(c.peak_memory_bytes),
            style="bold" if c is whole else None,
        )
    return grid


def settings_table(record: Record, *, narrow: bool = False) -> Table:
    heads = ["setting", "tok/s", "ratio", "spread", "acc./round", "same text"]
    table = _table(*heads[: 3 if narrow else None])
    for place, setting in enumerate(record.settings):
        cells: list[str | Text] = [Text(setting.label), _speed_cell(record.speed(place))]
        if setting.drafts:
            one = record.comparison(place)
            cells.append(Text(one.ratio_cell, "bold" if one.won else "reverse" if one.lost else ""))
            cells += [one.spread_cell, f"{one.accepted_per_round:.2f}", f"{one.same_text}/{one.prompts}"]
        table.add_row(*cells[: len(table.columns)])
    return table


def category_table(record: Record, *, narrow: bool = False) -> Table:
    """The ratio of every drafting setting by category; `narrow`: a line per category, not a column."""
    categories = {place: record.categories(place) for place in record.drafting}
    names = list(next(iter(categories.values())))
    table = _table("ratio", *([""] if narrow else [one_line(name) for name in names]))
    for place, by in categories.items():
        label, ratios = Text(record.settings[place].label), [by[name].ratio_cell for name in names]
        if not narrow:
            table.add_row(label, *ratios)
            continue
        table.add_row(label)
        for name, ratio in zip(names, ratios, strict=True):
            table.add_row(Text(f"  {one_line(name)}", "not bold"), ratio)
    return table


def _speed_cell(tokens_per_second: float) -> str:
    return f"{tokens_per_second:.1f}" if tokens_per_second else "-"


def _table(*heads: str) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for place, head in enumerate(heads):
        table.add_column(
            Text(head), justify="right" if place else "left", no_wrap=True, style="" if place else "bold"
        )
    return table
