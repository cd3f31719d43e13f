"""What is made of measurements: batches, medians, ratios, limits, and the forms in which they are shown."""

import json
import math
import statistics

# What the comparison is to reach: ratios of this library to its peer, by rows.
GEOMETRIC_MEAN = 0.5
ANY_ROW = 1.0
STEPS = {'mlp/step_sgd': 0.95, 'mlp/step_adamw': 0.95}

NANOSECONDS = 'ns'
BYTES = 'bytes'


class Mismatch(Exception):
  """Two programs that should do the same do not."""


class Row:
  """One row as a worker lists it: what must at least be moved, in bytes, and computed, in how many parts, one of which
  is shown, and how close results must be."""

  def __init__(self, name, bytes_read=0, bytes_written=0, flops=0, parts=1, tolerance=1e-5):
    self.name = name
    self.bytes_read = float(bytes_read)
    self.bytes_written = float(bytes_written)
    self.flops = float(flops)
    self.parts = int(parts)
    self.tolerance = float(tolerance)

  @property
  def in_bytes(self):
    return self.name.startswith('memory/')

  @property
  def traffic(self):
    """The measurement of machine_limits that bounds the row's moves, such as "copy:65536", or None."""
    moved = self.bytes_read + self.bytes_written
    if not moved:
      return None
    # A write costs more than a read: each row is held to what has about its share of them.
    reads = self.bytes_read / max(self.bytes_written, 1)
    kind = 'read' if reads > 8 else 'add' if reads > 1.5 else 'copy'
    return '%s:%d' % (kind, 2**round(math.log2(moved)))

  def least_seconds(self, rates):
    """What the row takes on a machine that is never idle; None when it says nothing of its work.

    `rates` maps the measurements of machine_limits to what a second holds.
    """
    seconds = []
    if self.traffic:
      seconds.append((self.bytes_read + self.bytes_written) / rates[self.traffic])
    if self.flops:
      seconds.append(self.flops / rates['product'])
    return max(seconds, default=None)


class Result:
  """A row's figures: medians of either side, and the limit in the same unit or None."""

  def __init__(self, name, unit, vellum, peer, limit=None):
    self.name = name
    self.unit = unit
    self.vellum = vellum
    self.peer = peer
    self.limit = limit

  @property
  def ratio(self):
    return self.vellum / self.peer

  def share(self, figure):
    """How much of the limit a figure reaches, or None."""
    return None if self.limit is None else self.limit / figure


def calibrate(run, at_least):
  """How often to do a row's work so that it takes `at_least` seconds. run(times) says what so many took."""
  times = 1
  while True:
    seconds = run(times)
    if seconds >= at_least:
      return times
    # The first runs are slow, so that a guess from them alone would fall short by far or not at all.
    times = math.ceil(times * min(max(1.1 * at_least / max(seconds, 1e-9), 1.5), 10))


def alternate(sides, rounds):
  """Calls every side in turn, `rounds` times; one list of what each returned."""
  samples = [[] for _ in sides]
  for _ in range(rounds):
    for side, taken in zip(sides, samples):
      taken.append(side())
  return samples


def medians(sides, rounds):
  """The median of what each side returned, called in turn."""
  return [statistics.median(taken) for taken in alternate(sides, rounds)]


def check_rows(ours, theirs):
  """Throws Mismatch unless both lists of rows have the same names."""
  missing = {row.name for row in ours} ^ {row.name for row in theirs}
  if missing:
    raise Mismatch('only one side has the rows %s' % ', '.join(sorted(missing)))


def check_digests(row, ours, theirs):
  """Throws Mismatch unless the results in short, (count, sum, scale) each, agree within the row's tolerance."""
  if len(ours) != len(theirs):
    raise Mismatch('%s: %d results against %d' % (row.name, len(ours), len(theirs)))
  for place, ((count, total, scale), (their_count, their_total, their_scale)) in enumerate(zip(ours, theirs)):
    if count != their_count:
      raise Mismatch('%s: result %d has %d elements against %d' % (row.name, place, count, their_count))
    # Written so that NaN does not pass.
    if not abs(total - their_total) <= row.tolerance * max(scale, their_scale):
      raise Mismatch('%s: result %d has the checksum %.9g against %.9g; differences up to %.3g are rounding' %
                     (row.name, place, total, their_total, row.tolerance * max(scale, their_scale)))


def geometric_mean(results):
  return statistics.geometric_mean([r.ratio for r in results])


def readable(figure, unit):
  """1234567 ns as "1.23 ms"."""
  if unit == BYTES:
    steps = [(2**30, 'GiB'), (2**20, 'MiB'), (2**10, 'KiB'), (1, 'B')]
  else:
    steps = [(1e9, 's'), (1e6, 'ms'), (1e3, 'us'), (1, 'ns')]
  size, name = next((s for s in steps if figure >= s[0]), steps[-1])
  return '%.3g %s' % (figure / size, name) if figure / size < 100 else '%.0f %s' % (figure / size, name)


def table(results, peer):
  """Lines of text, one for each row. Shares are of what the machine can do at most."""
  form = '%-38s %10s %10s %7s  %10s %7s %7s'
  lines = [form % ('row', 'vellum', peer, 'ratio', 'limit', 'vellum', peer)]

  def percent(share):
    return '' if share is None else '%.0f %%' % (100 * share)

  for r in results:
    lines.append(form % (r.name, readable(r.vellum, r.unit), readable(r.peer, r.unit), '%.3f' % r.ratio,
                         '' if r.limit is None else readable(r.limit, r.unit), percent(r.share(r.vellum)),
                         percent(r.share(r.peer))) + ('  above 1' if r.ratio > ANY_ROW else ''))
  return [line.rstrip() for line in lines]


def verdicts(results):
  """What the comparison reaches, in lines of text."""
  lines = []
  for what, rows in (('time', [r for r in results if r.unit != BYTES]), ('bytes', [r for r in results if r.unit == BYTES])):
    if rows:
      above = [r.name for r in rows if r.ratio > ANY_ROW]
      lines.append('%s: geometric mean of %d ratios %.3f; above %g: %s' %
                   (what, len(rows), geometric_mean(rows), ANY_ROW, ', '.join(above) or 'none'))
      if what == 'time':
        reached = geometric_mean(rows) <= GEOMETRIC_MEAN
        lines.append('  geometric mean of at most %g: %s' % (GEOMETRIC_MEAN, 'reached' if reached else 'missed'))
  for r in results:
    if r.name in STEPS:
      lines.append('  %s of at most %g: %s' % (r.name, STEPS[r.name], 'reached' if r.ratio <= STEPS[r.name] else 'missed'))
  return lines


def as_json(results, peer_version):
  return json.dumps([{
      'name': r.name,
      'unit': r.unit,
      'vellum': r.vellum,
      'peer': r.peer,
      'ratio': r.ratio,
      'peer_version': peer_version
  } for r in results], indent=2) + '\n'
