"""Catalogues of mutations from known signatures: tumours in rows, types of mutations in columns."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from autonmf.datasets.dataset import Dataset, check_dtype, encode_labels, read_npz
from autonmf.datasets.fetching import DataHome, DataUnavailableError, fetch_file
from autonmf.io.table import ReadError

Kind: TypeAlias = Literal["sbs", "indel"]
Noise: TypeAlias = Literal["noiseless", "moderate", "realistic"]
KINDS: tuple[Kind, ...] = ("sbs", "indel")
NOISES: tuple[Noise, ...] = ("noiseless", "moderate", "realistic")
SOURCE = "Liu, Wu, Jiang, Boot and Rozen (2023); Rozen-Lab/mSigHdp_sup_files"


def fetch_signatures(
    *,
    kind: Kind = "sbs",
    noise: Noise = "realistic",
    data_home: DataHome = None,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Simulated tumours whose mutational signatures are known; a matrix of counts.

    Parameters
    ----------
    kind : {"sbs", "indel"}
        540 tumours x 96 types of single base substitutions, 23 signatures; or 1119 tumours x 83 types of
        small insertions and deletions, 11 signatures.
    noise : {"realistic", "moderate", "noiseless"}
        Each signature contributes negative binomial counts (realistic: size 30 for "sbs", 10 for "indel";
        moderate: 100), or their means, rounded.
    data_home : path, optional
        Folder with ``signatures_sbs_realistic.npz`` and so on, which are not downloaded. By default it is the
        folder that the environment variable ``AUTONMF_DATA`` names, then the user's cache folder.
    dtype : {float64, float32}
        Type of the entries of X, U and V.

    Returns
    -------
    Dataset
        `V` are the signatures, `U` the mutations of each signature in each tumour, `labels` the cancer types.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be 'sbs' or 'indel', got {kind!r}")
    if noise not in NOISES:
        raise ValueError(f"noise must be 'noiseless', 'moderate' or 'realistic', got {noise!r}")
    asked = check_dtype(dtype)
    name = f"signatures_{kind}_{noise}"
    try:
        file = fetch_file(f"{name}.npz", data_home, download=False)
    except DataUnavailableError as error:
        raise DataUnavailableError(
            f"{error}; it is made from the tables of Rozen-Lab/mSigHdp_sup_files as docs/data.md says"
        ) from error
    stored = read_npz(file, ("X", "signatures", "exposures"), "a catalogue of mutations")
    X, V, U = stored["X"].T, stored["signatures"], stored["exposures"].T
    if X.shape != (len(U), len(V)) or U.shape[1] != V.shape[1]:
        raise ReadError(
            f"{file} has {X.shape[1]} types x {X.shape[0]} tumours, signatures of shape {V.shape} and "
            f"exposures of shape {U.shape[::-1]}, which do not fit together"
        )
    named = [str(sample) for sample in stored.get("samples", ())]  # SP.Syn.Breast-AdenoCA::S.1
    labels, label_names = encode_labels(
        [sample.partition("::")[0].removeprefix("SP.Syn.") for sample in named]
    )
    return Dataset(
        name,
        X.astype(asked),
        V.shape[1],
        "Counts as published.",
        SOURCE,
        "GPL-3.0-or-later",
        U=U.astype(asked),
        V=V.astype(asked),
        component_names=tuple(map(str, stored.get("signature_names", ()))),
        labels=labels if named else None,
        label_names=label_names,
        feature_names=tuple(map(str, stored.get("types", ()))),
    )
