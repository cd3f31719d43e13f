"""A snapshot as one HTML page that needs nothing else.

The page holds its data as JSON, all drawing is done by the scripts in page/. What a stranger wrote reaches the page in
that JSON alone, where no character can end the element, and the scripts only ever set text. Beyond that the page's
policy allows no script but its own, by its hash, and no connection.
"""

import base64
import hashlib
import json
import os

import timeline
from snapshot import CATEGORIES, LARGEST_BYTES

PARTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'page')
SCRIPTS = ('data.js', 'replay.js', 'tooltip.js', 'axes.js', 'timeline.js', 'composition.js', 'segments.js',
           'events.js', 'main.js')
# From the bottom of the stack: what stays, then what comes and goes.
STACKING = ('parameter', 'buffer', 'optimizer_state', 'gradient', 'saved', 'view', 'user', 'other', 'workspace',
            'pending', 'untracked')
assert set(STACKING) == set(CATEGORIES)

TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '%s'; style-src '%s'">
<title>Memory report</title>
<style>%s</style>
</head>
%s
<script type="application/json" id="data">%s</script>
<script>%s</script>
</html>
"""


class _Table:
  """Texts by number; each is written once."""

  def __init__(self, texts=()):
    self.texts = list(texts)
    self.numbers = {text: i for i, text in enumerate(self.texts)}

  def number(self, text):
    if text not in self.numbers:
      self.numbers[text] = len(self.texts)
      self.texts.append(text)
    return self.numbers[text]


def _exact(number):
  """Numbers that a script would round go as text."""
  return number if number <= LARGEST_BYTES else str(number)


def _shape_text(block):
  return '%s[%s]' % (block.dtype, ', '.join(map(str, block.shape))) if block.dtype else ''


def _blocks(lifetimes):
  categories, texts = _Table(STACKING), _Table([''])
  rows = [l.block for l in lifetimes]
  columns = {
      'begin': [l.begin for l in lifetimes],
      'end': [l.end for l in lifetimes],
      'id': [b.id for b in rows],
      'address': [hex(b.address) for b in rows],
      'bytes': [b.bytes for b in rows],
      'requested': [b.requested for b in rows],
      'category': [categories.number(b.category) for b in rows],
      'operator': [texts.number(b.operator) for b in rows],
      'module': [texts.number(b.module) for b in rows],
      'shape': [texts.number(_shape_text(b)) for b in rows],
      'name': [texts.number(b.name) for b in rows],
      'sequence': [_exact(b.sequence) for b in rows],
      'stream': [_exact(b.stream) for b in rows],
      'allocated': [b.allocated_us for b in rows],
  }
  return columns, categories.texts, texts.texts


def _events(snapshot, lifetimes):
  begun = {l.begin: i for i, l in enumerate(lifetimes)}
  ended = {l.end: i for i, l in enumerate(lifetimes)}
  actions, time, times = _Table(), 0, []
  for event in snapshot.events:
    time = max(time, event.time_us)
    times.append(time)
  return {
      'time': times,
      'action': [actions.number(e.action) for e in snapshot.events],
      'bytes': [e.bytes for e in snapshot.events],
      'block': [(begun if e.action == 'alloc' else ended).get(i, -1) if e.action in ('alloc', 'free') else -1
                for i, e in enumerate(snapshot.events)],
      'address': ['' if e.action in ('alloc', 'free', 'oom', 'mark') else hex(e.address) for e in snapshot.events],
  }, actions.texts


def _segments(snapshot, numbers):
  states = ('active', 'pending', 'cached')
  return [{
      'address': hex(s.address),
      'bytes': s.bytes,
      'stream': _exact(s.stream),
      'pieces': [[p.address - s.address, p.bytes, p.requested, states.index(p.state), numbers.get(p.block, -1)]
                 for p in s.pieces],
  } for s in snapshot.segments]


def data(snapshot, times):
  """What the page's scripts read, as plain types."""
  lifetimes = times.lifetimes
  blocks, categories, texts = _blocks(lifetimes)
  events, actions = _events(snapshot, lifetimes)
  numbers = {l.block.id: i for i, l in enumerate(lifetimes) if l.end == len(snapshot.events)}
  return {
      'program': snapshot.program, 'device': snapshot.device, 'strategy': snapshot.strategy,
      'stats': {name: value._asdict() if hasattr(value, '_asdict') else value
                for name, value in snapshot.stats._asdict().items()},
      'peak': times.peak()._asdict(), 'layout': timeline.layout(snapshot.segments)._asdict(),
      'dropped': snapshot.dropped_events, 'oom': snapshot.oom._asdict() if snapshot.oom else None,
      'categories': categories, 'texts': texts, 'actions': actions, 'blocks': blocks, 'events': events,
      'segments': _segments(snapshot, numbers),
      'holders': [[numbers[h.block], h.path] for h in snapshot.holders if h.block in numbers],
  }


def embedded(value):
  """JSON that may stand in a script element: within its strings, "<" of a "</script>" or "<!--" is an escape."""
  return json.dumps(value, separators=(',', ':')).replace('<', '\\u003c').replace('>', '\\u003e').replace('&', '\\u0026')


def _part(name):
  with open(os.path.join(PARTS, name), encoding='utf-8') as f:
    return f.read()


def _hash(text):
  return 'sha256-' + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def html(snapshot, times):
  """The page."""
  style = _part('report.css')
  script = '"use strict";\n(() => {\n' + '\n'.join(_part(name) for name in SCRIPTS) + '})();\n'
  return TEMPLATE % (_hash(script), _hash(style), style, _part('body.html'), embedded(data(snapshot, times)), script)
