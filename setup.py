"""Builds the compiled kernels; everything else is in pyproject.toml.

The C file needs no Python headers: it is loaded with ctypes. ``optional`` lets the install succeed without
a compiler; the package then runs on its NumPy kernels.
"""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "autonmf.kernels._native",
            sources=["src/autonmf/kernels/native.c"],
            depends=["src/autonmf/kernels/native_template.h", "src/autonmf/kernels/kl_template.h"],
            extra_compile_args=["-O3", "-std=c11", "-fopenmp-simd", "-Wno-psabi"],
            optional=True,
        )
    ]
)
