"""The peak on a terminal."""

import timeline

MIB = 1 << 20
LARGEST = 10  # blocks that are listed


def mib(size):
  """Bytes in MiB, with digits enough to tell small ones apart."""
  value = size / MIB
  return '%.2f MiB' % value if value >= 0.1 or size == 0 else '%.5f MiB' % value


def printable(text):
  """Names come from strangers: nothing in them may steer the terminal."""
  return ''.join(c if c.isprintable() else '\\x%02x' % ord(c) for c in text)


def _table(rows, headings):
  cells = [headings] + [[printable(str(cell)) for cell in row] for row in rows]
  widths = [max(len(row[i]) for row in cells) for i in range(len(headings))]
  return [
      '  '.join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths)))
      .rstrip() for row in cells
  ]


def _shares(blocks, attribute, total):
  return [(value or '(none)', mib(size), '%.1f%%' % (100 * size / total if total else 0), count)
          for value, size, count in timeline.composition(blocks, attribute)]


def _described(block):
  shape = '%s[%s]' % (block.dtype, ', '.join(map(str, block.shape))) if block.dtype else ''
  return (block.name or '#%d' % block.id, mib(block.bytes), block.category, block.operator, block.module, shape)


def text(snapshot, times):
  """The report, ending in a newline."""
  peak, filled = times.peak(), timeline.layout(snapshot.segments)
  blocks = times.live_at(peak.event)
  largest = sorted(blocks, key=lambda b: (-b.bytes, b.id))[:LARGEST]
  lines = ['%s on %s, strategy %s' % tuple(map(printable, (snapshot.program, snapshot.device, snapshot.strategy))),
           'peak: %s in %d blocks at %.3f ms (event %d of %d)' %
           (mib(peak.bytes), len(blocks), peak.time_us / 1000, peak.event + 1, len(snapshot.events)), '']
  lines += _table(_shares(blocks, 'category', peak.bytes), ['category', 'bytes', 'share', 'blocks']) + ['']
  lines += _table(_shares(blocks, 'module', peak.bytes)[:LARGEST], ['module', 'bytes', 'share', 'blocks']) + ['']
  lines += _table([_described(b) for b in largest],
                  ['largest blocks', 'bytes', 'category', 'operator', 'module', 'shape']) + ['']
  lines.append('now: %s reserved, %s active, %s pending, %s cached in %d holes (largest %s, fragmentation %.1f%%)' %
               (mib(filled.reserved), mib(filled.active), mib(filled.pending), mib(filled.cached), filled.holes,
                mib(filled.largest_hole), 100 * filled.fragmentation))
  if snapshot.dropped_events:
    lines.append('%d older events were lost: the true peak may lie before the recording' % snapshot.dropped_events)
  if snapshot.oom:
    lines += ['', 'out of memory: %s were asked for' % mib(snapshot.oom.requested)]
    lines += [printable(line) for line in snapshot.oom.text.splitlines()]
  return '\n'.join(lines) + '\n'
