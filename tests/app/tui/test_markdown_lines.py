"""A model's Markdown as lines: everything visible, nothing obeyed, and independent of how it grew."""

import random

import pytest

from app.tui.widgets.coloured_code import STEP, ColouredCode
from app.tui.widgets.markdown_blocks import BLOCK, BULLET, CODE, code_blocks
from app.tui.widgets.markdown_lines import MarkdownLines
from app.tui.widgets.wrapping import Line, Run, cells, text_of

TEXT = """\
# A heading
Text with **bold**, `code`, *slanted*, ~~gone~~, &amp; and \\*.
Its second line, [a link](https://example.org/x) and <https://example.org>.

- one
- **two**
  and more of it
  - within
    1. deep
- three

  with a paragraph

7. seven
8. eight

   ```python
   def f(x):
   \treturn '''a
   b'''
   ```
10. ten
> a quote
> goes on
>
> - with a point

| name | much |
|:-----|-----:|
| a    | `1`  |
| 日本 | 22   |

***
[one]: https://example.org/one
[one] is text, and so is
Title
=====

```
```

    indented
"""
EXPECTED = """\
A heading
Text with bold, code, slanted, gone, &
and *.
Its second line, a link
(https://example.org/x) and
https://example.org.

 • one
 • two
   and more of it
    • within
       1. deep
 • three

   with a paragraph

 7. seven
 8. eight

     python                        copy
     def f(x):
         return '''a
     b'''
10. ten
▌ a quote
▌ goes on
▌
▌  • with a point

name  much
────  ────
a        1
日本    22

────────────────────────────────────────
[one]: https://example.org/one
[one] is text, and so is
Title
=====

                                   copy


                                   copy
 indented
"""


def drawn(text: str, width: int = 40) -> list[Line]:
    lines = MarkdownLines()
    lines.show(text, 0, width)
    return lines.lines


def shown(text: str, width: int = 40) -> str:
    return "\n".join(text_of(line).rstrip() for line in drawn(text, width))


def test_markdown_is_drawn_with_nothing_left_out() -> None:
    assert shown(TEXT).splitlines() == EXPECTED.splitlines()


@pytest.mark.parametrize("width", [1, 40])
def test_however_it_grew_the_lines_are_the_same(width: int) -> None:
    for seed in range(2):
        chance, grown, at = random.Random(seed), MarkdownLines(), 0
        while at < len(TEXT):
            at += chance.randint(1, 9)
            grown.show(TEXT[:at], 0, width)
        assert grown.lines == drawn(TEXT, width), f"cut by {seed}"


def test_what_was_a_table_for_a_moment_is_text_of_its_paragraph() -> None:
    text, grown = "**Note\n| x\n--|see** below", MarkdownLines()
    for end in range(len(text)):
        grown.show(text[: end + 1], 0, 40)
    assert [text_of(line) for line in grown.lines] == ["Note", "| x", "--|see below"]
    assert grown.lines == drawn(text)


def test_what_is_complete_is_not_drawn_again() -> None:
    lines = MarkdownLines()
    lines.show(TEXT, 0, 40)
    before = list(lines.lines)
    lines.show(TEXT + "\nmore", 0, 40)
    assert all(new is old for new, old in zip(lines.lines, before[:-2], strict=False))


@pytest.mark.parametrize("width", [8, 13, 100])
def test_lines_are_no_wider_than_asked(width: int) -> None:
    for line in drawn(TEXT, width):
        assert cells((Run(text_of(line).rstrip()),)) <= width


def test_a_table_with_more_columns_than_have_room_is_drawn_as_lines_with_all_its_cells() -> None:
    rows = [[f"{letter}{number}" for number in range(20)] for letter in "ab"]
    text = "\n".join(f"|{'|'.join(row)}|" for row in (rows[0], ["---"] * 20, rows[1]))
    lines = [f"{' | '.join(row[:11])} |\n{' | '.join(row[11:])}" for row in rows]
    assert shown(text, 57) == "\n".join(lines)
    assert "|" not in shown(text, 58)


def test_a_cell_broken_where_its_column_ends_moves_no_other_column() -> None:
    table = "|a|b|c|\n|-|-:|-|\n|one two six|123 `567` 9|yes|"
    assert shown(table, 21).splitlines() == [
        "a              b  c",
        "───────  ───────  ───",
        "one two  123 567  yes",
        "six            9",
    ]


