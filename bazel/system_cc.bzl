"""Wraps a library installed on the machine in a repository with one cc_library.

Its headers are symlinked into the repository, so that they are declared inputs: sandboxing, layering checks and rebuilds
after an upgrade work. Its flags come from pkg-config where it has a .pc file.
"""

_BUILD = """load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = {name},
    hdrs = {hdrs},
    defines = {defines},
    includes = ["include"],
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
"""

def pkg_config(ctx, args):
    """Runs pkg-config; None when it or the module is missing."""
    tool = ctx.which("pkg-config")
    if tool == None:
        return None
    result = ctx.execute([tool] + args)
    if result.return_code != 0:
        return None
    return [w for w in result.stdout.replace("\n", " ").split(" ") if w]

def installed_version(ctx, debian_package, module = None):
    """Text that changes when the library is upgraded."""
    tool = ctx.which("dpkg-query")
    if tool != None:
        result = ctx.execute([tool, "-W", "-f", "${Package} ${Version}", debian_package])
        if result.return_code == 0:
            return result.stdout
    version = pkg_config(ctx, ["--modversion", module]) if module else None
    return "%s %s" % (module, version[0] if version else "")

def _library_dirs(ctx):
    """The C compiler's library directories, for libraries without a .pc file."""
    cc = ctx.os.environ.get("CC", "cc")
    result = ctx.execute([ctx.which(cc) or cc, "-print-search-dirs"])
    dirs = []
    if result.return_code == 0:
        for line in result.stdout.splitlines():
            if line.startswith("libraries: ="):
                dirs = line[len("libraries: ="):].split(":")
    return dirs + ["/usr/local/lib", "/usr/lib"]

def _has_file(ctx, dirs, names):
    for d in dirs:
        for name in names:
            if ctx.path("%s/%s" % (d.rstrip("/"), name)).exists:
                return True
    return False

def _missing(ctx, why):
    fail("@%s: %s (Debian: apt-get install %s)" % (ctx.name, why, ctx.attr.debian_package))

def _symlink_headers(ctx, dirs):
    for header in ctx.attr.headers:
        for d in dirs:
            path = ctx.path("%s/%s" % (d, header))
            if path.exists:
                ctx.symlink(path, "include/" + header)
                break
        if not ctx.path("include/" + header).exists:
            _missing(ctx, "there is no header %s" % header)

def _system_cc_repository_impl(ctx):
    include_dirs = ["/usr/local/include", "/usr/include"]
    defines = []
    linkopts = ["-l" + lib for lib in ctx.attr.libs]
    module = None
    if ctx.attr.pkg_config:
        module = ctx.attr.pkg_config[0]
        cflags = pkg_config(ctx, ["--cflags"] + ctx.attr.pkg_config)
        libs = pkg_config(ctx, ["--libs"] + ctx.attr.pkg_config)
        if cflags == None or libs == None:
            _missing(ctx, "pkg-config knows no %s" % " ".join(ctx.attr.pkg_config))
        include_dirs = [f[2:].rstrip("/") for f in cflags if f.startswith("-I")] + include_dirs
        defines = [f[2:] for f in cflags if f.startswith("-D")]
        linkopts = libs + linkopts
    for lib in ctx.attr.libs:
        if not _has_file(ctx, _library_dirs(ctx), ["lib%s.so" % lib, "lib%s.a" % lib]):
            _missing(ctx, "there is no lib%s" % lib)
    _symlink_headers(ctx, include_dirs)

    # Bazel does not look into a header directory; this file changes with it.
    ctx.file("distro_version.h", "// %s\n" % installed_version(ctx, ctx.attr.debian_package, module))
    ctx.file("BUILD.bazel", _BUILD.format(
        name = repr(ctx.attr.target),
        hdrs = repr(["distro_version.h"] + ["include/" + h for h in ctx.attr.headers]),
        defines = repr(defines),
        linkopts = repr(linkopts),
    ))

system_cc_repository = repository_rule(
    implementation = _system_cc_repository_impl,
    configure = True,
    local = True,
    environ = ["CC", "PKG_CONFIG_PATH"],
    attrs = {
        "target": attr.string(mandatory = True),
        "pkg_config": attr.string_list(doc = "pkg-config modules, if it has any"),
        "libs": attr.string_list(doc = "library names, for those without a .pc file"),
        "headers": attr.string_list(doc = "headers and header directories to expose; directories are one input each"),
        "debian_package": attr.string(mandatory = True),
    },
)
