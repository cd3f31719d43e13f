"""Reads what `memory_snapshot("file.json")` writes. A file is hostile until all of it has been checked."""

import json
from collections import namedtuple

VERSION = 1
LARGEST_BYTES = 2**53 - 1  # what every reader of JSON holds exactly
LARGEST_ADDRESS = 2**63 - 1
LONGEST_TEXT = 1 << 16  # characters of one name
CATEGORIES = ('other', 'parameter', 'buffer', 'gradient', 'optimizer_state', 'saved', 'view', 'user', 'workspace',
              'pending', 'untracked')
ACTIONS = ('alloc', 'free', 'segment_alloc', 'segment_free', 'segment_map', 'segment_unmap', 'oom', 'mark')
STATES = ('active', 'pending', 'cached')


class SnapshotError(Exception):
  """What is wrong with a snapshot: names the key and what is expected there."""


# Bytes, and times in microseconds since the recording began. `freed_us` is None while a block lives; category, operator
# and module are texts.
Block = namedtuple('Block', 'id address bytes requested category operator module sequence dtype shape name '
                   'allocated_us freed_us stream')
Event = namedtuple('Event', 'time_us action block address bytes')
Piece = namedtuple('Piece', 'address bytes requested state block')  # of a segment
Segment = namedtuple('Segment', 'address bytes stream pieces')
Holder = namedtuple('Holder', 'block category path bytes')
OutOfMemory = namedtuple('OutOfMemory', 'requested text')
Stat = namedtuple('Stat', 'current peak allocated freed')
Stats = namedtuple('Stats', 'requested active reserved split allocations frees upstream_allocations upstream_frees '
                   'largest_free')
Snapshot = namedtuple('Snapshot', 'program device strategy stats blocks events dropped_events segments holders oom')


def _shown(value):
  text = json.dumps(value) if isinstance(value, (dict, list, str)) else repr(value)
  return text if len(text) <= 60 else text[:57] + '...'


def _fail(key, expected, value):
  raise SnapshotError('%s: expected %s, found %s' % (key, expected, _shown(value)))


def _object(value, key):
  return value if isinstance(value, dict) else _fail(key, 'an object', value)


def _list(value, key):
  return value if isinstance(value, list) else _fail(key, 'a list', value)


def _text(value, key):
  if not isinstance(value, str):
    _fail(key, 'a string', value)
  if len(value) > LONGEST_TEXT:
    _fail(key, 'a string of at most %d characters' % LONGEST_TEXT, value)
  return value


def _integer(value, key, largest=LARGEST_BYTES):
  # Written out, for it runs once for every number of the file; True and False are integers to isinstance.
  if type(value) is int and 0 <= value <= largest:  # pylint: disable=unidiomatic-typecheck
    return value
  return _fail(key, 'an integer from 0 to %d' % largest, value)


def _address(value, key):
  return _integer(value, key, LARGEST_ADDRESS)


def _stream(value, key):
  return _integer(value, key, 2**64 - 1)


def _time(value, key):
  if type(value) in (int, float) and 0 <= value <= LARGEST_BYTES:  # pylint: disable=unidiomatic-typecheck
    return value
  return _fail(key, 'microseconds since the recording began, a number of at least 0', value)


def _one_of(value, choices, key):
  return value if value in choices else _fail(key, 'one of ' + ', '.join(choices), value)


def _member(parent, name, check, key=''):
  path = '%s.%s' % (key, name) if key else name
  if name not in parent:
    raise SnapshotError('%s: missing; expected by version %d of the format' % (path, VERSION))
  return check(parent[name], path)


def _texts(value, key):
  return [_text(text, '%s[%d]' % (key, i)) for i, text in enumerate(_list(value, key))]


def _look_up(table, value, key, name):
  if type(value) is int and 0 <= value < len(table):  # pylint: disable=unidiomatic-typecheck
    return table[value]
  return _fail(key, 'an index into "%s", which has %d entries' % (name, len(table)), value)


def _rows(document, name, wanted):
  """The rows of a table as tuples in the order of `wanted`, each with its key. Other columns are passed over."""
  table = _member(document, name, _object)
  columns = _member(table, 'columns', _texts, name)
  for column in wanted:
    if columns.count(column) != 1:
      raise SnapshotError('%s.columns: expected the column "%s" once, found %s' % (name, column, _shown(columns)))
  places = [columns.index(column) for column in wanted]
  for i, row in enumerate(_member(table, 'rows', _list, name)):
    key = '%s.rows[%d]' % (name, i)
    if not isinstance(row, list) or len(row) != len(columns):
      _fail(key, 'a list of %d values' % len(columns), row)
    yield key, [row[place] for place in places]


def _shape(value, key):
  return tuple(_integer(size, '%s[%d]' % (key, i)) for i, size in enumerate(_list(value, key)))


