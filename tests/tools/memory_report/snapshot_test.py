#!/usr/bin/env python3
"""What the report reads out of a snapshot, and what it says of files that are none."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = ['tools/memory_report', 'tests/tools/memory_report']

import page  # pylint: disable=wrong-import-position
import snapshot  # pylint: disable=wrong-import-position
import snapshots  # pylint: disable=wrong-import-position
import text_report  # pylint: disable=wrong-import-position
import timeline  # pylint: disable=wrong-import-position
from snapshots import MIB  # pylint: disable=wrong-import-position

REPORT = 'tools/memory_report/memory_report.py'


def read(made):
  return snapshot.parse(snapshots.to_bytes(made))


def timeline_of(made):
  return timeline.Timeline(read(made))


class TimelineTest(unittest.TestCase):

  def test_live_bytes_after_each_event(self):
    self.assertEqual([b // MIB for b in timeline_of(snapshots.hand_made()).live], [6, 6, 10, 12, 8, 11, 8])

  def test_the_peak_is_the_first_moment_with_the_most(self):
    self.assertEqual(timeline_of(snapshots.hand_made()).peak(), timeline.Peak(2, 20, 12 * MIB))

  def test_composition_at_the_peak(self):
    times = timeline_of(snapshots.hand_made())
    live = times.live_at(times.peak().event)
    self.assertEqual(timeline.composition(live, 'category'), [('parameter', 6 * MIB, 1), ('saved', 6 * MIB, 2)])
    self.assertEqual(timeline.composition(live, 'module'), [('encoder.0', 10 * MIB, 2), ('', 2 * MIB, 1)])

  def test_fragmentation_is_what_the_largest_hole_lacks_of_all_that_is_cached(self):
    self.assertEqual(timeline.layout(read(snapshots.hand_made()).segments),
                     timeline.Layout(16 * MIB, 8 * MIB, 0, 8 * MIB, 4 * MIB, 2, 0.5))

  def test_nothing_cached_is_not_fragmented(self):
    self.assertEqual(timeline.layout([]).fragmentation, 0)

  def test_a_block_whose_allocation_was_lost_lives_from_the_start(self):
    made = snapshots.hand_made()
    made['dropped_events'] = 2
    del made['events']['rows'][:2]  # among them the allocation of block 2
    self.assertEqual([b // MIB for b in timeline_of(made).live], [10, 12, 8, 11, 8])

  def test_a_block_that_was_freed_before_the_oldest_event_is_left_out(self):
    made = snapshots.hand_made()
    made['events']['rows'] = made['events']['rows'][4:]
    self.assertEqual([b // MIB for b in timeline_of(made).live], [8, 11, 8])

  def test_blocks_that_no_row_describes_count_as_untracked(self):
    made = snapshots.empty()
    made['events']['rows'] = [[1, 'alloc', 0, 64, 100], [2, 'alloc', 9, 256, 50], [3, 'free', 0, 64, 100],
                              [4, 'free', 8, 512, 7]]
    times = timeline_of(made)
    self.assertEqual(times.live, [7, 107, 157, 57, 50])
    self.assertEqual(timeline.composition(times.live_at(1), 'category'), [('untracked', 157, 3)])

  def test_a_second_free_changes_nothing(self):
    made = snapshots.hand_made()
    made['events']['rows'].append(made['events']['rows'][3])
    self.assertEqual([b // MIB for b in timeline_of(made).live], [6, 6, 10, 12, 8, 11, 8, 8])

  def test_without_events_what_lives_is_the_peak(self):
    made = snapshots.hand_made()
    made['events']['rows'] = []
    self.assertEqual(timeline_of(made).peak(), timeline.Peak(-1, 0, 8 * MIB))

  def test_time_does_not_run_backwards(self):
    made = snapshots.hand_made()
    made['events']['rows'][2][0] = 8
    self.assertEqual(timeline_of(made).time(2), 10)


class TextTest(unittest.TestCase):

  def text(self, made):
    return text_report.text(read(made), timeline_of(made))

  def test_shows_the_peak_and_what_filled_it(self):
    lines = [' '.join(line.split()) for line in self.text(snapshots.hand_made()).splitlines()]
    self.assertIn('peak: 12.00 MiB in 3 blocks at 0.020 ms (event 3 of 6)', lines)
    self.assertIn('parameter 6.00 MiB 50.0% 1', lines)
    self.assertIn('saved 6.00 MiB 50.0% 2', lines)
    self.assertIn('weight 6.00 MiB parameter randn encoder.0 float32[1024, 1536]', lines)
    self.assertIn('now: 16.00 MiB reserved, 8.00 MiB active, 0.00 MiB pending, 8.00 MiB cached in 2 holes (largest '
                  '4.00 MiB, fragmentation 50.0%)', lines)

  def test_says_when_the_record_is_incomplete(self):
    made = snapshots.hand_made()
    made['dropped_events'] = 3
    self.assertIn('3 older events were lost', self.text(made))

  def test_names_cannot_steer_the_terminal(self):
    made = snapshots.hand_made()
    made['blocks']['rows'][0][10] = '\x1b[2Jx\ud800'
    made['oom'] = {'requested': 1, 'text': 'a\x07\nb'}
    text = self.text(made)
    self.assertNotIn('\x1b', text)
    self.assertNotIn('\x07', text)
    self.assertIn('\\x1b[2Jx', text)
    text.encode()


def changed(path, value):
  """The hand-made snapshot with another value at a path of keys; REMOVED removes it."""
  made = snapshots.hand_made()
  place = made
  for key in path[:-1]:
    place = place[key]
  if value is REMOVED:
    del place[path[-1]]
  else:
    place[path[-1]] = value
  return made


REMOVED = object()
ROW = ('blocks', 'rows', 1)
HOSTILE = (
    (('version',), REMOVED, 'version: missing'),
    (('version',), 2, 'version: expected 1, found 2'),
    (('version',), True, 'version: expected an integer'),
    (('stats',), [], 'stats: expected an object, found []'),
    (('stats', 'active', 'peak'), 'x', 'stats.active.peak: expected an integer, found "x"'),
    (('stats', 'frees'), REMOVED, 'stats.frees: missing'),
    (('device',), 3, 'device: expected a string, found 3'),
    (('device',), 'x' * 70000, 'device: expected a string of at most 65536 characters'),
    (('categories',), 'saved', 'categories: expected a list'),
    (('operators', 1), None, 'operators[1]: expected a string, found None'),
    (('blocks',), REMOVED, 'blocks: missing'),
    (('blocks', 'columns', 2), 'size', 'blocks.columns: expected the column "bytes" once'),
    (('blocks', 'columns', 2), 'id', 'blocks.columns: expected the column "id" once'),
    (('blocks', 'rows'), {}, 'blocks.rows: expected a list, found {}'),
    (ROW, [1, 2], 'blocks.rows[1]: expected a list of 14 values, found [1, 2]'),
    (ROW + (0,), 1, 'blocks.rows[1].id: expected a number of its own, from 1, found 1'),
    (ROW + (0,), 0, 'blocks.rows[1].id: expected a number of its own, from 1, found 0'),
    (ROW + (1,), 1 << 63, 'blocks.rows[1].address: expected an integer from 0 to'),
    (ROW + (2,), -1, 'blocks.rows[1].bytes: expected an integer from 0 to 9007199254740991, found -1'),
    (ROW + (2,), 1.5, 'blocks.rows[1].bytes: expected an integer'),
    (ROW + (3,), False, 'blocks.rows[1].requested: expected an integer'),
    (ROW + (4,), 11, 'blocks.rows[1].category: expected an index into "categories", which has 11 entries, found 11'),
    (ROW + (4,), -1, 'blocks.rows[1].category: expected an index into "categories"'),
    (ROW + (5,), 3, 'blocks.rows[1].operator: expected an index into "operators", which has 3 entries, found 3'),
    (ROW + (6,), '', 'blocks.rows[1].module: expected an index into "modules"'),
    (ROW + (9,), [2, '3'], 'blocks.rows[1].shape[1]: expected an integer'),
    (ROW + (9,), 7, 'blocks.rows[1].shape: expected a list, found 7'),
    (ROW + (11,), '10', 'blocks.rows[1].allocated_us: expected microseconds'),
    (ROW + (12,), 5, 'blocks.rows[1].freed_us: expected a time not before allocated_us, found 5'),
    (('events', 'rows', 0, 1), 'explode', 'events.rows[0].action: expected one of alloc, free,'),
    (('events', 'rows', 0, 1), [], 'events.rows[0].action: expected one of alloc, free,'),
    (('events', 'rows', 0, 0), -3, 'events.rows[0].time_us: expected microseconds'),
    (('events', 'rows', 0, 4), 1 << 60, 'events.rows[0].bytes: expected an integer'),
    (('dropped_events',), None, 'dropped_events: expected an integer'),
    (('segments', 0), 7, 'segments[0]: expected an object, found 7'),
    (('segments', 0, 'stream'), REMOVED, 'segments[0].stream: missing'),
    (('segments', 0, 'blocks', 1, 'state'), 'odd', 'segments[0].blocks[1].state: expected one of active, pending'),
    (('segments', 0, 'blocks', 1, 'address'), 0x1000010, 'segments[0].blocks[1].address: expected an address from'),
    (('segments', 0, 'bytes'), 15 * MIB, 'segments[0].bytes: expected at least the %d bytes' % (16 * MIB)),
    (('holders', 'columns'), [], 'holders.columns: expected the column "block" once'),
    (('holders', 'rows', 0, 2), 1, 'holders.rows[0].path: expected a string, found 1'),
    (('oom',), 'no', 'oom: expected an object, found "no"'),
    (('oom',), {'requested': 1}, 'oom.text: missing'),
)


class HostileFileTest(unittest.TestCase):

  def complaint(self, data):
    with self.assertRaises(snapshot.SnapshotError) as caught:
      snapshot.parse(data)
    return str(caught.exception)

  def test_the_key_and_what_is_expected_there_are_named(self):
    for path, value, expected in HOSTILE:
      with self.subTest(path=path, value=str(value)[:40]):
        self.assertTrue(self.complaint(snapshots.to_bytes(changed(path, value))).startswith(expected),
                        self.complaint(snapshots.to_bytes(changed(path, value))))

  def test_what_is_no_json_is_refused_where_it_breaks(self):
    for data, expected in (
        (b'', 'the file: expected JSON; line 1, column 1'),
        (b'{"version":\n 1', 'the file: expected JSON; line 2, column 3'),
        (b'\xff\xfe', 'the file: expected UTF-8, found a stray byte at 0'),
        (b'[' * 100000, 'the file: expected JSON as memory_snapshot() writes it'),
        (b'{"version": ' + b'9' * 5000 + b'}', 'the file: expected JSON as memory_snapshot() writes it'),
        (b'[1]', 'the file: expected a JSON object'),
        (b'{"version": NaN}', 'NaN is no number of JSON'),
        (b'{"version": 1e999}', 'version: expected an integer'),
        (b'{"version": 1, "version": 1}', 'version: given more than once'),
    ):
      with self.subTest(data=data[:30]):
        self.assertTrue(self.complaint(data).startswith(expected), self.complaint(data))

  def test_every_truncation_is_refused(self):
    data = snapshots.to_bytes(snapshots.hand_made())
    for length in range(0, len(data) - 1, 97):
      self.complaint(data[:length])

  def test_unknown_keys_and_columns_are_passed_over(self):
    made = snapshots.hand_made()
    made['later'] = {'x': 1}
    made['blocks']['columns'].insert(0, 'colour')
    for row in made['blocks']['rows']:
      row.insert(0, 'red')
    self.assertEqual(read(made).blocks, read(snapshots.hand_made()).blocks)


class PageTest(unittest.TestCase):

  def test_data_cannot_leave_its_element(self):
    text = page.embedded(['</script><!-- <script>', '\u2028&amp;'])
    self.assertNotIn('<', text)
    self.assertNotIn('\u2028', text)
    self.assertEqual(json.loads(text), ['</script><!-- <script>', '\u2028&amp;'])

  def test_the_page_refers_to_nothing_outside(self):
    text = page.html(read(snapshots.hand_made()), timeline_of(snapshots.hand_made()))
    for outside in ('src=', 'href=', '@import', 'url(', 'fetch(', 'XMLHttpRequest', 'import('):
      self.assertNotIn(outside, text)
    # But for the name of SVG, which nobody looks up.
    self.assertEqual(re.findall(r'\w+://[^\s\'"]*', text), ['http://www.w3.org/2000/svg'])

  def test_numbers_that_a_script_would_round_go_as_text(self):
    made = changed(ROW + (7,), 2**64 - 1)
    self.assertEqual(page.data(read(made), timeline_of(made))['blocks']['sequence'][1], '18446744073709551615')


class ProgramTest(unittest.TestCase):

  def run_in(self, folder, *arguments):
    return subprocess.run([sys.executable, os.path.abspath(REPORT), *arguments], capture_output=True, check=False,
                          env=dict(os.environ, BUILD_WORKING_DIRECTORY=folder))

  def setUp(self):
    super().setUp()
    self.folder = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
    with open(os.path.join(self.folder, 's.json'), 'wb') as f:
      f.write(snapshots.to_bytes(snapshots.hand_made()))

  def test_paths_are_relative_to_where_the_user_is(self):
    self.assertEqual(self.run_in(self.folder, 's.json', '-o', 'out.html').returncode, 0)
    with open(os.path.join(self.folder, 'out.html'), encoding='utf-8') as f:
      self.assertIn('<title>Memory report</title>', f.read())

  def test_text_goes_to_the_terminal(self):
    self.assertIn(b'peak: 12.00 MiB', self.run_in(self.folder, 's.json', '--format=text').stdout)

  def test_a_bad_snapshot_is_reported_without_a_page(self):
    with open(os.path.join(self.folder, 'bad.json'), 'w', encoding='utf-8') as f:
      f.write('{"version": 3}')
    done = self.run_in(self.folder, 'bad.json')
    self.assertEqual(done.returncode, 2)
    self.assertEqual(done.stderr, b'memory_report: bad.json: version: expected 1, found 3; read it with the tool of the '
                                  b'library that wrote it\n')
    self.assertEqual(os.listdir(self.folder).count('report.html'), 0)

  def test_a_missing_file_is_reported(self):
    done = self.run_in(self.folder, 'none.json')
    self.assertEqual(done.returncode, 2)
    self.assertIn(b'No such file', done.stderr)


if __name__ == '__main__':
  unittest.main()
