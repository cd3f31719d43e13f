"""@com_google_googletest from /usr/src/googletest, else from its release."""

_BUILD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "gtest",
    srcs = [
        "googletest/src/gtest-all.cc",
        "googlemock/src/gmock-all.cc",
    ],
    hdrs = glob([
        "googletest/include/**/*.h",
        "googlemock/include/**/*.h",
    ]),
    textual_hdrs = glob(
        [
            "googletest/src/*.h",
            "googletest/src/*.cc",
            "googlemock/src/*.cc",
        ],
        exclude = [
            "googletest/src/gtest-all.cc",
            "googlemock/src/gmock-all.cc",
        ],
    ),
    copts = [
        "-I$(GTEST)/googletest",
        "-I$(GTEST)/googlemock",
        "-w",
    ],
    includes = [
        "googlemock/include",
        "googletest/include",
    ],
    linkopts = ["-pthread"],
)

cc_library(
    name = "gtest_main",
    srcs = ["googlemock/src/gmock_main.cc"],
    copts = ["-w"],
    deps = [":gtest"],
)
"""

def _googletest_repository_impl(ctx):
    mode = ctx.os.environ.get("VELLUM_DEPS", "auto")
    root = ctx.path("/usr/src/googletest")
    if mode != "source" and root.exists:
        ctx.symlink(str(root) + "/googletest", "googletest")
        ctx.symlink(str(root) + "/googlemock", "googlemock")
        ctx.file("WORKSPACE", 'workspace(name = "com_google_googletest")\n')
        build = _BUILD.replace("$(GTEST)", "external/" + ctx.name)
        ctx.file("BUILD.bazel", build)
        return
    if mode == "system":
        fail("@%s: no /usr/src/googletest (Debian: apt-get install googletest)" % ctx.name)
    ctx.download_and_extract(
        url = ctx.attr.urls,
        sha256 = ctx.attr.sha256,
        stripPrefix = ctx.attr.strip_prefix,
    )

googletest_repository = repository_rule(
    implementation = _googletest_repository_impl,
    configure = True,
    local = True,
    environ = ["VELLUM_DEPS"],
    attrs = {
        "urls": attr.string_list(),
        "sha256": attr.string(),
        "strip_prefix": attr.string(),
    },
)
