"""A snapshot in the schema of `torch.cuda.memory._snapshot()`, for viewers that read that one.

Keys and values are those that PyTorch's own writer (torch/csrc/cuda/memory_snapshot.cpp) makes and its viewer
(torch/utils/viz/MemoryViz.js) takes. Where its documentation differs, the writer is followed: a block that other streams
still use is "active_pending_free"; "active_awaiting_free" of the documentation breaks the viewer.
"""

import re

from snapshot import Piece

LARGE = 1 << 20  # bytes; segments above it are "large"
STATES = {'active': 'active_allocated', 'pending': 'active_pending_free', 'cached': 'inactive'}
SETTINGS = {
    'PYTORCH_CUDA_ALLOC_CONF': '',
    'max_split_size': -1,
    'garbage_collection_threshold': 0.0,
    'expandable_segments': False,
    'pinned_num_register_threads': 1,
    'release_lock_on_cudamalloc': False,
    'pinned_use_cuda_host_register': False,
    'roundup_power2_divisions': {},
}


def _device_index(device):
  """The n of "cpu:n", within what a list of traces can hold."""
  found = re.search(r':(\d{1,2})$', device)
  return int(found.group(1)) if found else 0


def _frames(block):
  """PyTorch has call stacks; here the innermost frame is the operator's call, and the next says what the block is."""
  if block is None:
    return []
  described = '%s %s %s%s' % (block.category, block.dtype, list(block.shape), ' "%s"' % block.name if block.name else '')
  return [{'name': block.operator or '(no operator)', 'filename': block.module or '(no module)', 'line': block.sequence},
          {'name': described.strip(), 'filename': '(block %d)' % block.id, 'line': block.sequence}]


class _Export:

  def __init__(self, snapshot):
    self.snapshot = snapshot
    self.device = _device_index(snapshot.device)
    self.unfinished = self._unfinished_frees()
    self.pending = {snapshot.events[i].address: snapshot.blocks.get(snapshot.events[i].block) for i in self.unfinished}
    self.mapped = any(e.action in ('segment_map', 'segment_unmap') for e in snapshot.events)
    # Its viewer looks for every block in a segment. Strategies that ask the device for each block list none.
    self.ranges = sorted([(s.address, s.address + s.bytes) for s in snapshot.segments] +
                         [(e.address, e.address + e.bytes) for e in snapshot.events if e.action.startswith('segment_')])
    self._merge_ranges()

  def _unfinished_frees(self):
    """The numbers of the events that freed what is still pending: the last one at each such address."""
    pending = {p.address for s in self.snapshot.segments for p in s.pieces if p.state == 'pending'}
    return set({e.address: i for i, e in enumerate(self.snapshot.events)
                if e.action == 'free' and e.address in pending}.values())

  def _merge_ranges(self):
    merged = []
    for begin, end in self.ranges:
      if merged and begin <= merged[-1][1]:
        merged[-1][1] = max(merged[-1][1], end)
      else:
        merged.append([begin, end])
    self.ranges = merged

  def _is_covered(self, address):
    low, high = 0, len(self.ranges)
    while low < high:
      middle = (low + high) // 2
      low, high = (middle + 1, high) if self.ranges[middle][0] <= address else (low, middle)
    return low > 0 and address < self.ranges[low - 1][1]

  def segment(self, segment):
    blocks = [self._block(p) for p in self._without_gaps(segment)]
    return self._segment_of(segment.address, segment.bytes, segment.stream, blocks)

  def _block(self, piece):
    # A snapshot says of a pending block neither what it was nor what was asked for; the event that freed it does.
    block = self.snapshot.blocks.get(piece.block) or self.pending.get(piece.address)
    requested = block.requested if piece.state == 'pending' and block else piece.requested
    return {'address': piece.address, 'size': piece.bytes, 'requested_size': min(requested, piece.bytes),
            'state': STATES[piece.state], 'frames': _frames(block) if piece.state != 'cached' else []}

  def _segment_of(self, address, size, stream, blocks):
    allocated = sum(b['size'] for b in blocks if b['state'] == 'active_allocated')
    return {
        'device': self.device,
        'address': address,
        'total_size': size,
        'allocated_size': allocated,
        'active_size': allocated + sum(b['size'] for b in blocks if b['state'] == 'active_pending_free'),
        'requested_size': sum(b['requested_size'] for b in blocks if b['state'] != 'inactive'),
        'stream': stream,
        'segment_type': 'large' if size > LARGE else 'small',
        'segment_pool_id': (0, 0),
        'is_expandable': self.mapped,
        'frames': [],
        'blocks': blocks,
    }

  @staticmethod
  def _without_gaps(segment):
    """PyTorch's blocks tile a segment: what no block holds becomes an inactive one."""
    at = segment.address
    for piece in segment.pieces:
      if piece.address > at:
        yield piece._replace(address=at, bytes=piece.address - at, requested=0, state='cached', block=0)
      yield piece
      at = piece.address + piece.bytes
    if at < segment.address + segment.bytes:
      yield Piece(at, segment.address + segment.bytes - at, 0, 'cached', 0)

  def _entry(self, action, event, size, block):
    return {'action': action, 'addr': event.address, 'size': size, 'stream': block.stream if block else 0,
            'time_us': round(event.time_us), 'frames': _frames(block)}

  def entries(self, number, event):
    """What PyTorch would have recorded for an event. Its sizes of blocks are those that were asked for."""
    if event.action == 'oom':
      return [{'action': 'oom', 'device_free': 0, 'size': event.bytes, 'stream': 0, 'time_us': round(event.time_us),
               'frames': []}]
    if event.action == 'mark':
      return []
    if event.action.startswith('segment_'):
      return [self._entry(event.action, event, event.bytes, None)]
    block = self.snapshot.blocks.get(event.block)
    size = block.requested if block else event.bytes
    own = not self._is_covered(event.address)
    if event.action == 'alloc':
      before = [self._entry('segment_alloc', event, event.bytes, None)] if own else []
      return before + [self._entry('alloc', event, size, block)]
    freed = [self._entry('free_requested', event, size, block)]
    if number not in self.unfinished:
      freed.append(self._entry('free_completed', event, size, block))
    return freed + ([self._entry('segment_free', event, event.bytes, None)] if own else [])

  def lone_segments(self):
    """A segment for each live block that is in none."""
    return [
        self._segment_of(b.address, b.bytes, b.stream, [{
            'address': b.address, 'size': b.bytes, 'requested_size': b.requested, 'state': 'active_allocated',
            'frames': _frames(b)
        }])
        for b in self.snapshot.blocks.values()
        if b.freed_us is None and b.bytes and not self._is_covered(b.address)
    ]


def export(snapshot):
  """The dictionary; plain types only, so that both JSON and a pickle can hold it."""
  made = _Export(snapshot)
  last = max((e.time_us for e in snapshot.events), default=0)
  trace = [entry for number, event in enumerate(snapshot.events) for entry in made.entries(number, event)]
  trace.append({'action': 'snapshot', 'addr': 0, 'size': 0, 'stream': 0, 'time_us': round(last), 'frames': []})
  return {
      'segments': [made.segment(s) for s in snapshot.segments] + made.lone_segments(),
      'device_traces': [[] for _ in range(made.device)] + [trace],
      'allocator_settings': dict(SETTINGS, expandable_segments=made.mapped),
      'external_annotations': [],
  }
