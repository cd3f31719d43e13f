"""Compiles .cu sources with nvcc into what C++ targets can depend on, and says which targets need CUDA."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@local_cuda//:toolkit.bzl", "CCBIN", "NVCC")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

_CudaToolkitInfo = provider(fields = ["nvcc", "ccbin", "architectures", "copts"])

def _cuda_toolkit_impl(ctx):
    return [_CudaToolkitInfo(
        nvcc = NVCC,
        ccbin = CCBIN,
        architectures = ctx.attr.architectures[BuildSettingInfo].value,
        copts = ctx.attr.copts[BuildSettingInfo].value,
    )]

cuda_toolkit = rule(
    implementation = _cuda_toolkit_impl,
    attrs = {
        "architectures": attr.label(mandatory = True, providers = [BuildSettingInfo]),
        "copts": attr.label(mandatory = True, providers = [BuildSettingInfo]),
    },
)

# No kernel needs it, but a build without optimisation should stay readable in cuda-gdb.
_MODE_FLAGS = {
    "dbg": ["-O0", "-g"],
    "fastbuild": ["-O1"],
    "opt": ["-O3", "-DNDEBUG"],
}

def _generate_code(architectures):
    """Machine code for each architecture, and PTX of the last unless it is bound to one chip (sm_90a) or family (f)."""
    numbers = [a.replace("sm_", "") for a in architectures]
    flags = ["-gencode=arch=compute_%s,code=sm_%s" % (n, n) for n in numbers]
    if numbers and not numbers[-1].endswith(("a", "f")):
        flags.append("-gencode=arch=compute_%s,code=compute_%s" % (numbers[-1], numbers[-1]))
    return flags

def _compile(ctx, toolkit, cc_toolchain, context, source):
    output = ctx.actions.declare_file("_cuda/%s/%s.pic.o" % (ctx.label.name, source.basename))
    args = ctx.actions.args()
    args.add_all(["-x", "cu", "-std=c++20", "--expt-relaxed-constexpr"])
    args.add("-c", source)
    args.add("-o", output)
    args.add("-ccbin", toolkit.ccbin or cc_toolchain.compiler_executable)

    # The same names of temporary files, and so the same object, in each run.
    args.add("--objdir-as-tempdir")
    args.add("--frandom-seed", source.path)
    args.add_all(_generate_code(toolkit.architectures))
    args.add_all(_MODE_FLAGS[ctx.var["COMPILATION_MODE"]])
    args.add("-Xcompiler=-fPIC")
    args.add_all(context.defines, format_each = "-D%s")
    args.add_all(context.quote_includes, format_each = "-I%s")
    args.add_all(context.includes, format_each = "-I%s")
    args.add_all(context.system_includes, before_each = "-isystem")
    args.add_all(toolkit.copts + ctx.attr.copts)
    ctx.actions.run(
        executable = toolkit.nvcc,
        arguments = [args],
        inputs = depset([source], transitive = [context.headers, cc_toolchain.all_files]),
        outputs = [output],
        mnemonic = "CudaCompile",
        progress_message = "Compiling %s" % source.short_path,
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    return output

def _cuda_objects_impl(ctx):
    toolkit = ctx.attr._toolkit[_CudaToolkitInfo]
    if toolkit.nvcc == None:
        fail("%s needs a CUDA toolkit, and none was found; set CUDA_PATH, or build without --config=cuda" % ctx.label)
    cc_toolchain = find_cc_toolchain(ctx)
    infos = [dep[CcInfo] for dep in ctx.attr.deps]
    context = cc_common.merge_cc_infos(cc_infos = infos).compilation_context
    objects = depset([_compile(ctx, toolkit, cc_toolchain, context, source) for source in ctx.files.srcs])
    linking, outputs = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = cc_common.configure_features(
            ctx = ctx,
            cc_toolchain = cc_toolchain,
            requested_features = ctx.features,
            unsupported_features = ctx.disabled_features,
        ),
        cc_toolchain = cc_toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(objects = objects, pic_objects = objects),
        linking_contexts = [info.linking_context for info in infos],
        alwayslink = ctx.attr.alwayslink,
        disallow_dynamic_library = True,
    )
    library = outputs.library_to_link
    archives = [library.static_library, library.pic_static_library] if library else []
    return [
        DefaultInfo(files = depset([f for f in archives if f])),
        CcInfo(compilation_context = context, linking_context = linking),
    ]

cuda_objects = rule(
    implementation = _cuda_objects_impl,
    doc = "An archive of .cu sources; vellum_cuda_library puts headers beside it.",
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "alwayslink": attr.bool(default = False),
        "_toolkit": attr.label(default = "//bazel/cuda:toolkit", providers = [_CudaToolkitInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
)

def if_cuda(yes, no = []):
    """A select() on whether CUDA targets are built."""
    return select({
        str(Label("//bazel/cuda:enabled")): yes,
        "//conditions:default": no,
    })

def requires_cuda():
    """What a target that cannot be built without CUDA has as target_compatible_with."""
    return if_cuda([], ["@platforms//:incompatible"])
