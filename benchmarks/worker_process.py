"""A program that does one library's work on command; see worker.h."""

import os
import subprocess

from comparison import Row

# They would choose kernels of the peer's BLAS that are not meant for this machine.
NOT_PASSED_ON = ('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE')


class WorkerError(Exception):
  """A worker has refused a command or died."""


def pinned(cores):
  """Arguments of subprocess for a program that runs on `cores`, with as many threads."""
  environment = {k: v for k, v in os.environ.items() if k not in NOT_PASSED_ON}
  environment['OMP_NUM_THREADS'] = environment['OPENBLAS_NUM_THREADS'] = str(len(cores))
  return {'env': environment, 'preexec_fn': lambda: os.sched_setaffinity(0, cores), 'text': True}


class Worker:
  """One process. Use it in a `with` statement, which ends it."""

  def __init__(self, binary, cores, count_memory=False, processor_time=False, arguments=None, environment=None):
    """`arguments` replace those of a worker with a thread for each core; `environment` comes on top of ours."""
    self._name = os.path.basename(binary)
    self._processor_time = processor_time
    if arguments is None:
      arguments = ['--threads=%d' % len(cores)] + (['--count_memory'] if count_memory else [])
    start = pinned(cores)
    start['env'].update(environment or {})
    self._process = subprocess.Popen([binary] + arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1,
                                     **start)
    self.version = self._answer()[0]
    self.seconds = self.seconds_on_processor = 0  # of all runs; the latter of all threads together

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self._process.stdin.close()
    self._process.stdout.close()
    self._process.wait()

  def rows(self):
    count = int(self._ask('list')[0])
    return [Row(*self._process.stdout.readline().rstrip('\n').split('\t')) for _ in range(count)]

  def prepare(self, row):
    self._ask('prepare ' + row.name)

  def check(self):
    """The results in short: (count, sum, scale) each."""
    fields = self._ask('check')
    return [(int(fields[i]), float(fields[i + 1]), float(fields[i + 2])) for i in range(0, len(fields), 3)]

  def run(self, times):
    """Seconds in all, or with `processor_time` those in which the process had a processor."""
    seconds, on_processor = map(float, self._ask('run %d' % times))
    self.seconds += seconds
    self.seconds_on_processor += on_processor
    return on_processor if self._processor_time else seconds

  def memory(self):
    """The most bytes that tensors have held, and the most that were resident in the process."""
    held, resident = self._ask('memory')
    return int(held), int(resident)

  def libraries(self):
    """Paths of the shared libraries that the process has loaded."""
    with open('/proc/%d/maps' % self._process.pid, encoding='utf-8') as f:
      return {line.split(maxsplit=5)[-1].rstrip('\n') for line in f if '.so' in line}

  def _ask(self, command):
    try:
      self._process.stdin.write(command + '\n')
      self._process.stdin.flush()
    except BrokenPipeError:
      pass  # told by the answer, which is missing too
    return self._answer(command)

  def _answer(self, command='the start'):
    line = self._process.stdout.readline()
    if not line:
      raise WorkerError('%s ended at %s with status %s' % (self._name, command, self._process.wait()))
    kind, *fields = line.rstrip('\n').split('\t')
    if kind != 'ok':
      raise WorkerError('%s at %s: %s' % (self._name, command, ' '.join(fields)))
    return fields
