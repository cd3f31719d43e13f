"""Snapshots for tests, as decoded JSON in the format of memory_snapshot()."""

import json
import random

MIB = 1 << 20
CATEGORIES = ['other', 'parameter', 'buffer', 'gradient', 'optimizer_state', 'saved', 'view', 'user', 'workspace',
              'pending', 'untracked']
BLOCK_COLUMNS = ['id', 'address', 'bytes', 'requested', 'category', 'operator', 'module', 'sequence', 'dtype', 'shape',
                 'name', 'allocated_us', 'freed_us', 'stream']
EVENT_COLUMNS = ['time_us', 'action', 'block', 'address', 'bytes']


def _stat(current=0, peak=0):
  return {'current': current, 'peak': peak, 'allocated': peak, 'freed': peak - current}


def empty():
  """A snapshot in which nothing happened."""
  return {
      'version': 1, 'program': 'vellum', 'device': 'cpu:0', 'strategy': 'caching',
      'stats': {'requested': _stat(), 'active': _stat(), 'reserved': _stat(), 'split': _stat(), 'allocations': 0,
                'frees': 0, 'upstream_allocations': 0, 'upstream_frees': 0, 'largest_free': 0},
      'categories': list(CATEGORIES), 'operators': [''], 'modules': [''],
      'blocks': {'columns': list(BLOCK_COLUMNS), 'rows': []},
      'events': {'columns': list(EVENT_COLUMNS), 'rows': []},
      'dropped_events': 0, 'segments': [],
      'holders': {'columns': ['block', 'category', 'path', 'bytes'], 'rows': []}, 'oom': None,
  }


def hand_made():
  """Four blocks in one segment of 16 MiB at 0x1000000.

  time    0    10    20    30    40    50 us
  weight  6 MiB ----------------------------   since before the recording
  x             4 MiB -------|                 freed at 30
  y                   2 MiB -----------        alive
  z                               3 MiB |      allocated at 40, freed at 50
  live    6    10    12     8    11     8

  The peak is 12 MiB, after event 2 at 20 us: parameter 6, saved 6 (x and y). At the end y lies behind the hole that x
  and z left: weight at 0, a hole of 4 MiB, y at 10 MiB, a hole of 4 MiB at 12 MiB. Cached 8 MiB, the largest hole 4.
  """
  base = 0x1000000
  made = empty()
  made['operators'] = ['', 'randn', 'mul']
  made['modules'] = ['', 'encoder.0']
  made['blocks']['rows'] = [
      [1, base, 6 * MIB, 6 * MIB, 1, 1, 1, 1, 'float32', [1024, 1536], 'weight', 0, None, 0],
      [2, base + 6 * MIB, 4 * MIB, 4 * MIB - 100, 5, 2, 1, 7, 'float32', [1024, 1024], '', 10, 30, 0],
      [3, base + 10 * MIB, 2 * MIB, 2 * MIB, 5, 2, 0, 8, 'float64', [512, 512], 'y', 20, None, 0],
      [4, base + 6 * MIB, 3 * MIB, 3 * MIB, 8, 2, 0, 9, 'float32', [], '', 40, 50, 0],
  ]
  made['events']['rows'] = [
      [5, 'segment_alloc', 0, base, 16 * MIB],
      [10, 'alloc', 2, base + 6 * MIB, 4 * MIB],
      [20, 'alloc', 3, base + 10 * MIB, 2 * MIB],
      [30, 'free', 2, base + 6 * MIB, 4 * MIB],
      [40, 'alloc', 4, base + 6 * MIB, 3 * MIB],
      [50, 'free', 4, base + 6 * MIB, 3 * MIB],
  ]
  made['segments'] = [{
      'address': base, 'bytes': 16 * MIB, 'stream': 0, 'blocks': [
          {'address': base, 'bytes': 6 * MIB, 'requested': 6 * MIB, 'state': 'active', 'block': 1},
          {'address': base + 6 * MIB, 'bytes': 4 * MIB, 'requested': 0, 'state': 'cached', 'block': 0},
          {'address': base + 10 * MIB, 'bytes': 2 * MIB, 'requested': 2 * MIB, 'state': 'active', 'block': 3},
          {'address': base + 12 * MIB, 'bytes': 4 * MIB, 'requested': 0, 'state': 'cached', 'block': 0},
      ]
  }]
  made['holders']['rows'] = [[1, 'parameter', 'encoder.0.weight', 6 * MIB],
                             [3, 'saved', 'total -> mul#8.self', 2 * MIB]]
  made['stats'].update(requested=_stat(8 * MIB, 12 * MIB), active=_stat(8 * MIB, 12 * MIB),
                       reserved=_stat(16 * MIB, 16 * MIB), allocations=4, frees=2, upstream_allocations=1,
                       largest_free=4 * MIB)
  return made