def _blocks(document):
  categories = _member(document, 'categories', _texts)
  operators = _member(document, 'operators', _texts)
  modules = _member(document, 'modules', _texts)
  blocks = {}
  for key, row in _rows(document, 'blocks', Block._fields):
    value = Block(*row)
    block = Block(
        id=_integer(value.id, key + '.id'), address=_address(value.address, key + '.address'),
        bytes=_integer(value.bytes, key + '.bytes'), requested=_integer(value.requested, key + '.requested'),
        category=_look_up(categories, value.category, key + '.category', 'categories'),
        operator=_look_up(operators, value.operator, key + '.operator', 'operators'),
        module=_look_up(modules, value.module, key + '.module', 'modules'),
        sequence=_stream(value.sequence, key + '.sequence'), dtype=_text(value.dtype, key + '.dtype'),
        shape=_shape(value.shape, key + '.shape'), name=_text(value.name, key + '.name'),
        allocated_us=_time(value.allocated_us, key + '.allocated_us'),
        freed_us=None if value.freed_us is None else _time(value.freed_us, key + '.freed_us'),
        stream=_stream(value.stream, key + '.stream'))
    if block.id == 0 or block.id in blocks:
      _fail(key + '.id', 'a number of its own, from 1', block.id)
    if block.freed_us is not None and block.freed_us < block.allocated_us:
      _fail(key + '.freed_us', 'a time not before allocated_us', block.freed_us)
    blocks[block.id] = block
  return blocks


def _events(document):
  return [
      Event(_time(time, key + '.time_us'), _one_of(action, ACTIONS, key + '.action'), _integer(block, key + '.block'),
            _address(address, key + '.address'), _integer(size, key + '.bytes'))
      for key, (time, action, block, address, size) in _rows(document, 'events', Event._fields)
  ]


def _piece(value, key):
  _object(value, key)
  return Piece(_member(value, 'address', _address, key), _member(value, 'bytes', _integer, key),
               _member(value, 'requested', _integer, key),
               _one_of(_member(value, 'state', _text, key), STATES, key + '.state'),
               _member(value, 'block', _integer, key))


def _segment(value, key):
  _object(value, key)
  segment = Segment(_member(value, 'address', _address, key), _member(value, 'bytes', _integer, key),
                    _member(value, 'stream', _stream, key),
                    [_piece(p, '%s.blocks[%d]' % (key, i)) for i, p in enumerate(_member(value, 'blocks', _list, key))])
  end = segment.address
  for i, piece in enumerate(segment.pieces):
    if piece.address < end:
      _fail('%s.blocks[%d].address' % (key, i), 'an address from %d on, after what stands before it' % end,
            piece.address)
    end = piece.address + piece.bytes
  if end > segment.address + segment.bytes:
    _fail('%s.bytes' % key, 'at least the %d bytes up to the end of its last block' % (end - segment.address),
          segment.bytes)
  return segment


def _stats(value, key):
  _object(value, key)

  def stat(quantity, path):
    _object(quantity, path)
    # Statistics may be reset while blocks live, after which more is freed than was allocated.
    return Stat(*(_member(quantity, field, _signed, path) for field in Stat._fields))

  return Stats(*(_member(value, field, stat if field in ('requested', 'active', 'reserved', 'split') else _integer, key)
                 for field in Stats._fields))


def _signed(value, key):
  if type(value) is int and abs(value) <= LARGEST_BYTES:  # pylint: disable=unidiomatic-typecheck
    return value
  return _fail(key, 'an integer', value)


def _oom(value, key):
  if value is None:
    return None
  _object(value, key)
  return OutOfMemory(_member(value, 'requested', _integer, key), _member(value, 'text', _text, key))


def _check_version(document):
  if not isinstance(document, dict):
    _fail('the file', 'a JSON object, as memory_snapshot() writes it', document)
  version = _member(document, 'version', _integer)
  if version != VERSION:
    raise SnapshotError('version: expected %d, found %d; read it with the tool of the library that wrote it' %
                        (VERSION, version))


def from_document(document):
  """The snapshot that a decoded file holds. Throws SnapshotError."""
  _check_version(document)
  return Snapshot(
      program=_member(document, 'program', _text), device=_member(document, 'device', _text),
      strategy=_member(document, 'strategy', _text), stats=_member(document, 'stats', _stats),
      blocks=_blocks(document), events=_events(document), dropped_events=_member(document, 'dropped_events', _integer),
      segments=[_segment(s, 'segments[%d]' % i) for i, s in enumerate(_member(document, 'segments', _list))],
      holders=[
          Holder(_integer(block, key + '.block'), _text(category, key + '.category'), _text(path, key + '.path'),
                 _integer(size, key + '.bytes'))
          for key, (block, category, path, size) in _rows(document, 'holders', Holder._fields)
      ], oom=_member(document, 'oom', _oom))


def _without_repeats(pairs):
  found = dict(pairs)
  if len(found) != len(pairs):
    names = [name for name, _ in pairs]
    raise SnapshotError('%s: given more than once' % next(n for n in names if names.count(n) > 1))
  return found


def _no_such_number(text):
  raise SnapshotError('%s is no number of JSON' % text)


def parse(data):
  """The snapshot in the bytes of a file. Throws SnapshotError."""
  try:
    document = json.loads(data.decode('utf-8'), object_pairs_hook=_without_repeats, parse_constant=_no_such_number)
  except UnicodeDecodeError as e:
    raise SnapshotError('the file: expected UTF-8, found a stray byte at %d' % e.start) from e
  except json.JSONDecodeError as e:
    raise SnapshotError('the file: expected JSON; line %d, column %d: %s' % (e.lineno, e.colno, e.msg)) from e
  except (RecursionError, ValueError) as e:
    # Nested too deeply, or a number of thousands of digits.
    raise SnapshotError('the file: expected JSON as memory_snapshot() writes it (%s)' % e) from e
  return from_document(document)
