"""
Parts of faces
==============

NMF became known by this picture: since parts can only be added, faces are taken to pieces. It is also a
case where no number of parts is right, and a method ought to say so.
"""

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import numpy as np

from autonmf import AutoNMF
from autonmf.datasets import Dataset, DataUnavailableError, fetch_olivetti
from autonmf.plotting import ComponentsDisplay

# %%
# The images
# ----------
# The Olivetti faces: 400 images of 64 x 64 pixels. Where the file is not there, simple faces are drawn: a
# head, two eyes, brows, a nose and a mouth, each of its own brightness in every image.


def generated_faces(size: int = 300, side: int = 32) -> Dataset:
    """Seven overlapping soft spots, arranged as a face."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:side, :side] / side
    left, right = 0.36, 0.64
    places = [(0.50, 0.50, 0.30, 0.22), (0.55, 0.50, 0.09, 0.04), (0.72, 0.50, 0.03, 0.10)]
    places += [(0.40, x, 0.04, 0.06) for x in (left, right)] + [(0.30, x, 0.02, 0.08) for x in (left, right)]
    V = np.array(
        [np.exp(-(((rows - y) / h) ** 2 + ((columns - x) / w) ** 2)).ravel() for y, x, h, w in places]
    ).T
    V[V < 0.01] = 0.0
    U = rng.gamma(1.5, size=(size, len(places))) * (rng.random((size, len(places))) < 0.8)
    X = np.maximum(U @ V.T + 0.03 * rng.standard_normal((size, side * side)), 0.0)
    return Dataset("generated faces", X, 7, "", "", "", image_shape=(side, side), image_order="C")


try:
    faces = fetch_olivetti(download=False)
except DataUnavailableError:
    faces = generated_faces()

figure, axes = plt.subplots(1, 5, figsize=(7, 1.6), layout="constrained")
for ax, image in zip(axes, faces.X[::10], strict=False):
    ax.imshow(faces.image(image), cmap="gray")
    ax.set_axis_off()
plt.show()

# %%
# How many parts
# --------------

model = AutoNMF(random_state=0).fit(faces.X)
print(model.rank_estimate_)
print(f"confidence: {model.rank_estimate_.confidence:.2f}")
model.rank_estimate_.plot()
plt.show()

# %%
# The parts
# ---------


def show_parts(fitted: AutoNMF) -> None:
    """Each component as an image."""
    ComponentsDisplay.from_estimator(fitted, shape=faces.image_shape, order=faces.image_order).plot()
    plt.show()


show_parts(model)

# %%
# More parts, smaller parts
# -------------------------
# Real faces differ at every scale, so no rank stands out, and more components mean finer pieces. Drawn faces
# have seven parts, and what comes after them is noise. All ranks are on the same path.

show_parts(model.at_rank(20, faces.X))
