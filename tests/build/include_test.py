#!/usr/bin/env python3
"""Checks the sources of the whole tree: includes carry the prefix "vellum/" and go down the floors only, and a constant
of one source cannot be merged with that of another."""

import os
import re
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

# What each floor may include, besides itself. A folder that is not listed is a program and may include everything.
BELOW = {
    'device': set(),
    'allocator': {'device'},
    'tensor': {'device', 'allocator'},
    'autograd': {'device', 'allocator', 'tensor'},
    'backends': {'device', 'allocator', 'tensor'},
    'profiler': {'device', 'allocator', 'tensor'},
    'memory': {'device', 'allocator', 'tensor', 'autograd'},
    'nn': {'device', 'allocator', 'tensor', 'autograd', 'backends', 'profiler', 'memory'},
}
SOURCE = re.compile(r'\.(h|cc|cu|cuh|inc)$')
INCLUDE = re.compile(r'^\s*#\s*(?:include|define\s+HWY_TARGET_INCLUDE)\s*([<"])([^">]+)[">]', re.MULTILINE)
# In a source, where the linker would take one of two constants of this name in one namespace for both.
INLINE_CONSTANT = re.compile(r'^inline constexpr .*', re.MULTILINE)
# A workspace of its own, with an "nn/module.h" of its own.
CONSUMER = os.path.join('tests', 'consumer')


def sources(root):
  for folder, folders, files in os.walk(root):
    relative = os.path.relpath(folder, root)
    folders[:] = [
        f for f in folders if not f.startswith(('.', 'bazel-')) and os.path.normpath(os.path.join(relative, f)) != CONSUMER
    ]
    for name in files:
      if SOURCE.search(name):
        yield os.path.normpath(os.path.join(relative, name))


def complaint(root, source, bracket, target):
  """Why `source` must not include `target`, or None."""
  first, _, rest = target.partition('/')
  if first != 'vellum':
    here = os.path.join(root, os.path.dirname(source), target)
    # The name alone may be a header of the standard library: <memory>.
    ours = rest and first in BELOW or bracket == '"' and (os.path.exists(os.path.join(root, target)) or os.path.exists(here))
    return 'write it as "vellum/<path from the root>"' if ours else None
  if bracket == '<':
    return 'write it with quotes'
  floor = source.split('/')[0]
  if floor not in BELOW:
    return None
  included = rest.split('/')[0]
  if included == floor or included in BELOW[floor]:
    return None
  return '%s/ stands below or beside %s' % (floor, included)


def violations(root):
  found = []
  for source in sorted(sources(root)):
    with open(os.path.join(root, source), encoding='utf-8') as f:
      text = f.read()
    for match in INCLUDE.finditer(text):
      why = complaint(root, source, *match.groups())
      if why:
        line = text.count('\n', 0, match.start(2)) + 1
        found.append('%s:%d: %s: %s' % (source, line, match.group(2), why))
    if source.endswith('.cc'):
      for match in INLINE_CONSTANT.finditer(text):
        line = text.count('\n', 0, match.start()) + 1
        found.append('%s:%d: %s: leave out "inline" in a source' % (source, line, match.group(0)))
  return found


class IncludeTest(unittest.TestCase):

  def check(self, source, line):
    with tempfile.TemporaryDirectory() as root:
      for path, text in (('tensor/tensor.h', ''), ('nn/module.h', ''), (source, line + '\n')):
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), 'w', encoding='utf-8') as f:
          f.write(text)
      return violations(root)

  def test_accepts_what_goes_down(self):
    for source, line in (
        ('tensor/a.cc', '#include "vellum/tensor/tensor.h"'),
        ('tensor/a.cc', '#include "vellum/device/device.h"'),
        ('nn/a.h', '#include "vellum/backends/cpu/backend.h"'),
        ('tests/nn/a.cc', '#include "vellum/vellum.h"'),
        ('tensor/a.cc', '#include <tuple>'),
        ('tensor/a.cc', '#include <memory>'),
        ('tensor/a.cc', '#include "absl/types/span.h"'),
        ('tests/consumer/app/a.cc', '#include "nn/module.h"'),
    ):
      self.assertEqual(self.check(source, line), [], (source, line))

  def test_rejects_what_lacks_the_prefix(self):
    for source, line in (
        ('nn/a.cc', '#include "tensor/tensor.h"'),
        ('nn/a.cc', '#include <tensor/tensor.h>'),
        ('nn/a.cc', '  #  include "module.h"'),
        ('nn/a.cc', '#include <vellum/nn/module.h>'),
        ('backends/cpu/a.cc', '#define HWY_TARGET_INCLUDE "backends/cpu/a.cc"'),
    ):
      self.assertEqual(len(self.check(source, line)), 1, (source, line))

  def test_rejects_what_goes_up_or_aside(self):
    for source, line in (
        ('device/a.h', '#include "vellum/allocator/allocator.h"'),
        ('tensor/ops/a.cc', '#include "vellum/backends/cpu/backend.h"'),
        ('autograd/a.cc', '#include "vellum/backends/meta/backend.h"'),
        ('backends/cpu/a.cc', '#include "vellum/autograd/node.h"'),
        ('autograd/a.cc', '#include "vellum/profiler/profiler.h"'),
        ('autograd/a.cc', '#include "vellum/memory/ledger.h"'),
        ('memory/a.cc', '#include "vellum/nn/module.h"'),
        ('nn/a.cc', '#include "vellum/tests/conformance/suite.h"'),
        ('nn/a.cc', '#include "vellum/vellum.h"'),
    ):
      self.assertEqual(len(self.check(source, line)), 1, (source, line))

  def test_rejects_an_inline_constant_of_a_source(self):
    self.assertEqual(len(self.check('tensor/a.cc', 'inline constexpr int kGrain = 1;')), 1)
    self.assertEqual(len(self.check('tensor/a.cc', 'constexpr int kGrain = 1;')), 0)
    self.assertEqual(len(self.check('tensor/a.h', 'inline constexpr int kGrain = 1;')), 0)

  def test_the_tree(self):
    # An empty walk would pass in silence.
    self.assertTrue(os.path.exists(os.path.join(ROOT, 'WORKSPACE')), ROOT)
    self.assertGreater(len(list(sources(ROOT))), 0)
    self.assertEqual(violations(ROOT), [], '\n' + '\n'.join(violations(ROOT)))


if __name__ == '__main__':
  sys.exit(unittest.main())