def mapped():
  """One block of 6 MiB in a segment that grows and shrinks by pages, at 0x1000000.

  time      0     10     20     30     40     50 us
  reserved     8 MiB |     16 MiB       | 12 MiB      mapped at 1 and 20, unmapped at 40
  x            6 MiB ---------------------------      allocated at 5
  """
  base = 0x1000000
  made = empty()
  made['blocks']['rows'] = [[1, base, 6 * MIB, 6 * MIB, 7, 0, 0, 1, 'float32', [3, 524288], 'x', 5, None, 0]]
  made['events']['rows'] = [
      [1, 'segment_map', 0, base, 8 * MIB],
      [5, 'alloc', 1, base, 6 * MIB],
      [20, 'segment_map', 0, base + 8 * MIB, 8 * MIB],
      [40, 'segment_unmap', 0, base + 12 * MIB, 4 * MIB],
      [50, 'mark', 0, 0, 0],
  ]
  made['segments'] = [{
      'address': base, 'bytes': 12 * MIB, 'stream': 0, 'blocks': [
          {'address': base, 'bytes': 6 * MIB, 'requested': 6 * MIB, 'state': 'active', 'block': 1},
          {'address': base + 6 * MIB, 'bytes': 6 * MIB, 'requested': 0, 'state': 'cached', 'block': 0},
      ]
  }]
  made['stats'].update(reserved=_stat(12 * MIB, 16 * MIB), active=_stat(6 * MIB, 6 * MIB))
  return made


def to_bytes(made):
  return json.dumps(made).encode()


