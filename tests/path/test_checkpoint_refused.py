"""Checkpoints that belong to another run, or that were tampered with."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from autonmf import RankPath, rank_path
from autonmf.data import Stored, as_data
from autonmf.distributed import open_data
from autonmf.path.checkpoint import fingerprint
from autonmf.path.journal import MAGIC, Journal

Same = Callable[[RankPath, RankPath], bool]


def begun(X: Any, file: Path) -> None:
    """Leave a checkpoint of a path that was stopped."""
    left = iter(range(40))
    path = rank_path(X, 8, random_state=0, checkpoint=file, callback=lambda _: next(left, None) is None)
    assert not path.complete


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"random_state": 1}, "random_state was 0, is 1"),
        ({"max_rank": 7}, "max_rank was 8, is 7"),
        ({"n_starts": 2}, "n_starts was 1, is 2"),
        ({"tol": 1e-5}, "tol was 0.0001, is 1e-05"),
        ({"equilibrate": True}, "equilibrate was False, is True"),
        ({"budget": lambda rank: rank}, r"budget was auto, is \[1, 2, 3, 4, 5, 6, 7, 8\]"),
        ({"solver": "palm", "mu": 0.1}, "mu was 1e-08, is 0.1, solver was auto, is palm"),
    ],
    ids=lambda value: None if isinstance(value, str) else "-".join(value),
)
def test_other_options(low_rank: np.ndarray, tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    begun(low_rank, tmp_path / "c")
    before = (tmp_path / "c").read_bytes()
    options = {"max_rank": 8, "random_state": 0} | changed
    with pytest.raises(ValueError, match=f"belongs to another run: {message}. Name another file, or delete"):
        rank_path(low_rank, checkpoint=tmp_path / "c", **options)
    assert (tmp_path / "c").read_bytes() == before


def test_another_matrix(low_rank: np.ndarray, tmp_path: Path) -> None:
    begun(low_rank, tmp_path / "c")
    other = low_rank.copy()
    other[17, 23] *= 1 + 1e-12
    with pytest.raises(
        ValueError, match=r"another run: X has other entries, or another memory order\. Name another file"
    ):
        rank_path(other, 8, random_state=0, checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match=r"another run: shape was \[60, 40\], is \[40, 60\]"):
        rank_path(low_rank.T, 8, random_state=0, checkpoint=tmp_path / "c")


def test_a_fingerprint_sees_where_entries_are(low_rank: np.ndarray, rng: np.random.Generator) -> None:
    digests = {fingerprint(as_data(low_rank))}
    for _ in range(20):
        moved = low_rank.copy()
        rows, columns = rng.choice(60, 2, replace=False), rng.choice(40, 2, replace=False)
        moved[rows] = moved[rows[::-1]]
        digests.add(fingerprint(as_data(moved)))
        moved = low_rank.copy()
        moved[:, columns] = moved[:, columns[::-1]]
        digests.add(fingerprint(as_data(moved)))
    assert len(digests) > 40 - 5, "some pairs are drawn twice"
    assert fingerprint(as_data(low_rank.copy())) in digests


def test_a_fingerprint_tells_what_is_missing_from_zeros(low_rank: np.ndarray) -> None:
    zero, missing = low_rank.copy(), low_rank.copy()
    zero[5, [6, 7]] = 0.0, np.nan
    missing[5, [6, 7]] = np.nan
    assert fingerprint(as_data(zero, missing="mask")) != fingerprint(as_data(missing, missing="mask"))


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
def test_a_fingerprint_is_a_hash_of_all_entries(kind: Callable[..., Any], low_rank: np.ndarray) -> None:
    """An entry counts beside another one that is 10²¹ times larger."""
    X = low_rank.copy()
    X[0, :2] = 1e12, 1e-9
    other = X.copy()
    other[0, 1] = 2e-9
    assert fingerprint(as_data(kind(X))) == fingerprint(as_data(kind(X.copy())))
    assert fingerprint(as_data(kind(X))) != fingerprint(as_data(kind(other)))


def test_a_fingerprint_is_that_of_what_is_stored(low_rank: np.ndarray, tmp_path: Path) -> None:
    """Last bits depend on precision and order; a mapped file is as good as memory."""
    kinds = [np.asarray, np.asfortranarray, np.float32, sparse.csr_array, sparse.csc_array]
    assert len({fingerprint(as_data(kind(low_rank))) for kind in kinds}) == len(kinds)
    np.save(tmp_path / "x.npy", low_rank)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert fingerprint(as_data(mapped)) == fingerprint(as_data(low_rank))


def test_a_fingerprint_of_a_file_and_of_weights(low_rank: np.ndarray, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py writes and reads the file")
    other = low_rank.copy()
    other[-1, -1] += 1e-15
    with h5py.File(tmp_path / "x.h5", "w") as content:
        files = [Stored(content.create_dataset(name, data=X)) for name, X in (("a", low_rank), ("b", other))]
        digests = {fingerprint(as_data(file)) for file in (*files, files[0])}
    assert len(digests) == 2
    weights = np.ones(60)
    for weight in (2.0, 2.0 + 1e-15):
        weights[3] = weight
        with open_data(low_rank, sample_weight=weights) as opened:
            digests.add(fingerprint(opened.data))
    assert len(digests) == 4


def test_a_mistake_before_the_first_rank_can_be_corrected(
    same: Same, low_rank: np.ndarray, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="init"):
        rank_path(low_rank, 8, random_state=0, init="best", checkpoint=tmp_path / "c")
    path = rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c")
    assert same(path, rank_path(low_rank, 8, random_state=0))


@pytest.mark.parametrize("seed", [np.random.default_rng(0), np.random.RandomState(0)], ids=["new", "legacy"])
def test_a_generator(low_rank: np.ndarray, tmp_path: Path, seed: Any) -> None:
    with pytest.raises(ValueError, match="random_state must be an int or None"):
        rank_path(low_rank, 8, random_state=seed, checkpoint=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_time_budget(low_rank: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Leave out one of the two"):
        rank_path(low_rank, 8, random_state=0, time_budget=10.0, checkpoint=tmp_path / "c")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"rank,loss\n1,2\n", "is not a checkpoint of autonmf. Name another file"),
        (b"PK\x03\x04" + bytes(100), "is not a checkpoint of autonmf"),
        (b"aut\x00", "is not a checkpoint of autonmf"),
        (b"autonmf checkpoint 5\n", "another format than version 4. Update autonmf, or delete the file"),
        (b"autonmf checkpoint 3\n", "another format than version 4. Update autonmf, or delete the file"),
    ],
)
def test_foreign_files_are_left_alone(
    low_rank: np.ndarray, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == content


def test_damage_is_refused_or_does_no_harm(
    same: Same, small: np.ndarray, tmp_path: Path, rng: np.random.Generator
) -> None:
    whole = rank_path(small, 6, random_state=0, checkpoint=tmp_path / "c")
    content = (tmp_path / "c").read_bytes()
    refused, unchanged = [], []
    for place in rng.integers(len(content), size=60):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(8)
        (tmp_path / "c").write_bytes(damaged)
        try:
            path = rank_path(small, 6, random_state=0, checkpoint=tmp_path / "c")
        except ValueError as error:
            refused.append(str(error))
            unchanged.append((tmp_path / "c").read_bytes() == damaged)
        else:
            assert same(path, whole), place
    assert all("to start again" in message or "Name another file" in message for message in refused)
    assert len(refused) > 40
    assert all(unchanged)


def rewritten(source: Path, target: Path, change: Callable[[dict[str, Any]], None], which: int) -> None:
    """A checkpoint with sound checksums, whose record ``which`` says something else."""
    old, new = Journal.open(source), Journal.open(target)
    for index, entry in enumerate(old.entries):
        if index == which:
            change(entry.label)
        new.append(entry.label, bytes(old.read(entry)))
    old.close()
    new.close()


def copied(source: Path, target: Path, order: Callable[[list[bytes]], list[bytes]]) -> None:
    """A checkpoint whose records are those of another in another order, each as it was written."""
    journal = Journal.open(source)
    ends = [len(MAGIC), *(entry.offset + entry.length for entry in journal.entries)]
    journal.close()
    content = source.read_bytes()
    records = [content[start:end] for start, end in pairwise(ends)]
    target.write_bytes(MAGIC + b"".join(order(records)))


@pytest.mark.parametrize(
    ("order", "number"),
    [
        (lambda records: records[:3] + records[4:], 4),
        (lambda records: records[:-2] + records[-1:], 9),
        (lambda records: records[1:], 1),
        (lambda records: [*records[:2], records[3], records[2], *records[4:]], 3),
        (lambda records: [*records[:3], records[2], *records[3:]], 2),
    ],
    ids=["a missing rank", "no last rank", "no identity", "exchanged", "repeated"],
)
def test_a_record_that_is_missing_is_noticed(
    low_rank: np.ndarray, tmp_path: Path, order: Callable[[list[bytes]], list[bytes]], number: int
) -> None:
    rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "good")
    copied(tmp_path / "good", tmp_path / "c", order)
    before = (tmp_path / "c").read_bytes()
    with pytest.raises(ValueError, match=rf"damaged at byte \d+: record {number} follows where record"):
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == before


def test_a_record_of_another_checkpoint_is_noticed(low_rank: np.ndarray, tmp_path: Path) -> None:
    taken: list[bytes] = []
    for seed in (1, 0):
        rank_path(low_rank, 8, random_state=seed, checkpoint=tmp_path / str(seed))
    copied(tmp_path / "1", tmp_path / "c", lambda records: taken.extend(records) or records)
    copied(tmp_path / "0", tmp_path / "c", lambda records: [*records[:3], taken[3], *records[4:]])
    with pytest.raises(ValueError, match="record 3 has changed, or belongs to another file"):
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c")


RECORDS: dict[str, Callable[[dict[str, Any]], None]] = {
    "absurd shape": lambda label: label["arrays"][0].__setitem__(slice(3, 5), [10**12, 10**6]),
    "other shape": lambda label: label["arrays"][0].__setitem__(slice(3, 5), [40, 90]),
    "negative shape": lambda label: label["arrays"][0].__setitem__(slice(3, 5), [-1, 1]),
    "objects": lambda label: label["arrays"][0].__setitem__(1, "|O"),
    "fewer arrays": lambda label: label["arrays"].pop(),
    "no arrays": lambda label: label.pop("arrays"),
    "negative loss": lambda label: label["visit"].__setitem__(3, -1.0),
    "no visit": lambda label: label.pop("visit"),
    "short visit": lambda label: label["visit"].pop(),
    "start that is none": lambda label: label.update(start="first"),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_records_that_are_none_of_a_path(low_rank: np.ndarray, tmp_path: Path, kind: str) -> None:
    begun(low_rank, tmp_path / "good")
    rewritten(tmp_path / "good", tmp_path / "c", RECORDS[kind], 2)
    with pytest.raises(ValueError, match="holds records that do not belong to a path"):
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c")


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_factors_that_are_none(low_rank: np.ndarray, tmp_path: Path, value: float) -> None:
    begun(low_rank, tmp_path / "good")
    old, new = Journal.open(tmp_path / "good"), Journal.open(tmp_path / "c")
    for index, entry in enumerate(old.entries):
        body = old.read(entry)
        if index == 1:
            body[:8] = np.float64(value).tobytes()
        new.append(entry.label, bytes(body))
    old.close()
    new.close()
    with pytest.raises(ValueError, match="holds records that do not belong to a path"):
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c")


@pytest.mark.parametrize(
    "identity", [None, [], {}, {"search": 1}, {"search": {}, "seed": "x", "versions": {}}]
)
def test_a_checkpoint_that_does_not_say_whose_it_is(
    low_rank: np.ndarray, tmp_path: Path, identity: Any
) -> None:
    begun(low_rank, tmp_path / "good")
    rewritten(tmp_path / "good", tmp_path / "c", lambda label: label.update(identity=identity), 0)
    with pytest.raises(ValueError, match="to start again"):
        rank_path(low_rank, 8, random_state=0, checkpoint=tmp_path / "c")


def test_other_versions(same: Same, low_rank: np.ndarray, tmp_path: Path) -> None:
    begun(low_rank, tmp_path / "good")

    def begun_with(**versions: str) -> Path:
        def change(label: dict[str, Any]) -> None:
            label["identity"]["versions"].update(versions)

        (tmp_path / "c").unlink(missing_ok=True)
        rewritten(tmp_path / "good", tmp_path / "c", change, 0)
        return tmp_path / "c"

    with pytest.raises(ValueError, match=r"from another version: autonmf was 0.0.1, is .* to start again"):
        rank_path(low_rank, 8, random_state=0, checkpoint=begun_with(autonmf="0.0.1"))
    with pytest.warns(
        UserWarning, match=r"written with other versions: numpy was 1.0, is .* last digits may differ"
    ):
        path = rank_path(low_rank, 8, random_state=0, checkpoint=begun_with(numpy="1.0"))
    assert same(path, rank_path(low_rank, 8, random_state=0))
