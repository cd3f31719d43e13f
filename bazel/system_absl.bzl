"""@com_google_absl from the distro, with the labels of the upstream project.

One cc_library for each of Abseil's pkg-config modules holds its -l flag and its
dependencies (the .pc file's Requires). They link the shared libraries: Debian's
archives are not position-independent code, so they can't go into a plugin, and
a plugin and its host must share one Abseil anyway. Each upstream package (//absl/strings, ...) then has
a header target and the upstream target names on top of these modules.
"""

load(":system_cc.bzl", "installed_version", "pkg_config")

# Upstream package -> {upstream target: pkg-config modules beyond absl_<target>}.
_TARGETS = {
    "algorithm": {"algorithm": [], "container": ["algorithm_container"]},
    "base": {"base": [], "config": [], "core_headers": [], "endian": [], "log_severity": [], "dynamic_annotations": [], "prefetch": []},
    "cleanup": {"cleanup": []},
    "container": {"btree": [], "fixed_array": [], "flat_hash_map": [], "flat_hash_set": [], "inlined_vector": [], "node_hash_map": [], "node_hash_set": []},
    "debugging": {"failure_signal_handler": [], "leak_check": [], "stacktrace": [], "symbolize": []},
    "flags": {"flag": ["flags"], "parse": ["flags_parse"], "usage": ["flags_usage"], "reflection": ["flags_reflection"], "marshalling": ["flags_marshalling"]},
    "functional": {"any_invocable": [], "bind_front": [], "function_ref": []},
    "hash": {"hash": []},
    "memory": {"memory": []},
    "meta": {"type_traits": []},
    "numeric": {"bits": [], "int128": []},
    "random": {"random": ["random_random"], "distributions": ["random_distributions"], "bit_gen_ref": ["random_bit_gen_ref"], "seed_sequences": ["random_seed_sequences"]},
    "status": {"status": [], "statusor": []},
    "strings": {"strings": [], "str_format": [], "cord": []},
    "synchronization": {"synchronization": []},
    "time": {"time": []},
    "types": {"any": [], "compare": [], "optional": [], "span": [], "variant": []},
    "utility": {"utility": []},
}

_LOAD = 'load("@rules_cc//cc:defs.bzl", "cc_library")\n\n'

def _modules(ctx):
    """{module: (requires, libs, linkopts)} from one look at all .pc files."""
    pc_dirs = pkg_config(ctx, ["--variable=pcfiledir", "absl_base"])
    if not pc_dirs:
        return None
    modules = {}
    for path in ctx.path(pc_dirs[0]).readdir():
        base = path.basename
        if not (base.startswith("absl_") and base.endswith(".pc")):
            continue
        requires = []
        linkopts = []
        version = ""
        for line in ctx.read(path).splitlines():
            if line.startswith("Requires:"):
                for part in line[len("Requires:"):].split(","):
                    words = part.strip().split(" ")
                    if words[0]:
                        requires.append(words[0])
            elif line.startswith("Version:"):
                version = line[len("Version:"):].strip()
            elif line.startswith("Libs:"):
                for word in line[len("Libs:"):].split(" "):
                    if word.startswith("-l") and not word.startswith("-labsl_"):
                        if word != "-latomic":
                            linkopts.append(word)
        modules[base[:-3]] = struct(requires = requires, linkopts = linkopts, version = version)
    return modules

def system_absl(ctx):
    """Fills ctx's repository; False when the distro's Abseil is missing."""
    modules = _modules(ctx)
    if modules == None:
        return False
    libdir = pkg_config(ctx, ["--variable=libdir", "absl_base"])[0]
    incdir = pkg_config(ctx, ["--variable=includedir", "absl_base"])[0]

    # The modules: archives and their order.
    text = _LOAD + 'package(default_visibility = ["//:__subpackages__"])\n'
    for name in sorted(modules):
        m = modules[name]
        linkopts = list(m.linkopts)
        if name == "absl_base":
            linkopts.append("-pthread")
        if ctx.path("%s/lib%s.so" % (libdir, name)).exists:
            linkopts.insert(0, "-l" + name)
        text += """
cc_library(
    name = {name},
    linkopts = {linkopts},
    deps = {deps},
)
""".format(
            name = repr(name),
            linkopts = repr(linkopts),
            deps = repr([":" + r for r in m.requires if r in modules and r != name]),
        )
    ctx.file("modules/BUILD.bazel", text)

    # The headers: one directory, so one input for each compilation instead of
    # 300. Bazel doesn't track a directory's contents; distro_version.h does.
    ctx.symlink(incdir + "/absl", "include/absl")
    ctx.file("distro_version.h", "// %s\n" % installed_version(ctx, "libabsl-dev", "absl_base"))
    ctx.file("BUILD.bazel", _LOAD + """package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = [
        "distro_version.h",
        "include/absl",
    ],
    defines = ["NOMINMAX"],
    includes = ["include"],
)
""")
    for package, targets in _TARGETS.items():
        text = _LOAD + 'package(default_visibility = ["//visibility:public"])\n'
        for target, module_names in targets.items():
            mods = ["absl_" + m for m in (module_names or [target])]
            mods = [m for m in mods if m in modules]
            text += """
cc_library(
    name = {name},
    deps = {deps},
)
""".format(
                name = repr(target),
                deps = repr(["//:headers"] + ["//modules:" + m for m in mods]),
            )
        ctx.file("absl/%s/BUILD.bazel" % package, text)
    ctx.file("WORKSPACE", 'workspace(name = "com_google_absl")\n')
    return True

def _absl_repository_impl(ctx):
    source = ctx.os.environ.get("VELLUM_ABSL_SOURCE")
    if source:
        # An unpacked release, for example from `apt-get source abseil`.
        for entry in ctx.path(source).readdir():
            ctx.symlink(entry, entry.basename)
        return
    mode = ctx.os.environ.get("VELLUM_DEPS", "auto")
    if mode != "source" and system_absl(ctx):
        return
    if mode == "system":
        fail("@%s: no Abseil here (Debian: apt-get install libabsl-dev)" % ctx.name)
    ctx.download_and_extract(
        url = ctx.attr.urls,
        sha256 = ctx.attr.sha256,
        stripPrefix = ctx.attr.strip_prefix,
    )

absl_repository = repository_rule(
    implementation = _absl_repository_impl,
    configure = True,
    local = True,
    environ = ["VELLUM_ABSL_SOURCE", "VELLUM_DEPS", "PKG_CONFIG_PATH"],
    attrs = {
        "urls": attr.string_list(),
        "sha256": attr.string(),
        "strip_prefix": attr.string(),
    },
)
