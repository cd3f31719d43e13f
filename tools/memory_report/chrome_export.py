"""A snapshot as a trace for Perfetto and chrome://tracing: one counter for each category, one for what is reserved, and
marks where memory ran out or segments came and went. Timestamps are microseconds, counters bytes."""

PROCESS = 1
GROWS = {'segment_alloc': 1, 'segment_map': 1, 'segment_free': -1, 'segment_unmap': -1}


def _counter(name, time, value):
  return {'name': name, 'ph': 'C', 'pid': PROCESS, 'tid': 0, 'ts': time, 'args': {'bytes': value}}


def _mark(name, time, scope, args):
  return {'name': name, 'ph': 'i', 's': scope, 'pid': PROCESS, 'tid': 0, 'ts': time, 'args': args}


def _changes(timeline):
  """By moment, the bytes that each category gains."""
  changes = {}
  for block, begin, end in timeline.lifetimes:
    for moment, gain in ((begin, block.bytes), (end, -block.bytes)):
      of_moment = changes.setdefault(moment, {})
      of_moment[block.category] = of_moment.get(block.category, 0) + gain
  return changes


def export(snapshot, timeline):
  """The object of the trace format."""
  events = [{'name': 'process_name', 'ph': 'M', 'pid': PROCESS, 'tid': 0,
             'args': {'name': '%s: memory of %s (%s)' % (snapshot.program, snapshot.device, snapshot.strategy)}}]
  changes, level, time = _changes(timeline), {}, 0
  # What is left at the end was there at the beginning but for what the recorded events added. Without any, nobody knows.
  recorded = any(e.action in GROWS for e in snapshot.events)
  reserved = sum(s.bytes for s in snapshot.segments) - sum(
      GROWS.get(e.action, 0) * e.bytes for e in snapshot.events)

  def count(moment):
    for category, gain in sorted(changes.get(moment, {}).items()):
      level[category] = level.get(category, 0) + gain
      if gain:
        events.append(_counter('live: ' + category, time, level[category]))

  count(-1)
  if recorded:
    events.append(_counter('reserved', 0, reserved))
  for i, event in enumerate(snapshot.events):
    time = max(time, event.time_us)
    count(i)
    if event.action in GROWS:
      reserved += GROWS[event.action] * event.bytes
      events.append(_counter('reserved', time, reserved))
      events.append(_mark(event.action, time, 't', {'address': hex(event.address), 'bytes': event.bytes}))
    elif event.action == 'oom':
      events.append(_mark('oom', time, 'g', {'requested': event.bytes}))
    elif event.action == 'mark':
      events.append(_mark('mark', time, 'p', {}))
  return {'traceEvents': events, 'displayTimeUnit': 'ms'}
