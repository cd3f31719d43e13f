"""@local_cuda: the CUDA toolkit of this machine, or an empty stand-in where there is none.

It is looked for at $CUDA_PATH, at $CUDA_HOME, beside the nvcc on $PATH, and where installers put it. What is named in the
environment and is no toolkit is not replaced by another.
"""

_USUAL_PLACES = [
    "/usr/local/cuda",
    "/opt/cuda",
    "/usr/lib/cuda",
]

# Targets, their linker flags, and the library that must be there.
_LIBRARIES = {
    "cublas": (["-lcublas", "-lcublasLt"], "libcublas.so"),
}

# Each is one input of a compilation instead of hundreds; Bazel does not look into them, version.h changes with them.
_HEADER_DIRECTORIES = ["cccl", "cooperative_groups", "crt", "nv", "nvtx3"]

_LOAD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])
"""

# Every library has all headers: there is no telling which are whose, and clang's layering_check wants them from a direct
# dependency.
_HEADERS = """
filegroup(
    name = "header_files",
    srcs = {headers},
)
"""

_LIBRARY = """
cc_library(
    name = {name},
    hdrs = [":header_files"],
    includes = [
        "include",
        "include/cccl",
    ],
    linkopts = {linkopts},
)
"""

_MISSING = """
cc_library(
    name = {name},
    # {why}
    target_compatible_with = ["@platforms//:incompatible"],
)
"""

_NVCC = """
# There wherever a toolkit is.
exports_files(["nvcc"])
"""

_TOOLKIT = """NVCC = {nvcc}
CCBIN = {ccbin}
"""

def _is_toolkit(ctx, root):
    return ctx.path(root + "/bin/nvcc").exists

def _find_root(ctx):
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        root = ctx.os.environ.get(variable)
        if root:
            return root if _is_toolkit(ctx, root) else None
    nvcc = ctx.which("nvcc")
    if nvcc != None:
        root = str(nvcc.realpath.dirname.dirname)

        # A wrapper in /usr/bin stands beside no toolkit's headers.
        if ctx.path(root + "/include/cuda_runtime.h").exists:
            return root
    for root in _USUAL_PLACES:
        if _is_toolkit(ctx, root):
            return root
    return None

def _version(ctx, nvcc):
    for line in ctx.execute([nvcc, "--version"]).stdout.splitlines():
        if "release " in line:
            return line.split("release ")[1].split(",")[0]
    return "unknown"

def _library(name, linkopts):
    return _LIBRARY.format(name = repr(name), linkopts = repr(linkopts))

def _symlink_headers(ctx, root):
    # Each header at the top is a file of its own, as clang's layering_check wants to see them.
    headers = ["version.h"]
    for entry in ctx.path(root + "/include").readdir():
        name = entry.basename
        if name.endswith((".h", ".hpp")) or name in _HEADER_DIRECTORIES:
            ctx.symlink(entry, "include/" + name)
            headers.append("include/" + name)
    return sorted(headers)

def _stand_in(ctx):
    text = _LOAD
    for name in ["headers", "cudart"] + _LIBRARIES.keys():
        text += _MISSING.format(name = repr(name), why = "No CUDA toolkit was found.")
    ctx.file("toolkit.bzl", _TOOLKIT.format(nvcc = None, ccbin = None))
    ctx.file("BUILD.bazel", text)

def _cuda_repository_impl(ctx):
    root = _find_root(ctx)
    if root == None:
        _stand_in(ctx)
        return
    nvcc = root + "/bin/nvcc"
    ctx.file("toolkit.bzl", _TOOLKIT.format(nvcc = repr(nvcc), ccbin = repr(ctx.os.environ.get("NVCC_CCBIN"))))
    ctx.file("version.h", "// CUDA %s at %s\n" % (_version(ctx, nvcc), root))
    libraries = root + ("/lib64" if ctx.path(root + "/lib64").exists else "/lib")
    ctx.symlink(nvcc, "nvcc")
    text = _LOAD + _NVCC + _HEADERS.format(headers = repr(_symlink_headers(ctx, root)))

    # Static, so that a program starts where there is neither a toolkit nor a driver.
    text += _library("headers", [])
    text += _library("cudart", ["-L" + libraries, "-lcudart_static", "-ldl", "-lpthread", "-lrt"])
    for name, (linkopts, file) in _LIBRARIES.items():
        if ctx.path(libraries + "/" + file).exists:
            text += _library(name, ["-L" + libraries, "-Wl,-rpath," + libraries] + linkopts)
        else:
            text += _MISSING.format(name = repr(name), why = "The toolkit has no " + file)
    ctx.file("BUILD.bazel", text)

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    configure = True,
    local = True,
    environ = ["CUDA_HOME", "CUDA_PATH", "NVCC_CCBIN", "PATH"],
)