class _Heap:
  """First fit in segments, as plain as it can be."""

  def __init__(self, recorder):
    self.recorder, self.segments, self.next_address = recorder, [], 0x7f0000000000

  def allocate(self, size):
    for segment in self.segments:
      for i, piece in enumerate(segment['pieces']):
        if piece[2] == 0 and piece[1] >= size:
          return self._take(segment['pieces'], i, size)
    held = max(2 * MIB if size < MIB else 20 * MIB, -(-size // (2 * MIB)) * 2 * MIB)
    address, self.next_address = self.next_address, self.next_address + held + 64 * MIB
    self.segments.append({'address': address, 'bytes': held, 'pieces': [[address, held, 0]]})
    self.recorder.event('segment_alloc', 0, address, held)
    return self._take(self.segments[-1]['pieces'], 0, size)

  @staticmethod
  def _take(pieces, i, size):
    address, held, _ = pieces[i]
    pieces[i:i + 1] = [[address, size, -1]] + ([[address + size, held - size, 0]] if held > size else [])
    return address

  def own(self, address, block):
    for piece in self._pieces_around(address):
      if piece[0] == address:
        piece[2] = block

  def free(self, address):
    pieces = self._pieces_around(address)
    i = next(i for i, piece in enumerate(pieces) if piece[0] == address)
    pieces[i][2] = 0
    if i + 1 < len(pieces) and pieces[i + 1][2] == 0:
      pieces[i][1] += pieces.pop(i + 1)[1]
    if i and pieces[i - 1][2] == 0:
      pieces[i - 1][1] += pieces.pop(i)[1]

  def _pieces_around(self, address):
    return next(s['pieces'] for s in self.segments if s['address'] <= address < s['address'] + s['bytes'])


class _Recorder:
  """Writes down a program's allocations as it runs."""

  def __init__(self, seed):
    self.made, self.time, self.random, self.heap = empty(), 0.0, random.Random(seed), _Heap(self)
    self.rows = {}

  def event(self, action, block, address, size):
    self.time += self.random.expovariate(1 / 30)
    self.made['events']['rows'].append([round(self.time, 2), action, block, address, size])

  def _intern(self, table, text):
    texts = self.made[table]
    if text not in texts:
      texts.append(text)
    return texts.index(text)

  def allocate(self, category, operator, module, shape, name=''):
    requested = 4
    for n in shape:
      requested *= n
    size = -(-requested // 512) * 512
    address, block = self.heap.allocate(size), len(self.rows) + 1
    self.heap.own(address, block)
    self.event('alloc', block, address, size)
    self.rows[block] = [block, address, size, requested, CATEGORIES.index(category),
                        self._intern('operators', operator), self._intern('modules', module), block * 3, 'float32', list(shape), name, round(self.time, 2),
                        None, 0]
    return block

  def free(self, block):
    row = self.rows[block]
    self.heap.free(row[1])
    self.event('free', block, row[1], row[2])
    row[12] = round(self.time, 2)

  def finish(self):
    made, live = self.made, [r for r in self.rows.values() if r[12] is None]
    made['blocks']['rows'] = list(self.rows.values())
    for segment in self.heap.segments:
      made['segments'].append({'address': segment['address'], 'bytes': segment['bytes'], 'stream': 0, 'blocks': [
          {'address': a, 'bytes': n, 'requested': self.rows[b][3] if b else 0, 'state': 'active' if b else 'cached',
           'block': b} for a, n, b in segment['pieces']]})
    reserved, active = sum(s['bytes'] for s in self.heap.segments), sum(r[2] for r in live)
    made['holders']['rows'] = [[r[0], CATEGORIES[r[4]], r[10] or 'graph', r[2]] for r in live]
    made['stats'].update(reserved=_stat(reserved, reserved), active=_stat(active, reserved),
                         requested=_stat(sum(r[3] for r in live), reserved), allocations=len(self.rows),
                         frees=len(self.rows) - len(live), upstream_allocations=len(self.heap.segments))
    return made


def training(steps=3, layers=6, width=256, batch=64, seed=0):
  """What training a small network records: parameters, then for each step forward, backward and an update."""
  run = _Recorder(seed)
  shapes = {'fc1': (width, 4 * width), 'fc2': (4 * width, width)}
  names = ['encoder.%d.%s' % (i, part) for i in range(layers) for part in shapes]
  parameters = {n: run.allocate('parameter', 'empty', n, shapes[n[-3:]], n + '.weight') for n in names}
  states = {}
  for _ in range(steps):
    saved = [(n, run.allocate('saved', 'matmul', n, (batch * 8, shapes[n[-3:]][1]))) for n in names
             if run.free(run.allocate('workspace', 'matmul', n, (run.random.randrange(1000, 90000),))) is None]
    loss = run.allocate('user', 'cross_entropy', 'loss', (1,), 'loss')
    gradients, flowing = {}, run.allocate('other', 'cross_entropy_backward', 'loss', (batch * 8, width))
    for name, activation in reversed(saved):
      gradients[name] = run.allocate('gradient', 'matmul_backward', name, shapes[name[-3:]], name + '.weight.grad')
      following = run.allocate('other', 'matmul_backward', name, (batch * 8, shapes[name[-3:]][0]))
      run.free(flowing)
      run.free(activation)
      flowing = following
    run.free(flowing)
    for name in names:
      if name not in states:
        states[name] = [run.allocate('optimizer_state', 'zeros_like', 'AdamW', shapes[name[-3:]], name + kind)
                        for kind in ('.exp_avg', '.exp_avg_sq')]
      run.free(run.allocate('workspace', 'sqrt', 'AdamW', shapes[name[-3:]]))
      run.free(gradients[name])
    run.free(loss)
  assert parameters
  return run.finish()


def of_size(events, seed=1):
  """About so many events of blocks that come and go at random, thousands of them live at once."""
  run = _Recorder(seed)
  run.heap = _Bump()
  live = []
  while len(run.made['events']['rows']) < events:
    if live and (len(live) > 4000 or run.random.random() < 0.45):
      run.free(live.pop(run.random.randrange(len(live))))
    else:
      module = 'encoder.%d' % run.random.randrange(24)
      live.append(run.allocate(run.random.choice(CATEGORIES), run.random.choice(('mul', 'add', 'exp')), module,
                               (run.random.randrange(1, 1 << run.random.randrange(1, 18)),)))
  return run.finish()


class _Bump:
  """Addresses that are never used again; quick."""

  def __init__(self):
    self.segments, self.next_address = [], 0x7f0000000000

  def allocate(self, size):
    self.next_address += size
    return self.next_address - size

  def own(self, address, block):
    pass

  def free(self, address):
    pass
