"""The repositories that Vellum needs; a dependent's WORKSPACE calls the same macro.

Repositories that are already declared are kept. The environment variable VELLUM_DEPS chooses between the distribution's
Abseil and GoogleTest ("system") and their releases ("source"); by default the former where they are installed.
"""

load("@bazel_tools//tools/build_defs/repo:utils.bzl", "maybe")
load("//bazel/cuda:configure.bzl", "cuda_repository")
load(":googletest.bzl", "googletest_repository")
load(":system_absl.bzl", "absl_repository")
load(":system_cc.bzl", "system_cc_repository")

def vellum_dependencies():
    maybe(
        absl_repository,
        "com_google_absl",
        urls = ["https://github.com/abseil/abseil-cpp/archive/refs/tags/20220623.1.tar.gz"],
        sha256 = "91ac87d30cc6d79f9ab974c51874a704de9c2647c40f6932597329a282217ba8",
        strip_prefix = "abseil-cpp-20220623.1",
    )
    maybe(
        googletest_repository,
        "com_google_googletest",
        urls = ["https://github.com/google/googletest/archive/refs/tags/release-1.12.1.tar.gz"],
        sha256 = "81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2",
        strip_prefix = "googletest-release-1.12.1",
    )
    maybe(
        system_cc_repository,
        "com_github_google_benchmark",
        target = "benchmark",
        pkg_config = ["benchmark"],
        headers = ["benchmark"],
        debian_package = "libbenchmark-dev",
    )
    machine_dependencies()

def machine_dependencies():
    """Libraries that are only ever taken from this machine."""
    maybe(
        system_cc_repository,
        "onednn",
        target = "onednn",
        libs = ["dnnl"],
        headers = [
            "dnnl.h",
            "dnnl.hpp",
            "dnnl_config.h",
            "dnnl_types.h",
            "dnnl_version.h",
            "oneapi",
        ],
        debian_package = "libdnnl-dev",
    )
    maybe(
        system_cc_repository,
        "highway",
        target = "highway",
        pkg_config = ["libhwy"],
        headers = ["hwy"],
        debian_package = "libhwy-dev",
    )
    maybe(
        system_cc_repository,
        "nlohmann_json",
        target = "json",
        pkg_config = ["nlohmann_json"],
        headers = ["nlohmann"],
        debian_package = "nlohmann-json3-dev",
    )
    maybe(
        system_cc_repository,
        "zlib",
        target = "zlib",
        pkg_config = ["zlib"],
        headers = ["zlib.h"],
        debian_package = "zlib1g-dev",
    )
    maybe(cuda_repository, "local_cuda")
