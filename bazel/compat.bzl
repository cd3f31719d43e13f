"""Lets one WORKSPACE work on Debian's offline Bazel and on upstream Bazel.

The WORKSPACE suffix that is built into Bazel wants to download rules_java, remote_coverage_tools and more. A repository
that the WORKSPACE declares before wins over the suffix, so declaring the distribution's copies here keeps it offline.
"""

load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")
load("@bazel_tools//tools/build_defs/repo:utils.bzl", "maybe")

def _distro_repository_impl(ctx):
    root = ctx.path(ctx.attr.path)
    if not root.exists:
        fail("@%s: there is no %s (Debian: apt-get install %s)" % (ctx.name, root, ctx.attr.debian_package))
    for entry in root.readdir():
        ctx.symlink(entry, entry.basename)

_distro_repository = repository_rule(
    implementation = _distro_repository_impl,
    local = True,
    attrs = {
        "path": attr.string(mandatory = True),
        "debian_package": attr.string(mandatory = True),
    },
)

def _shim_repository_impl(ctx):
    """A repository made of a few files of this project."""
    for label, dest in ctx.attr.files.items():
        ctx.symlink(label, dest)
    for package in ctx.attr.packages:
        ctx.file((package + "/" if package else "") + "BUILD.bazel")
    ctx.file("WORKSPACE", 'workspace(name = "%s")\n' % ctx.name)

_shim_repository = repository_rule(
    implementation = _shim_repository_impl,
    local = True,
    attrs = {
        "files": attr.label_keyed_string_dict(allow_files = True),
        "packages": attr.string_list(doc = "packages without targets"),
    },
)

def _distro(name, path):
    maybe(
        _distro_repository,
        name,
        path = "/usr/share/bazel/" + path,
        debian_package = "bazel-" + name.replace("bazel_", "").replace("_", "-"),
    )

def _coverage_tools():
    maybe(
        _shim_repository,
        "remote_coverage_tools",
        files = {
            Label("//bazel/shims:coverage_tools.BUILD"): "BUILD.bazel",
            Label("//bazel/shims:lcov_tool.py"): "lcov_tool.py",
        },
    )

def _debian_4_repositories():
    """Debian 12 and 13, Ubuntu: bazel-bootstrap 4.2.3."""
    _coverage_tools()

    # Debian's bazel-rules-cc needs a newer Bazel than Debian's Bazel.
    maybe(
        _shim_repository,
        "rules_cc",
        files = {
            Label("//bazel/shims:rules_cc_cc_common.bzl"): "cc/common/cc_common.bzl",
            Label("//bazel/shims:rules_cc_cc_info.bzl"): "cc/common/cc_info.bzl",
            Label("//bazel/shims:rules_cc_defs.bzl"): "cc/defs.bzl",
            Label("//bazel/shims:rules_cc_find_cc_toolchain.bzl"): "cc/find_cc_toolchain.bzl",
            Label("//bazel/shims:rules_cc_native.bzl"): "cc/private/native.bzl",
        },
        packages = ["", "cc", "cc/common", "cc/private"],
    )
    _distro("rules_java", "rules/java")

    # The platforms inside this Bazel lack :incompatible.
    _distro("platforms", "tools/platforms")
    _distro("bazel_skylib", "tools/skylib")

def _debian_7_repositories():
    """Later Debian: bazel-bootstrap 7.7.1, in WORKSPACE mode."""
    _coverage_tools()
    _distro("rules_cc", "rules/cc")
    _distro("rules_java", "rules/java")
    _distro("rules_proto", "rules/proto")
    _distro("rules_python", "rules/python")
    _distro("rules_license", "rules/license")
    _distro("bazel_features", "tools/features")
    _distro("platforms", "tools/platforms")
    _distro("bazel_skylib", "tools/skylib")

def _upstream_repositories():
    """Upstream's Bazel, whose WORKSPACE suffix downloads the rest in the versions that match it.

    The files here need a rules_cc of 0.0.10 to 0.0.12: it has cc/common and no dependencies of its own yet.
    """
    maybe(
        http_archive,
        "rules_cc",
        urls = ["https://github.com/bazelbuild/rules_cc/releases/download/0.0.11/rules_cc-0.0.11.tar.gz"],
        sha256 = "7e2a1f6c5dd908e6e88d7c80257c99d14e16fa985b56342287fddb6a32c435b5",
        strip_prefix = "rules_cc-0.0.11",
    )
    maybe(
        http_archive,
        "platforms",
        urls = ["https://github.com/bazelbuild/platforms/releases/download/0.0.10/platforms-0.0.10.tar.gz"],
        sha256 = "218efe8ee736d26a3572663b374a253c012b716d8af0c07e842e82f238a0a7ee",
    )
    maybe(
        http_archive,
        "bazel_skylib",
        urls = ["https://github.com/bazelbuild/bazel-skylib/releases/download/1.4.2/bazel-skylib-1.4.2.tar.gz"],
        sha256 = "66ffd9315665bfaafc96b52278f57c7e2dd09f5ede279ea6d39b2be471e7e3aa",
    )

def vellum_bazel_compat():
    # Debian's builds have no version stamp; tell them apart by what they have.
    if native.bazel_version != "":
        _upstream_repositories()
    elif hasattr(native, "package_relative_label"):
        _debian_7_repositories()
    else:
        _debian_4_repositories()
