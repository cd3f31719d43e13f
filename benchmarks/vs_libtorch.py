#!/usr/bin/env python3
"""Runs this library and LibTorch on the same work in turn and prints a table of medians and ratios.

Each side is a process of its own, pinned to the same cores; results are compared before anything is measured. Beside
each row stands what the machine can do at most, by measured bandwidth and rate of multiply-adds, and the share of it
that either side reaches. Rows "memory/..." are measured in bytes, each in fresh processes: "held" is the most that
tensors held (what this library's allocator reserved; what the peer asked of its own), "resident" is VmHWM.
"""

import argparse
import os
import re
import subprocess
import sys

# The modules beside this script are sources: nothing is written there.
sys.dont_write_bytecode = True

import comparison  # pylint: disable=wrong-import-position
import libtorch  # pylint: disable=wrong-import-position
import ratio_chart  # pylint: disable=wrong-import-position
from comparison import Result  # pylint: disable=wrong-import-position
from worker_process import Worker, WorkerError, pinned  # pylint: disable=wrong-import-position

# Where Bazel has put what this script runs: beside the name that it was called by.
BUILT = os.path.dirname(os.path.abspath(sys.argv[0]))
LEAST_ROUNDS = 15
SHORTEST_ROUND = 0.02  # seconds
STEPS_FOR_MEMORY = 3  # the second one makes no optimizer state any more, the third is like all that follow


def say(text):
  print('vs_libtorch: ' + text, file=sys.stderr, flush=True)


def parse(arguments):
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--libtorch_root', help='folder of a LibTorch, with include/ and lib/; without it, Debian\'s')
  parser.add_argument('--filter', default='', help='a regular expression of rows')
  parser.add_argument('--threads', type=int, default=1, help='of either side (1)')
  parser.add_argument('--rounds', type=int, default=LEAST_ROUNDS, help='of which medians are taken (%(default)s)')
  parser.add_argument('--processor_time', action='store_true',
                      help='measure the time in which a side had the core: for one thread on a busy machine')
  parser.add_argument('--memory', action='store_true', help='only the rows that are measured in bytes')
  parser.add_argument('--json', metavar='FILE', help='write the results there')
  parser.add_argument('--svg', metavar='FILE', help='write a chart of the ratios there')
  options = parser.parse_args(arguments)
  try:
    options.filter = re.compile(options.filter)
  except re.error as e:
    parser.error('--filter is no regular expression: %s' % e)
  cores = sorted(os.sched_getaffinity(0))
  if not 1 <= options.threads <= len(cores):
    parser.error('--threads must be 1 to %d here' % len(cores))
  options.cores = cores[:options.threads]
  if options.processor_time and options.threads > 1:
    parser.error('--processor_time adds up threads: it is for --threads=1')
  if options.rounds < LEAST_ROUNDS:
    parser.error('--rounds must be at least %d' % LEAST_ROUNDS)
  return options


def from_caller(path):
  """Bazel changes the folder; a relative path is meant from where it was called."""
  return os.path.abspath(os.path.join(os.environ.get('BUILD_WORKING_DIRECTORY', ''), path))


def measure_machine(rows, cores):
  """What a second holds, for each measurement of machine_limits that the rows need."""
  wanted = sorted({row.traffic for row in rows if row.traffic} | {'product' for row in rows if row.flops})
  if not wanted:
    return {}
  say('measuring what the machine can do: ' + ' '.join(wanted))
  command = [os.path.join(BUILT, 'machine_limits'), '--threads=%d' % len(cores)] + wanted
  output = subprocess.run(command, check=True, stdout=subprocess.PIPE, **pinned(cores)).stdout
  return dict(zip(wanted, map(float, output.split())))


