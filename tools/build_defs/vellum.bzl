"""The macros that every C++ target of Vellum is made with.

They set the compiler options of the house and have every header included as "vellum/<path from the root>", so that a
dependent's own "nn/module.h" is never mistaken for ours.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-missing-field-initializers",
    "-Wno-sign-compare",
    # GCC 12 sees uninitialized and overlapping memory in inlined std::string and trivial copies where there is none.
    "-Wno-maybe-uninitialized",
    "-Wno-restrict",
    "-Wno-unknown-warning-option",
    # Nothing reads errno after a mathematical function, and loops that call one can then be vectorised.
    "-fno-math-errno",
]

def _copts(copts, openmp, optimize):
    own = _COPTS + (["-fopenmp"] if openmp else [])
    if optimize:
        own = own + select({
            str(Label("//tools/build_defs:opt")): ["-O3"],
            "//conditions:default": [],
        })
    return own + copts

def _linkopts(linkopts, openmp):
    return (["-fopenmp"] if openmp else []) + linkopts

def vellum_cc_library(
        name,
        srcs = [],
        hdrs = [],
        highway_srcs = [],
        copts = [],
        linkopts = [],
        openmp = False,
        optimize = False,
        **kwargs):
    """A cc_library whose headers are included as "vellum/<package>/<header>".

    Args:
      name: as in cc_library.
      srcs: sources only; a header there would be out of reach under its "vellum/" name.
      hdrs: all headers. Keep internal ones in a target of their own with a narrow visibility.
      highway_srcs: sources that include themselves once per instruction set, as
        `#define HWY_TARGET_INCLUDE "vellum/<package>/<source>"`.
      copts: added to those of the house.
      linkopts: added to those of the house.
      openmp: compile and link with OpenMP.
      optimize: -O3 in optimised builds; for kernels.
      **kwargs: passed to cc_library.
    """
    if type(srcs) == type([]):
        for src in srcs:
            if src.endswith(".h"):
                fail("//%s:%s: %s belongs into hdrs" % (native.package_name(), name, src))
    cc_library(
        name = name,
        srcs = srcs + highway_srcs,
        hdrs = hdrs + highway_srcs,
        copts = _copts(copts, openmp, optimize),
        include_prefix = "vellum",
        linkopts = _linkopts(linkopts, openmp),
        strip_include_prefix = "/",
        **kwargs
    )

def vellum_cc_binary(name, copts = [], linkopts = [], openmp = False, optimize = False, **kwargs):
    """A cc_binary with the options of the house; see vellum_cc_library."""
    cc_binary(
        name = name,
        copts = _copts(copts, openmp, optimize),
        linkopts = _linkopts(linkopts, openmp),
        **kwargs
    )

def vellum_cc_test(name, deps = [], size = "small", copts = [], linkopts = [], openmp = False, optimize = False, **kwargs):
    """A GoogleTest cc_test with the options of the house; see vellum_cc_library. A main() in srcs wins over gtest's."""
    cc_test(
        name = name,
        size = size,
        copts = _copts(copts, openmp, optimize),
        linkopts = _linkopts(linkopts, openmp),
        deps = deps + [
            "@com_google_googletest//:gtest",
            "@com_google_googletest//:gtest_main",
        ],
        **kwargs
    )
