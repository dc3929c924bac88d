"""The forms in which components are read: images, spectra, words, templates."""

from autonmf.plotting.forms.images import Images
from autonmf.plotting.forms.spectra import Spectra
from autonmf.plotting.forms.templates import Templates
from autonmf.plotting.forms.words import Words

__all__ = ["Images", "Spectra", "Templates", "Words"]
