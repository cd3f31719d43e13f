"""Bzlmod's way to the repositories of deps.bzl that come from the machine."""

load(":deps.bzl", "machine_dependencies")

def _machine_impl(_module_ctx):
    machine_dependencies()

machine = module_extension(implementation = _machine_impl)
