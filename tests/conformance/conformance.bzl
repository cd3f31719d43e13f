"""The test that every backend runs."""

load("//tools/build_defs:vellum.bzl", "vellum_cc_test")

def backend_conformance_test(name, backend, srcs, deps = [], **kwargs):
    """Runs all conformance suites over all operators that are linked in, on one backend.

    For backends of this and of other workspaces. Takes no GPU by itself: add tags as the device needs them.

    Args:
      name: of the test.
      backend: the backend's alwayslink register target.
      srcs: one source that defines vellum::conformance::target(): the device's name and the expected failures.
      deps: operators of your own, and their samples.
      **kwargs: passed to cc_test.
    """
    vellum_cc_test(
        name = name,
        size = kwargs.pop("size", "medium"),
        srcs = srcs,
        deps = [
            backend,
            str(Label("//tests/conformance")),
            str(Label("//tests/conformance:suites")),
        ] + deps,
        **kwargs
    )
