#!/usr/bin/env python3
"""Sets overhead.cc beside the same programs with LibTorch (Debian: libtorch-dev) and prints a table of ratios.

Both run on one thread of one core, in turn, several rounds; a row's figure is its median. Exits with 1 when a row
misses its target.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TORCH_INCLUDE = '/usr/include/torch/csrc/api/include'

# The most that a row may take, as a multiple of LibTorch's time.
TARGETS = {
    'add_no_grad': 0.25,
    'add_recording': 0.20,
    'mul_chain_per_operator': 0.20,
    'mlp_step': 0.25,
    'add_large_fresh': 0.05,
    'add_large_existing': 1.0,
}
NANOSECONDS = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}


def build_vellum():
  bazel = shutil.which('bazelisk') or shutil.which('bazel') or os.path.join(HERE, '..', 'bazelw')
  subprocess.run([bazel, 'build', '-c', 'opt', '//benchmarks:overhead'], cwd=HERE, check=True)
  return os.path.join(HERE, '..', 'bazel-bin', 'benchmarks', 'overhead')


def build_libtorch(folder):
  if not os.path.isdir(TORCH_INCLUDE):
    sys.exit('compare_overhead: there is no LibTorch here (Debian: apt-get install libtorch-dev)')
  binary = os.path.join(folder, 'libtorch_overhead')
  subprocess.run(
      ['g++', '-std=c++17', '-O2', '-I' + TORCH_INCLUDE, os.path.join(HERE, 'libtorch_overhead.cc'), '-o', binary] +
      ['-ltorch', '-ltorch_cpu', '-lc10', '-lbenchmark', '-lpthread'],
      check=True)
  return binary


def measure(binary, core, row_filter):
  environment = {k: v for k, v in os.environ.items() if k not in ('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE')}
  environment['OMP_NUM_THREADS'] = '1'
  command = ['taskset', '-c', str(core), binary, '--benchmark_format=json', '--benchmark_min_time=0.1']
  if row_filter:
    command.append('--benchmark_filter=' + row_filter)
  output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
  return {b['name']: b['real_time'] * NANOSECONDS[b['time_unit']] for b in json.loads(output)['benchmarks']}


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--rounds', type=int, default=9)
  parser.add_argument('--core', type=int, default=1)
  parser.add_argument('--filter', default='', help='a regular expression of rows')
  parser.add_argument('--vellum', help='an overhead that is built already')
  parser.add_argument('--libtorch', help='a libtorch_overhead that is built already')
  options = parser.parse_args()

  with tempfile.TemporaryDirectory() as folder:
    binaries = [options.vellum or build_vellum(), options.libtorch or build_libtorch(folder)]
    rounds = [[measure(b, options.core, options.filter) for b in binaries] for _ in range(options.rounds)]

  missed = False
  print('%-24s %14s %14s %8s %8s' % ('row', 'vellum ns', 'libtorch ns', 'ratio', 'target'))
  for row in rounds[0][0]:
    ours, theirs = (statistics.median(r[side][row] for r in rounds) for side in (0, 1))
    target = TARGETS.get(row)
    verdict = '' if target is None else 'pass' if ours <= target * theirs else 'MISSED'
    missed |= verdict == 'MISSED'
    print('%-24s %14.1f %14.1f %8.3f %8s %s' % (row, ours, theirs, ours / theirs, target or '', verdict))
  return missed


if __name__ == '__main__':
  sys.exit(main())
