"""What was live at each event of a snapshot, when it was most, and how memory lies in segments."""

from collections import namedtuple

from snapshot import Block

UNTRACKED = 'untracked'
START = -1  # the moment before the first event

# A block lives from the moment after event `begin` (START: since before the recording) until event `end`, which frees
# it (the number of events: to the end).
Lifetime = namedtuple('Lifetime', 'block begin end')
Peak = namedtuple('Peak', 'event time_us bytes')
# Of all segments together. `fragmentation` is the share of cached bytes that no single request could get: 0 where they
# are one hole.
Layout = namedtuple('Layout', 'reserved active pending cached largest_hole holes fragmentation')


def _stranger(event):
  """The block of an event whose allocation nobody described."""
  return Block(event.block, event.address, event.bytes, event.bytes, UNTRACKED, '', '', 0, '', (), '', event.time_us,
               None, 0)


class Timeline:
  """The lifetimes of a snapshot's blocks, and the live bytes after each event."""

  def __init__(self, snapshot):
    self.events = snapshot.events
    self.lifetimes = []
    self._follow(snapshot)
    self.live = self._live_bytes()  # [events + 1]; live[0] is what lived before the first

  def _follow(self, snapshot):
    end = len(self.events)
    open_ones, seen = {}, set()  # by id, or by address where a block has none

    def close(key, when):
      block, begin = open_ones.pop(key)
      self.lifetimes.append(Lifetime(block, begin, when))

    # What was allocated before the oldest event that the ring still holds.
    allocated = {e.block for e in self.events if e.action == 'alloc'}
    first = self.events[0].time_us if self.events else None
    for block in snapshot.blocks.values():
      dead = block.freed_us is not None and (first is None or block.freed_us < first)
      if block.id not in allocated and not dead:
        open_ones[block.id] = (block, START)
        seen.add(block.id)
    for i, event in enumerate(self.events):
      key = event.block or ('address', event.address)
      if event.action == 'alloc':
        if key in open_ones:  # its free was not recorded
          close(key, i)
        open_ones[key] = (snapshot.blocks.get(event.block) or _stranger(event), i)
        seen.add(key)
      elif event.action == 'free':
        if key not in open_ones:
          if key in seen:
            continue  # freed twice: the record contradicts itself, the first free stands
          open_ones[key] = (snapshot.blocks.get(event.block) or _stranger(event), START)
          seen.add(key)
        close(key, i)
    for key in list(open_ones):
      close(key, end)
    self.lifetimes.sort(key=lambda l: (l.begin, l.block.id))

  def _live_bytes(self):
    change = [0] * (len(self.events) + 2)
    for block, begin, end in self.lifetimes:
      change[begin + 1] += block.bytes
      change[end + 1] -= block.bytes
    live, total = [], 0
    for delta in change[:len(self.events) + 1]:
      total += delta
      live.append(total)
    return live

  def peak(self):
    """The first moment with the most live bytes."""
    most = max(self.live)
    event = self.live.index(most) - 1
    return Peak(event, self.time(event), most)

  def time(self, event):
    """When a moment is. Threads may have written slightly out of order; time does not run backwards here."""
    return max((e.time_us for e in self.events[:event + 1]), default=0)

  def live_at(self, event):
    """The blocks that are live after an event."""
    return [l.block for l in self.lifetimes if l.begin <= event < l.end]


def composition(blocks, attribute):
  """(value of the attribute, bytes, number of blocks), the largest first."""
  sums = {}
  for block in blocks:
    value = getattr(block, attribute)
    size, count = sums.get(value, (0, 0))
    sums[value] = (size + block.bytes, count + 1)
  return sorted(((value, size, count) for value, (size, count) in sums.items()), key=lambda row: (-row[1], row[0]))


def layout(segments):
  """How the segments of a snapshot are filled."""
  sums = {'active': 0, 'pending': 0, 'cached': 0}
  largest = holes = 0
  for segment in segments:
    for piece in segment.pieces:
      sums[piece.state] += piece.bytes
      if piece.state == 'cached':
        holes += 1
        largest = max(largest, piece.bytes)
  cached = sums['cached']
  return Layout(sum(s.bytes for s in segments), sums['active'], sums['pending'], cached, largest, holes,
                1 - largest / cached if cached else 0.0)
