#!/usr/bin/env python3
"""Where vs_libtorch finds a LibTorch, and what it says where there is none. None is needed here."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, 'benchmarks')

import libtorch  # pylint: disable=wrong-import-position

HEADER = 'torch/csrc/api/include/torch/torch.h'


class FindTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.root = folder.name

  def put(self, *paths, text=''):
    for path in paths:
      path = os.path.join(self.root, path)
      os.makedirs(os.path.dirname(path), exist_ok=True)
      with open(path, 'w', encoding='utf-8') as f:
        f.write(text)

  def test_the_package_of_debian_needs_no_flag(self):
    self.put('include/' + HEADER, 'lib/x86_64-linux-gnu/libtorch_cpu.so')
    found = libtorch.find(system=self.root)
    self.assertEqual(found.library, self.root + '/lib/x86_64-linux-gnu/libtorch_cpu.so')

  def test_an_unpacked_archive_is_found_by_its_root(self):
    self.put('include/' + HEADER, 'lib/libtorch_cpu.so')
    found = libtorch.find(self.root, system='/nowhere')
    self.assertEqual(found.compile_options(), [
        '-isystem', self.root + '/include', '-isystem', self.root + '/include/torch/csrc/api/include'])
    self.assertIn('-Wl,-rpath,' + self.root + '/lib', found.link_options())

  def test_the_abi_of_an_archive_is_kept(self):
    self.put('include/' + HEADER, 'lib/libtorch_cpu.so')
    self.put('share/cmake/Torch/TorchConfig.cmake', text='set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")\n')
    self.assertEqual(libtorch.find(self.root).flags, ['-D_GLIBCXX_USE_CXX11_ABI=0'])

  def test_without_any_it_says_how_to_get_one(self):
    with self.assertRaises(libtorch.Missing) as caught:
      libtorch.find(system=self.root)
    self.assertIn('apt-get install libtorch-dev', str(caught.exception))
    self.assertIn('--libtorch_root=DIR', str(caught.exception))

  def test_a_root_that_is_none_is_named(self):
    self.put('include/' + HEADER)
    with self.assertRaisesRegex(libtorch.Missing, self.root + '.*no lib/libtorch_cpu.so'):
      libtorch.find(self.root)

  def test_headers_of_the_system_are_not_named_to_the_compiler(self):
    options = libtorch.LibTorch('/usr/include', '/usr/lib/libtorch_cpu.so').compile_options()
    self.assertEqual(options, ['-isystem', '/usr/include/torch/csrc/api/include'])


class BuildTest(unittest.TestCase):

  def test_a_failing_compiler_is_quoted_and_leaves_nothing_behind(self):
    with tempfile.TemporaryDirectory() as folder:
      compiler = os.path.join(folder, 'compiler')
      with open(compiler, 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\n[ "$1" = --version ] || { echo "no such header" >&2; exit 1; }\n')
      os.chmod(compiler, 0o755)
      os.environ['CXX'] = compiler
      self.addCleanup(os.environ.pop, 'CXX')
      with self.assertRaisesRegex(libtorch.Missing, 'no such header'):
        libtorch.build(libtorch.LibTorch(folder, compiler), say=lambda _: None, cache=os.path.join(folder, 'cache'))
      self.assertEqual(os.listdir(os.path.join(folder, 'cache')), [])

  def test_what_has_been_compiled_is_used_again(self):
    with tempfile.TemporaryDirectory() as folder:
      compiler, library = os.path.join(folder, 'compiler'), os.path.join(folder, 'libtorch_cpu.so')
      with open(compiler, 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = -o ] && touch "$2"; shift; done\n')
      os.chmod(compiler, 0o755)
      os.environ['CXX'] = compiler
      self.addCleanup(os.environ.pop, 'CXX')

      def build(text):
        with open(library, 'w', encoding='utf-8') as f:
          f.write(text)
        os.utime(library, (0, 0))
        said = []
        return libtorch.build(libtorch.LibTorch(folder, library), said.append, os.path.join(folder, 'cache')), said

      first, said = build('one version')
      self.assertEqual(len(said), 1)
      self.assertEqual(build('one version'), (first, []))
      other, said = build('another version')
      self.assertNotEqual(other, first)
      self.assertEqual(len(said), 1)


class BlasTest(unittest.TestCase):

  def test_the_reference_implementation_is_told_from_tuned_ones(self):
    folder = '/usr/lib/x86_64-linux-gnu/'
    for libraries, expected in (
        (['blas/libblas.so.3.11.0', 'libc10.so'], ('libblas.so.3.11.0', True)),
        (['openblas-pthread/libblas.so.3', 'openblas-pthread/libopenblasp-r0.3.21.so'],
         ('libopenblasp-r0.3.21.so', False)),
        (['libmkl_rt.so'], ('libmkl_rt.so', False)),
        (['libtorch_cpu.so'], (None, False)),
    ):
      self.assertEqual(libtorch.blas({folder + path for path in libraries}), expected)


if __name__ == '__main__':
  sys.exit(unittest.main())
