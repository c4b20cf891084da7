from xml.etree import ElementTree

from hexlit.reporting.board_svg import DrawnNode, tree_svg

LAST, BLACK, WHITE = "#d6453d", "#26242b", "#fdfdfb"
SPACE = "{http://www.w3.org/2000/svg}"


def small() -> DrawnNode:
    reply = DrawnNode("c3", -1, 4, -0.5, expected=True)
    first = DrawnNode("b2", 1, 8, 0.25, expected=True, children=[reply])
    return DrawnNode("Black to move", 0, 11, 0.1, children=[first, DrawnNode("a1", 1, 2, -1.0)])


def test_moves_are_stones_with_their_visits_and_values() -> None:
    root = ElementTree.fromstring(tree_svg(small(), title="A tree", caption="below"))
    stones = [circle.get("fill") for circle in root.iter(f"{SPACE}circle")]
    assert stones == [BLACK, WHITE, BLACK]
    words = [text.text for text in root.iter(f"{SPACE}text")]
    assert {"A tree", "below", "Black to move", "b2", "8", "+25", "c3", "-50", "a1", "-100"} <= set(
        words
    )


def test_the_expected_line_stands_out_and_lines_are_as_thick_as_visits() -> None:
    paths = list(ElementTree.fromstring(tree_svg(small())).iter(f"{SPACE}path"))
    assert [path.get("stroke") == LAST for path in paths] == [True, True, False]
    thick = [float(path.get("stroke-width") or 0) for path in paths]
    assert thick[0] > thick[1] > thick[2]


def test_no_two_leaves_share_a_place_and_nothing_is_outside() -> None:
    wide = DrawnNode(
        "Black to move", 0, 100, 0.0, children=[DrawnNode(f"a{n}", 1, 5, 0.0) for n in range(1, 20)]
    )
    root = ElementTree.fromstring(tree_svg(wide))
    places = [(circle.get("cx"), circle.get("cy")) for circle in root.iter(f"{SPACE}circle")]
    assert len(set(places)) == 19
    (group,) = root.iter(f"{SPACE}g")
    shift = float((group.get("transform") or "").split("(")[1].split()[0])
    across = [float(x or 0) + shift for x, _ in places]
    assert min(across) > 20
    assert max(across) < float(root.get("width") or 0) - 20
