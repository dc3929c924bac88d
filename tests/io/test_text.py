"""Text files as people and programs write them."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autonmf.io import ReadError, Table, read_matrix
from autonmf.io import text as reader

NUMBERS = [[1.0, 2.5, 3.0], [4.0, 5.0, 0.5], [7.0, 0.0, 9.0]]


PARSERS = {"pyarrow": 0, "cell by cell": sys.maxsize}


def use_parser(patch: pytest.MonkeyPatch, name: str, chunk: int = 30) -> None:
    """Let only one parser read, in small chunks."""
    patch.setattr(reader, "ARROW_FROM", PARSERS[name])
    patch.setattr(reader, "CHUNK", chunk)


@pytest.fixture(params=["as installed", *PARSERS])
def read(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Read text as if it were in a file, with each of the parsers."""
    if request.param in PARSERS:
        use_parser(monkeypatch, request.param)

    def read_text(text: str | bytes, name: str = "table.csv", **options: bool) -> Table:
        file = tmp_path / name
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_matrix(file, **options)

    return read_text


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
def test_every_layout(read, separator: str, header: bool, labelled: bool) -> None:
    lines = [[f"g{i}"] * labelled + [f"{x:g}" for x in row] for i, row in enumerate(NUMBERS)]
    if header:
        lines.insert(0, ["gene"] * labelled + ["a", "b", "c"])
    table = read("\n".join(separator.join(line) for line in lines))
    np.testing.assert_array_equal(table.X, NUMBERS)
    assert table.column_names == (["a", "b", "c"] if header else None)
    assert table.row_names == (["g0", "g1", "g2"] if labelled else None)
    assert table.X.dtype == np.float64


@pytest.mark.parametrize(
    "text",
    [
        "a,b\r\n1,2\r\n3,4\r\n",  # Windows
        "a,b\r1,2\r3,4\r",  # old Macintosh
        "\ufeffa,b\n1,2\n3,4\n",  # byte order mark
        "\ufeffa,b\n1,2\n3,4\n".encode("utf-16-le"),
        '"a","b"\n"1","2"\n"3","4"\n',
        " a , b \n 1 , 2 \n 3 , 4 \n",
        "\n\na,b\n\n1,2\n3,4\n\n\n",
        "a,b,\n1,2,\n3,4,\n",  # separators at the ends
        "a,b\n1,2,\n3,4,\n",
        "# made by a program\n# on a Monday, at noon, in the rain\na,b\n1,2\n3,4\n",
        "#a,b\n1,2\n3,4\n",
        "# a b\n1 2\n3 4\n",  # numpy.savetxt
        "a;b\n1;2\n3;4",
        "a;b\n1,0;2,0\n3,0;4,0\n",  # decimal commas
        "a\tb\n1\t2\n3\t4\n",
        "a,b\n1e0,+2.\n3,0.4E1\n",
    ],
)
def test_two_by_two_in_disguise(read, text: str | bytes) -> None:
    table = read(text)
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.column_names == ["a", "b"]
    assert table.row_names is None


@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("x,y\ng1,1,2\ng2,3,4\n", ["g1", "g2"], ["x", "y"]),  # R leaves out the corner
        ('"x" "y"\n"1" 1 2\n"2" 3 4\n', ["1", "2"], ["x", "y"]),
        (",x,y\n0,1,2\n1,3,4\n", ["0", "1"], ["x", "y"]),  # pandas leaves it empty
        (",400,410\na,1,2\nb,3,4\n", ["a", "b"], ["400", "410"]),
        (",0,1\n0,1,2\n1,3,4\n", ["0", "1"], ["0", "1"]),  # names that count as well
        ('"" 0 1\n0 1 2\n1 3 4\n', ["0", "1"], ["0", "1"]),
        ("id,x,y\n1,1,2\n2,3,4\n", ["1", "2"], ["x", "y"]),
        ("Index;0;1\n0;1;2\n1;3;4\n", ["0", "1"], ["0", "1"]),
        ("Unnamed: 0,x,y\n0,1,2\n1,3,4\n", ["0", "1"], ["x", "y"]),
        ("#OTU ID\ts1\ts2\nb1\t1\t2\nb2\t3\t4\n", ["b1", "b2"], ["s1", "s2"]),
        ('id,"a, b","c\nd"\nr1,1,2\nr2,3,4\n', ["r1", "r2"], ["a, b", "c\nd"]),
        ("id,1_2,3_4\n1_1,1,2\n1_2,3,4\n", ["1_1", "1_2"], ["1_2", "3_4"]),  # names, though Python reads 12
    ],
)
def test_names(read, text: str, rows: list[str], columns: list[str]) -> None:
    table = read(text)
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert (table.row_names, table.column_names) == (rows, columns)


