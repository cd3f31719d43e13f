#!/usr/bin/env python3
"""Runs this library's allocator and others on the same requests in turn and prints a table of medians and ratios.

Each side is a process of its own: this library's default strategy on the CPU, with exact statistics; glibc's malloc;
and, where their libraries are installed, mimalloc and jemalloc, loaded before glibc (on Debian: libmimalloc2.0,
libjemalloc2). Rows "cached/..." allocate and free one block over and over; "trace/..." replace random blocks by others
of random sizes and write one byte of each, or of each page. In "threads/.../2" two threads do so with blocks of 16 B
to 1 KiB and now and then exchange all that they hold, so that every block, or one in so many, is freed on another thread
than it was allocated on; perfect scaling takes as long as one thread alone, "threads/.../1". Rows "step/..."
are training steps of this library alone.
"""

import argparse
import ctypes.util
import os
import re
import statistics
import sys

# The modules beside this script are sources: nothing is written there.
sys.dont_write_bytecode = True

import comparison  # pylint: disable=wrong-import-position
from worker_process import Worker, WorkerError  # pylint: disable=wrong-import-position

WORKER = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), 'allocator_worker')
SHORTEST_ROUND = 0.1  # seconds; shorter ones would mostly see two threads share a core
PEERS = [('glibc', None), ('mimalloc', 'mimalloc'), ('jemalloc', 'jemalloc')]

# What is to be reached: rows, and a figure with what it must not exceed or fall short of.
MOST_CACHED_NS = 40
MOST_OF_SMALL_TRACE = 1.0  # of glibc
MOST_OF_LARGE_TRACE = 0.2
LEAST_SPEEDUP = 1.6


def say(text):
  print('allocator: ' + text, file=sys.stderr, flush=True)


def parse(arguments):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--filter', default='', help='a regular expression of rows')
  parser.add_argument('--rounds', type=int, default=15, help='of which medians are taken (%(default)s)')
  return parser.parse_args(arguments)


def installed_peers():
  """Names of the peers that are there, and the library to load for each."""
  peers = []
  for name, library in PEERS:
    path = ctypes.util.find_library(library) if library else ''
    if path is None:
      say('no lib%s here: its column is left out' % library)
    else:
      peers.append((name, path))
  return peers


class Side:
  """A worker with the rows that it has."""

  def __init__(self, name, worker):
    self.name = name
    self.worker = worker
    self.rows = {row.name: row for row in worker.rows()}

  def timed(self, row):
    self.worker.prepare(row)
    for _ in range(2):  # the first runs get their pages from the system
      times = comparison.calibrate(self.worker.run, SHORTEST_ROUND)
    return lambda: self.worker.run(times) / times * 1e9 / row.parts


def measure(row, sides, rounds):
  """Medians in nanoseconds by side; sides without the row are left out."""
  having = [side for side in sides if row.name in side.rows]
  runs = [side.timed(row) for side in having]
  comparison.alternate(runs, 1)
  taken = comparison.alternate(runs, rounds)
  return {side.name: statistics.median(samples) for side, samples in zip(having, taken)}


def table(results, names):
  lines = ['%-24s %10s' % ('row', 'vellum') + ''.join('%10s %6s' % (name, 'ratio') for name in names)]
  for row, figures in results.items():
    line = '%-24s %10s' % (row, comparison.readable(figures['vellum'], comparison.NANOSECONDS))
    for name in names:
      if name in figures:
        line += '%10s %6.3f' % (comparison.readable(figures[name], comparison.NANOSECONDS),
                                figures['vellum'] / figures[name])
    lines.append(line)
  return lines


def verdicts(results):
  """What is reached, in lines of text; a row that was filtered out says nothing."""
  lines = []

  def verdict(what, figure, reached):
    lines.append('%s: %s (%s)' % (what, figure, 'reached' if reached else 'missed'))

  cached = [figures['vellum'] for row, figures in results.items() if row.startswith('cached/')]
  if cached:
    verdict('allocate and free from cache, at most %g ns' % MOST_CACHED_NS, '%.1f ns' % max(cached),
            max(cached) <= MOST_CACHED_NS)
  for row, figures in results.items():
    if row.startswith('trace/') and 'glibc' in figures:
      ratio = figures['vellum'] / figures['glibc']
      most = MOST_OF_LARGE_TRACE if row.startswith('trace/1MiB') else MOST_OF_SMALL_TRACE
      verdict('%s, at most %g of glibc' % (row, most), '%.3f' % ratio, ratio <= most)
  for row in results:
    one, two = row, row[:-1] + '2'
    if row.startswith('threads/') and row.endswith('/1') and two in results:
      verdict('%s, two threads at least %g of one' % (one[:-2], LEAST_SPEEDUP),
              ', '.join('%s %.2f' % (side, 2 * results[one][side] / results[two][side]) for side in results[one]),
              2 * results[one]['vellum'] / results[two]['vellum'] >= LEAST_SPEEDUP)
  if 'step/plain' in results:
    plain = results['step/plain']['vellum']
    for row, figures in results.items():
      if row.startswith('step/') and row != 'step/plain':
        lines.append('%s costs %.1f %% of a step, %s' %
                     (row[5:], 100 * (figures['vellum'] / plain - 1),
                      comparison.readable(max(figures['vellum'] - plain, 0), comparison.NANOSECONDS)))
  return lines


def main():
  options = parse(sys.argv[1:])
  peers = installed_peers()
  cores = sorted(os.sched_getaffinity(0))[:2]
  workers = []
  try:
    workers.append(Worker(WORKER, cores, arguments=['--threads=1']))
    for _, path in peers:
      workers.append(Worker(WORKER, cores, arguments=['--malloc', '--threads=1'], environment={'LD_PRELOAD': path}))
    sides = [Side(name, worker) for name, worker in zip(['vellum'] + [name for name, _ in peers], workers)]
    rows = [row for row in sides[0].rows.values() if re.search(options.filter, row.name)]
    results = {}
    for i, row in enumerate(rows):
      results[row.name] = measure(row, sides, options.rounds)
      say('[%d/%d] %s' % (i + 1, len(rows), row.name))
  except WorkerError as e:
    sys.exit('allocator: %s' % e)
  finally:
    for worker in workers:
      worker.__exit__()
  if not results:
    sys.exit('allocator: no row matches the filter')
  print('\n'.join(table(results, [name for name, _ in peers]) + [''] + verdicts(results)))


if __name__ == '__main__':
  main()