def measure_time(row, workers, rounds, rates):
  for worker in workers:
    worker.prepare(row)
  comparison.check_digests(row, *[worker.check() for worker in workers])

  def timed(worker):
    times = comparison.calibrate(worker.run, SHORTEST_ROUND)
    return lambda: worker.run(times) / times

  sides = [timed(worker) for worker in workers]
  comparison.alternate(sides, 1)  # warms both up after the pause that the other's calibration was
  shown = 1e9 / row.parts
  vellum, peer = [seconds * shown for seconds in comparison.medians(sides, rounds)]
  least = row.least_seconds(rates)
  return Result(row.name, comparison.NANOSECONDS, vellum, peer, None if least is None else least * shown)


def measure_memory(row, binaries, cores):
  digests, figures = [], []
  for binary in binaries:
    # The check copies results to the host, where they would count as resident.
    with Worker(binary, cores) as worker:
      worker.prepare(row)
      digests.append(worker.check())
    with Worker(binary, cores, count_memory=True) as worker:
      worker.prepare(row)
      worker.run(STEPS_FOR_MEMORY)
      figures.append(worker.memory())
  comparison.check_digests(row, *digests)
  (held, resident), (peer_held, peer_resident) = figures
  return [
      Result(row.name + '/held', comparison.BYTES, held, peer_held),
      Result(row.name + '/resident', comparison.BYTES, resident, peer_resident)
  ]


def version_of(worker):
  """The peer's version with that of its BLAS, on which its products depend."""
  name, reference = libtorch.blas(worker.libraries())
  if reference:
    say(libtorch.SLOW_BLAS)
  return '%s with %s' % (worker.version, name) if name else worker.version


def say_how_busy(workers, processor_time):
  """Other programs on the same cores make figures doubtful. Only told of one thread: several wait by themselves."""
  waited = 1 - sum(w.seconds_on_processor for w in workers) / max(sum(w.seconds for w in workers), 1e-9)
  if waited > 0.02:
    say('other programs had the core for %.0f %% of the time: figures are noisy%s' %
        (100 * waited, '' if processor_time else '; less so with --processor_time'))


def compare(options, binaries):
  """The results, and the peer's version."""
  start = {'cores': options.cores, 'processor_time': options.processor_time}
  with Worker(binaries[0], **start) as ours, Worker(binaries[1], **start) as theirs:
    rows, their_rows = ours.rows(), theirs.rows()
    comparison.check_rows(rows, their_rows)
    version = version_of(theirs)
    rows = [r for r in rows if options.filter.search(r.name) and (r.in_bytes or not options.memory)]
    rates = measure_machine([r for r in rows if not r.in_bytes], options.cores)
    results = []
    for i, row in enumerate(rows):
      if row.in_bytes:
        new = measure_memory(row, binaries, options.cores)
      else:
        new = [measure_time(row, (ours, theirs), options.rounds, rates)]
      results += new
      say('[%d/%d] %s' % (i + 1, len(rows), ', '.join('%s %.3f' % (r.name, r.ratio) for r in new)))
    if options.threads == 1:
      say_how_busy((ours, theirs), options.processor_time)
    return results, version


def main():
  options = parse(sys.argv[1:])
  try:
    root = from_caller(options.libtorch_root) if options.libtorch_root else None
    peer = libtorch.build(libtorch.find(root), say)
    results, version = compare(options, [os.path.join(BUILT, 'vellum_worker'), peer])
  except (comparison.Mismatch, libtorch.Missing, WorkerError) as e:
    sys.exit('vs_libtorch: %s' % e)
  if not results:
    sys.exit('vs_libtorch: no row matches the filter')

  title = 'Vellum / LibTorch %s, %d thread%s%s' % (version, options.threads, 's' if options.threads > 1 else '',
                                                   ', processor time' if options.processor_time else '')
  print('\n'.join([title, ''] + comparison.table(results, 'LibTorch') + [''] + comparison.verdicts(results)))
  for path, text in ((options.json, comparison.as_json(results, version)), (options.svg, ratio_chart.svg(results, title))):
    if path:
      with open(from_caller(path), 'w', encoding='utf-8') as f:
        f.write(text)


if __name__ == '__main__':
  main()
