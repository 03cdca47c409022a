"""What a drawing says where plain integers made an answer smaller, as typed in a shell or on the page."""

from tla import make_layout, parse, right_inverse, static
from tla.apps.cli import main
from tla.viz import draw


def test_texts_of_other_libraries_are_shown(capsys):
    for text, shown in {
        "S[(8,4):(4@laneid,1)]": "(_8,_4):(_4@0,_1@1)",
        "torch.arange(32).view(8, 4).T": "(_4,_8):(_1,_4)",
        "Layout(IntTuple(4, 8), IntTuple(8, 1))": "(_4,_8):(_8,_1)",
        "((4, 8):(1, 4))": "(_4,_8):(_1,_4)",
        "Layout((4,8),(8,1))": "(4,8):(8,1)",
        "!fly.layout<(4,8):(1,4)>": "(_4,_8):(_1,_4)",
    }.items():
        main(["show", text])
        assert capsys.readouterr().out.startswith(shown), text


def test_the_note_is_drawn_and_its_fix_works(capsys):
    given = make_layout((16, 8), (1, 16))
    drawn = str(draw(right_inverse(given)))
    assert "right_inverse(static(layout)) is _128:_1" in drawn
    assert "Note" not in str(draw(right_inverse(static(given))))
    assert "Note" not in str(draw(parse("_1:_0")))
    main(["show", "right_inverse((16,8):(1,16))"])
    assert "right_inverse(static(layout)) is _128:_1" in capsys.readouterr().out
    main(["show", "right_inverse(static((16,8):(1,16)))"])
    assert capsys.readouterr().out.startswith("_128:_1")