def test_windows_encoding(read) -> None:
    assert read("Größe;Höhe €\n1;2\n3;4\n".encode("cp1252")).column_names == ["Größe", "Höhe €"]
    assert read("Größe;Höhe €\n1;2\n3;4\n").column_names == ["Größe", "Höhe €"]


@pytest.mark.parametrize("name", ["t.csv.gz", "T.TSV.GZ", "t.txt.gz"])
def test_zipped(read, name: str) -> None:
    np.testing.assert_array_equal(read(gzip.compress(b"1\t2\n3\t4\n"), name).X, [[1, 2], [3, 4]])


def test_numpy_savetxt(read, low_rank: np.ndarray) -> None:
    stream = io.StringIO()
    np.savetxt(stream, low_rank)
    np.testing.assert_array_equal(read(stream.getvalue(), "x.txt").X, low_rank)


def test_pandas_round_trip(read, low_rank: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas writes the file")
    frame = pandas.DataFrame(low_rank, columns=[f"c{j}" for j in range(40)])
    for separator in ",;\t":
        table = read(frame.to_csv(sep=separator, lineterminator="\r\n"))
        np.testing.assert_array_equal(table.X, low_rank)
        assert table.row_names == [str(i) for i in range(60)]
        assert table.column_names == list(frame.columns)


def test_pandas_without_names(read, low_rank: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas writes the file")
    for separator in ",;\t ":
        table = read(pandas.DataFrame(low_rank).to_csv(sep=separator))
        np.testing.assert_array_equal(table.X, low_rank)
        assert table.row_names == [str(i) for i in range(60)]
        assert table.column_names == [str(j) for j in range(40)]
        assert table.doubts == ()


def test_an_empty_corner(read) -> None:
    times = ",400,410\n0.5,1,2\n0.7,3,4\n"
    table = read(times)
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert (table.row_names, table.column_names) == (["0.5", "0.7"], ["400", "410"])
    (doubt,) = table.doubts
    assert "begins with an empty cell" in doubt
    assert "--no-header" in doubt
    data = read(times, header=False)
    np.testing.assert_array_equal(data.X, [[np.nan, 400, 410], [0.5, 1, 2], [0.7, 3, 4]])
    assert data.doubts == ()
    assert read(",,410\n0.5,1,2\n").X.shape == (2, 3)  # more is missing than a corner


def test_headings_of_counters_only_over_counters(read) -> None:
    for text in ("id,x\n1,5\n3,6\n", "index,x\n2,5\n3,6\n", "x,id\n0,5\n1,6\n", "id\n0\n1\n"):
        table = read(text)
        assert table.row_names is None, text
        assert len(table.X) == 2
    assert read("id,x\n0,5\n1,6\n", labels=False).X.tolist() == [[0, 5], [1, 6]]


@pytest.mark.parametrize("text", ["5\n", "5", "1,2,3", "name,1,2", "x\n1\n2\n"])
def test_small(read, text: str) -> None:
    assert read(text).X.size in (1, 2, 3)


def test_layout_can_be_forced(read) -> None:
    text = "1,2,3\n4,5,6\n7,8,9\n"
    assert read(text, header=True).column_names == ["1", "2", "3"]
    assert read(text, labels=True).row_names == ["1", "4", "7"]
    table = read(text, header=True, labels=True)
    assert (table.X.tolist(), table.row_names, table.column_names) == (
        [[5, 6], [8, 9]],
        ["4", "7"],
        ["2", "3"],
    )
    with pytest.raises(ReadError, match="line 1, column 1: 'a' is not a number"):
        read("a,b\n1,2\n3,4\n", header=False)


def test_doubtful_layouts_are_pointed_out(read) -> None:
    spectra = "p99,400,410,420,430,440\n" + "".join(f"p{i},3,1,{i},2,5\n" for i in range(6))
    assert "--no-header" in " ".join(read(spectra).doubts)
    assert read(spectra, header=True).doubts == ()
    assert read(spectra, header=False, labels=True).doubts == ()
    counted = "step,a,b\n" + "".join(f"{i},{i % 2},3\n" for i in range(6))
    assert "--labels" in " ".join(read(counted).doubts)
    assert read(counted, labels=False).doubts == ()
    assert read("id,a\n1,2\n3,4\n").doubts == ()


@pytest.mark.parametrize("missing", ["", " ", "NA", "nan", "NaN", "null", "n/a", "?"])
def test_missing_numbers_become_nan(read, missing: str) -> None:
    table = read(f"g,a,b\nr1,1,2\nr2,{missing},4\nr3,5,6\n")
    assert np.isnan(table.X[1, 0])
    assert np.isnan(table.X).sum() == 1
    assert table.notes[-1] == "One number is missing, at line 3, column 2 (a)."


def test_several_missing_numbers(read) -> None:
    assert read("1,,3\n,,6\n7,8,9\n").notes[-1] == "3 numbers are missing, the first at line 1, column 2."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3\n4,5\n6,7,8\n", "line 2: 2 cells where 3 are expected"),
        ("a,b\n1,2\n3,4,5\n6,7\n", "line 3: 3 cells where 2 are expected"),
        ("1,2\n1,2,3\n4,5,6\n", "line 1: 2 cells where 3"),
        ("a,b,c\n1,2,3\n1,oops,3\n", r"line 3, column 2 \(b\): 'oops' is not a number"),
        ("1,2\n3,1_000\n", "line 2, column 2: '1_000' is not a number"),
        ("a\tb\n1\t1,5\n2\t2,5\n", r"column 2 \(b\): '1,5' is not a number. Use decimal points"),
        ('"1,234",5\n6,7\n8,9\n', "line 1, column 1: '1,234' is not a number. Remove the sep.* add --header"),
        ('"1,234",5\n"2,345",7\n"6,789",9\n', "line 1, column 1: '1,234' is not a number. Remove the sep"),
        ('a,b\n1,"1,234,567.8"\n', r"line 2, column 2 \(b\): '1,234,567.8' is not .* thousands\.$"),
        ("1.5;1,5\n2;2\n", "both decimal points and decimal commas"),
        ("a,b,c\n1,2,3\n4,5," + "x" * 99, "'x{30}\\.\\.\\.' is not a number"),
        ("1,2\n3,4\n" * 200 + "5\n", "line 401: 1 cells where 2"),
        ("a,b,c\n", "no line of numbers"),
        ("just\nwords\nhere\n", "no line of numbers"),
        ("\n \n\n", "blank lines only"),
        ('1,2\n"3,4\n', "after line 1: bad quotation marks"),
        (b"\x00\x01\x02binary", "not a text file"),
    ],
)
def test_errors_name_the_place(read, text: str | bytes, message: str) -> None:
    with pytest.raises(ReadError, match=message) as caught:
        read(text)
    assert "table.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_slip_is_not_taken_for_labels(read) -> None:
    with pytest.raises(ReadError, match="line 2, column 1: 'oops' is not a number"):
        read("1,2\noops,4\n5,6\n7,8\n")


