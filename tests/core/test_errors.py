"""The place that a ParseError shows: some 60 characters of its line, and a caret under one."""

import itertools

from tla.core.errors import ParseError, Reason, caret


def test_the_line_is_cut_at_30_characters_on_either_side():
    for before, behind in itertools.product((0, 1, 29, 30, 31, 40), repeat=2):
        for text, start in (("a" * before + "b" * behind, 0), ("x\n" + "a" * before + "b" * behind + "\ny", 2)):
            head = "..." if before > 30 else ""
            tail = "..." if behind > 30 else ""
            shown = f"{head}{'a' * min(before, 30)}{'b' * min(behind, 30)}{tail}"
            place = " " * (len(head) + min(before, 30))
            assert caret(text, start + before) == f"    {shown}\n    {place}^"


def test_what_is_not_printed_is_one_column():
    assert caret("ab\ncd\tef\x01gh\nij", 9) == "    cd ef\ufffdgh\n          ^"
    assert [caret("a\nb", k).splitlines() for k in (0, 1, 2, 3)] == [
        ["    a", "    ^"],
        ["    a", "     ^"],
        ["    b", "    ^"],
        ["    b", "     ^"],
    ]


def test_the_parts_that_there_are():
    assert str(Reason("a", "", "")) == "a"
    assert str(Reason("a", "b", "")) == "a\n  expected  b"
    assert str(Reason("a", "", "c")) == "a\n  fix       c"
    error = ParseError("(_4,x)", 4, "x", "y", "z")
    assert (error.text, error.position, error.args) == ("(_4,x)", 4, ("(_4,x)", 4, "x", "y", "z"))
    assert error.reason == (f"x, at position 4\n{caret('(_4,x)', 4)}", "y", "z")
