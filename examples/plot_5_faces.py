"""
Parts of faces
==============

NMF became known for decomposing faces into parts, because nonnegative components can only be added. Faces
are also an example of data without a true number of parts.

.. image:: /examples/images/sphx_glr_plot_5_faces_003.png
   :alt: the components that are found below
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
# The Olivetti faces are 400 images of 64 x 64 pixels. If the file is not available, simple faces are
# generated with a head, two eyes, two brows, a nose and a mouth, whose intensities vary independently
# between images.


def make_faces(size: int = 300, side: int = 32) -> Dataset:
    """Seven overlapping Gaussian spots, arranged as a face."""
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
    faces = make_faces()

figure, axes = plt.subplots(1, 5, figsize=(7, 1.6), layout="constrained")
for ax, image in zip(axes, faces.X[::10], strict=False):
    ax.imshow(faces.image(image), cmap="gray")
    ax.set_axis_off()
plt.show()

# %%
# The number of parts
# -------------------

model = AutoNMF(random_state=0).fit(faces.X)
print(model.rank_estimate_)
print(f"confidence: {model.rank_estimate_.confidence:.2f}")
model.rank_estimate_.plot()
plt.show()

# %%
# The parts
# ---------


def show_parts(fitted: AutoNMF) -> None:
    """Plot each component as an image."""
    ComponentsDisplay.from_estimator(fitted, image_shape=faces.image_shape, order=faces.image_order).plot()
    plt.show()


show_parts(model)

# %%
# A higher rank
# -------------
# Real faces differ at every scale, so no rank stands out, and more components give smaller parts. Generated
# faces have seven parts, and further components fit noise. All ranks are on the same path.

show_parts(model.at_rank(20, faces.X))