def test_cells_beyond_the_heads_latex_and_all_that_follows_a_fence_are_drawn() -> None:
    table = "> | a | b |\n> |--|--|\n> | 1 | x\\|y | 3 `e` | 4 ||\n> | 5 |"
    assert shown(table).splitlines() == ["▌ a  b", "▌ ─  ───────────────", "▌ 1  x|y | 3 `e` | 4", "▌ 5"]
    latex = r"\[ \{a\,b\} \\ 5\% \] and \(c\)"
    assert shown(rf"{latex} or 1\. \*d\*", 50) == f"{latex} or 1. *d*"
    assert shown('```python "a.py" 日本\n1\n```', 21).splitlines() == [' python "a.py"  copy', " 1"]


def test_every_part_of_a_line_knows_its_source() -> None:
    runs = [run for line in drawn(TEXT) for run in line if run.at >= 0]
    other = [(run.text, TEXT[run.at : run.at + run.size]) for run in runs if run.size != len(run.text)]
    assert ("&", "&amp;") in other and ("*", "\\*") in other and ("    ", "\t") in other
    assert {text for text, _ in other} <= {"&", "*", "    ", " • ", " 1. ", " 7. ", " 8. ", "10. "}
    for run in runs:
        if run.size == len(run.text) and BULLET not in run.styles:
            assert TEXT[run.at : run.at + run.size] == run.text
    assert [run.text for run in runs if run.styles == (CODE,)] == ["code", "1"]


@pytest.mark.parametrize(
    "text",
    ["<b>bold</b>", "<think>so</think>", "<div>block</div>", "[bold]x[/bold]", "[/x]", "![[x]]", "$x$"],
)
def test_tags_and_markup_are_text(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "drawn_as"),
    [
        ("a&#13;b&#x202e;c&Tab;d", "a␍b\\u202ec    d"),
        ("`a\tb\nc`", "a    b c"),
        ("<ab:%1b%5d0;owned%07>", "ab:␛]0;owned␇ (ab:%1b%5d0;owned%07)"),
    ],
)
def test_control_characters_that_are_spelled_as_entities_or_in_addresses_are_signs(
    text: str, drawn_as: str
) -> None:
    assert shown(text) == drawn_as


def test_line_breaks_stay_and_a_link_and_a_picture_name_their_targets() -> None:
    assert shown("one\ntwo  \nthree\\\nfour") == "one\ntwo\nthree\nfour"
    assert shown("[here](https://example.org/x)") == "here (https://example.org/x)"
    assert shown("![a cat](cat.png)") == "a cat (cat.png)"


def test_code_blocks_are_found_with_their_text() -> None:
    assert code_blocks(TEXT) == ["def f(x):\n\treturn '''a\nb'''\n", "", "indented\n"]
    thought = "<think>\n```\nno, that is\n"
    assert code_blocks(f"{thought}</think>\n\n```\nright\n```") == ["right\n"]
    assert code_blocks(thought) == ["no, that is"]


def test_the_code_blocks_of_an_answer_are_looked_for_once_while_its_keys_are_shown() -> None:
    assert code_blocks(TEXT) is code_blocks(TEXT)


def test_code_keeps_its_colours_while_it_grows() -> None:
    code = ["def f():", "    '''Text", "    over # lines'''", "    return 1", ""] * STEP
    code[5 * STEP // 2 : 5 * STEP // 2] = ["'''", *("def inside(a text): pass",) * 3 * STEP, "'''"]
    grown, whole = ColouredCode("python"), ColouredCode("python")
    for count in range(1, len(code) + 1):
        grown.show(code[:count])
    whole.show(code)
    assert grown.lines == whole.lines
    assert len({style for line in whole.lines for _, style in line}) == 4


def test_the_last_line_of_a_diff_has_its_colour() -> None:
    code = ColouredCode("diff")
    code.show(["-old", "+new"])
    assert code.lines == [(("-old", "$text-error"),), (("+new", "$text-success"),)]


@pytest.mark.parametrize("language", ["console", "psql", "robotframework", "literate-haskell"])
def test_code_in_any_language_is_drawn_whole(language: str) -> None:
    for code in ("$ make chat", "$ ls\na.txt", "*** Test ***\nx\x0cy\nz"):
        _, *lines = drawn(f"```{language}\n{code}\n```")
        assert [text_of(line).strip() for line in lines] == code.split("\n")


def test_code_of_no_known_language_is_plain() -> None:
    [_, line] = drawn("```klingon\n'x' = 1\n```")
    assert {run.styles for run in line} == {(BLOCK,)}