@pytest.mark.slow
def test_long_lines(read) -> None:
    X = np.arange(12_0000.0).reshape(3, -1)
    text = "\n".join(",".join(map(repr, row)) for row in X.tolist())
    np.testing.assert_array_equal(read(text).X, X)


def test_a_zip_that_is_none(read) -> None:
    with pytest.raises(ReadError, match=r"cannot read .*table\.csv\.gz as text"):
        read("1,2\n3,4\n", "table.csv.gz")


CELLS = st.one_of(
    st.floats(0, 1e6).map(repr),
    st.floats().map(repr),
    st.integers(0, 10**6).map(str),
    st.sampled_from(
        ["1.5", "1,5", "-1", "+2.", ".5", "1e3", "1e400", "1e-400", " 7 ", "inf", "-Infinity", "nan", "-nan"]
    ),
    st.sampled_from(["", " ", "NA", "n/A", "?", "nan(1)", "0x10", "1_0", "1 2", '"7"', '"7"8', "\x1f", "x"]),
)
NAMES = st.sampled_from(["r", '"r"', ' "r s"', '"r"s', 'r"', "r,s", '"r,s"', "NA", "", "é", "\0", "1"])


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(NAMES, CELLS, CELLS, CELLS), min_size=1, max_size=12),
    plain=st.lists(st.tuples(*[st.integers(0, 99).map(str)] * 4), max_size=12),
    separator=st.sampled_from(",;\t| "),
    newline=st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    end=st.sampled_from(["", "separator", "newline", "spaces"]),
    labelled=st.booleans(),
    header=st.booleans(),
)
def test_every_parser_reads_the_same(
    tmp_path: Path,
    rows: list[tuple[str, ...]],
    plain: list[tuple[str, ...]],
    separator: str,
    newline: str,
    end: str,
    labelled: bool,
    header: bool,
) -> None:
    lines = [cells if labelled else cells[1:] for cells in [*plain, *rows]]
    if header:
        lines.insert(0, ("id", "a", "b", "c") if labelled else ("a", "b", "c"))
    ends = {"separator": separator + newline, "spaces": "  " + newline}
    content = "".join(separator.join(cells) + ends.get(end, newline) for cells in lines)
    (tmp_path / "x.csv").write_bytes(content.removesuffix(newline if end == "" else "").encode())
    found = []
    for name in PARSERS:
        with pytest.MonkeyPatch.context() as patch:
            use_parser(patch, name)
            try:
                table = read_matrix(tmp_path / "x.csv")
            except ReadError as error:
                found.append(str(error))
            else:
                found.append(
                    (table.X.tobytes(), table.X.shape, table.row_names, table.column_names, table.notes)
                )
    assert found[0] == found[1]


def test_plain_files_are_read_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, low_rank: np.ndarray
) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow parses the file")
    use_parser(monkeypatch, "pyarrow", chunk=5000)
    monkeypatch.setattr(reader._Parser, "_parse_carefully", None)
    for separator, header in ((",", "a,b"), ("\t", "a\tb"), (";", "a;b"), (" ", "a b")):
        lines = [
            separator.join([f'"g{i}"', *map(repr, row)]) for i, row in enumerate(low_rank[:, :2].tolist())
        ]
        (tmp_path / "x.csv").write_text("\n".join([header, *lines]))
        table = read_matrix(tmp_path / "x.csv")
        np.testing.assert_array_equal(table.X, low_rank[:, :2])
        assert table.row_names == [f"g{i}" for i in range(60)]


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, low_rank: np.ndarray) -> None:
    for module in [m for m in sys.modules if m.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(reader, "ARROW_FROM", 0)
    (tmp_path / "x.csv").write_text("\n".join(",".join(map(repr, row)) for row in low_rank.tolist()))
    np.testing.assert_array_equal(read_matrix(tmp_path / "x.csv").X, low_rank)
