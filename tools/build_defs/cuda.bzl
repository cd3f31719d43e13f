"""vellum_cuda_library, apart from vellum.bzl so that only packages with CUDA sources look for a toolkit."""

load("//bazel/cuda:defs.bzl", "cuda_objects", "requires_cuda")
load(":vellum.bzl", "vellum_cc_library")

def vellum_cuda_library(name, srcs, hdrs = [], deps = [], copts = [], alwayslink = False, **kwargs):
    """A library of .cu sources, with headers as vellum_cc_library has them. Skipped unless the build is --config=cuda.

    Args:
      name: as in cc_library.
      srcs: .cu sources, compiled by nvcc.
      hdrs: .h for all, .cuh for what only nvcc compiles.
      deps: of sources and headers.
      copts: for nvcc.
      alwayslink: as in cc_library.
      **kwargs: passed to the cc_library of that name.
    """
    vellum_cc_library(
        name = name + "_headers",
        hdrs = hdrs,
        target_compatible_with = requires_cuda(),
        visibility = ["//visibility:private"],
        deps = deps + ["@local_cuda//:cudart"],
    )
    cuda_objects(
        name = name + "_objects",
        srcs = srcs,
        alwayslink = alwayslink,
        copts = copts,
        target_compatible_with = requires_cuda(),
        visibility = ["//visibility:private"],
        deps = [":" + name + "_headers"],
    )
    vellum_cc_library(
        name = name,
        hdrs = hdrs,
        target_compatible_with = requires_cuda(),
        deps = deps + [
            ":" + name + "_objects",
            "@local_cuda//:cudart",
        ],
        **kwargs
    )
