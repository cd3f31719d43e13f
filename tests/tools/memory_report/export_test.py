#!/usr/bin/env python3
"""Snapshots in the formats of others."""

import json
import pickle
import pickletools
import sys
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = ['tools/memory_report', 'tests/tools/memory_report']

import chrome_export  # pylint: disable=wrong-import-position
import memory_report  # pylint: disable=wrong-import-position
import pytorch_export  # pylint: disable=wrong-import-position
import snapshot  # pylint: disable=wrong-import-position
import snapshots  # pylint: disable=wrong-import-position
import timeline  # pylint: disable=wrong-import-position
from snapshots import MIB  # pylint: disable=wrong-import-position

BASE = 0x1000000


def read(made):
  return snapshot.parse(snapshots.to_bytes(made))


def pytorch(made):
  return pytorch_export.export(read(made))


def pending():
  """The hand-made snapshot, but the block that was freed at 30 us is still used on another stream."""
  made = snapshots.hand_made()
  del made['events']['rows'][4:], made['blocks']['rows'][3]
  made['segments'][0]['blocks'][1].update(state='pending', requested=0)
  return made


class PytorchTest(unittest.TestCase):

  def test_a_segment_has_the_keys_and_sums_of_theirs(self):
    segment = pytorch(snapshots.hand_made())['segments'][0]
    blocks = segment.pop('blocks')
    self.assertEqual(segment, {
        'device': 0, 'address': BASE, 'total_size': 16 * MIB, 'allocated_size': 8 * MIB, 'active_size': 8 * MIB,
        'requested_size': 8 * MIB, 'stream': 0, 'segment_type': 'large', 'segment_pool_id': (0, 0),
        'is_expandable': False, 'frames': []})
    self.assertEqual([(b['address'] - BASE, b['size'], b['requested_size'], b['state']) for b in blocks],
                     [(0, 6 * MIB, 6 * MIB, 'active_allocated'), (6 * MIB, 4 * MIB, 0, 'inactive'),
                      (10 * MIB, 2 * MIB, 2 * MIB, 'active_allocated'), (12 * MIB, 4 * MIB, 0, 'inactive')])

  def test_frames_tell_operator_and_module(self):
    self.assertEqual(pytorch(snapshots.hand_made())['segments'][0]['blocks'][0]['frames'],
                     [{'name': 'randn', 'filename': 'encoder.0', 'line': 1},
                      {'name': 'parameter float32 [1024, 1536] "weight"', 'filename': '(block 1)', 'line': 1}])

  def test_a_free_is_requested_and_completed(self):
    trace = pytorch(snapshots.hand_made())['device_traces'][0]
    self.assertEqual([(e['action'], e['addr'] - BASE, e['size'], e['time_us']) for e in trace[:5]],
                     [('segment_alloc', 0, 16 * MIB, 5), ('alloc', 6 * MIB, 4 * MIB - 100, 10),
                      ('alloc', 10 * MIB, 2 * MIB, 20), ('free_requested', 6 * MIB, 4 * MIB - 100, 30),
                      ('free_completed', 6 * MIB, 4 * MIB - 100, 30)])
    self.assertEqual(trace[-1]['action'], 'snapshot')

  def test_a_segment_that_grows_and_shrinks_is_mapped_and_unmapped(self):
    exported = pytorch(snapshots.mapped())
    self.assertEqual([(e['action'], e['addr'] - BASE, e['size'], e['time_us'])
                      for e in exported['device_traces'][0][:4]],
                     [('segment_map', 0, 8 * MIB, 1), ('alloc', 0, 6 * MIB, 5),
                      ('segment_map', 8 * MIB, 8 * MIB, 20), ('segment_unmap', 12 * MIB, 4 * MIB, 40)])
    self.assertTrue(exported['segments'][0]['is_expandable'])
    self.assertTrue(exported['allocator_settings']['expandable_segments'])

  def test_a_segment_that_went_back_is_freed(self):
    made = snapshots.empty()
    made['events']['rows'] = [[1, 'segment_alloc', 0, BASE, 2 * MIB], [2, 'segment_free', 0, BASE, 2 * MIB]]
    self.assertEqual([(e['action'], e['addr'], e['size']) for e in pytorch(made)['device_traces'][0][:2]],
                     [('segment_alloc', BASE, 2 * MIB), ('segment_free', BASE, 2 * MIB)])

  def test_a_strategy_of_segments_for_each_block_gets_no_others(self):
    made = snapshots.empty()
    made['blocks']['rows'] = [[1, BASE, MIB, MIB, 7, 0, 0, 1, 'float32', [262144], 'x', 2, 3, 0]]
    made['events']['rows'] = [[1, 'segment_alloc', 0, BASE, MIB], [2, 'alloc', 1, BASE, MIB],
                              [3, 'free', 1, BASE, MIB], [4, 'segment_free', 0, BASE, MIB]]
    self.assertEqual([e['action'] for e in pytorch(made)['device_traces'][0]],
                     ['segment_alloc', 'alloc', 'free_requested', 'free_completed', 'segment_free', 'snapshot'])

  def test_the_free_of_a_pending_block_is_not_completed(self):
    made = pytorch(pending())
    segment = made['segments'][0]
    block = segment['blocks'][1]
    self.assertEqual((block['state'], block['requested_size']), ('active_pending_free', 4 * MIB - 100))
    self.assertEqual(block['frames'][0]['name'], 'mul')
    self.assertEqual((segment['allocated_size'], segment['active_size']), (8 * MIB, 12 * MIB))
    self.assertEqual([e['action'] for e in made['device_traces'][0]],
                     ['segment_alloc', 'alloc', 'alloc', 'free_requested', 'snapshot'])

  def test_out_of_memory_has_no_address(self):
    made = snapshots.empty()
    made['events']['rows'] = [[7, 'oom', 0, 0, 1000]]
    self.assertEqual(pytorch(made)['device_traces'][0][0],
                     {'action': 'oom', 'device_free': 0, 'size': 1000, 'stream': 0, 'time_us': 7, 'frames': []})

  def test_traces_stand_at_the_index_of_their_device(self):
    made = snapshots.hand_made()
    made['device'] = 'cuda:2'
    exported = pytorch(made)
    self.assertEqual([bool(trace) for trace in exported['device_traces']], [False, False, True])
    self.assertEqual(exported['segments'][0]['device'], 2)

  def test_a_strategy_without_segments_gets_one_for_each_block(self):
    made = snapshots.hand_made()
    made['segments'] = []
    del made['events']['rows'][0]
    exported = pytorch(made)
    self.assertEqual([(s['address'] - BASE, s['total_size']) for s in exported['segments']],
                     [(0, 6 * MIB), (10 * MIB, 2 * MIB)])
    self.assertEqual([e['action'] for e in exported['device_traces'][0][:2]], ['segment_alloc', 'alloc'])

  def test_blocks_tile_their_segments(self):
    gap = snapshots.hand_made()
    del gap['segments'][0]['blocks'][1]  # and none tells what lies there
    for made in (snapshots.hand_made(), pending(), snapshots.training(), snapshots.of_size(3000), gap):
      for segment in pytorch(made)['segments']:
        at = segment['address']
        for block in segment['blocks']:
          self.assertEqual(block['address'], at)
          self.assertLessEqual(block['requested_size'], block['size'])
          at += block['size']
        self.assertEqual(at, segment['address'] + segment['total_size'])

  def test_the_events_lead_back_from_the_segments_as_a_viewer_walks_them(self):
    direct = snapshots.hand_made()
    direct['segments'] = []
    del direct['events']['rows'][0]
    for made in (snapshots.hand_made(), pending(), direct, snapshots.training(), snapshots.of_size(3000)):
      exported = pytorch(made)
      segments = {s['address']: s['total_size'] for s in exported['segments']}
      active = {b['address']: b['state'] for s in exported['segments'] for b in s['blocks'] if b['state'] != 'inactive'}
      for event in reversed(exported['device_traces'][0]):
        place = event['addr']
        if event['action'] == 'free_completed':
          self.assertNotIn(place, active)
          active[place] = 'active_pending_free'
        elif event['action'] == 'free_requested':
          self.assertEqual(active[place], 'active_pending_free')
          active[place] = 'active_allocated'
        elif event['action'] == 'alloc':
          self.assertEqual(active.pop(place), 'active_allocated')
        elif event['action'] == 'segment_free':
          segments[place] = event['size']
        elif event['action'] == 'segment_alloc':
          self.assertEqual(segments.pop(place), event['size'])

  def test_the_pickle_holds_what_the_viewer_s_own_reader_knows(self):
    data = memory_report.FORMATS['pytorch-pickle'][0](read(snapshots.training()))
    known = {'PROTO', 'APPEND', 'APPENDS', 'BINGET', 'BININT', 'BININT1', 'BININT2', 'EMPTY_DICT', 'EMPTY_LIST',
             'LONG1', 'LONG_BINGET', 'MARK', 'SETITEM', 'SETITEMS', 'STOP', 'TUPLE', 'TUPLE1', 'TUPLE2', 'TUPLE3', 'NEWFALSE',
             'NEWTRUE', 'BINPUT', 'LONG_BINPUT', 'BINUNICODE', 'EMPTY_TUPLE', 'NONE', 'BINFLOAT'}
    self.assertEqual({opcode.name for opcode, _, _ in pickletools.genops(data)} - known, set())
    self.assertEqual(pickle.loads(data), pytorch(snapshots.training()))

  def test_the_json_says_the_same(self):
    exported = json.loads(memory_report.FORMATS['pytorch'][0](read(snapshots.hand_made())))
    self.assertEqual(exported['segments'][0]['segment_pool_id'], [0, 0])
    self.assertEqual(exported['device_traces'], pytorch(snapshots.hand_made())['device_traces'])


class ChromeTest(unittest.TestCase):

  def events(self, made, **wanted):
    exported = chrome_export.export(read(made), timeline.Timeline(read(made)))['traceEvents']
    return [e for e in exported if all(e.get(k) == v for k, v in wanted.items())]

  def counter(self, made, name):
    return [(e['ts'], e['args']['bytes'] / MIB) for e in self.events(made, ph='C', name=name)]

  def test_each_category_has_a_counter(self):
    made = snapshots.hand_made()
    self.assertEqual(self.counter(made, 'live: parameter'), [(0, 6)])
    self.assertEqual(self.counter(made, 'live: saved'), [(10, 4), (20, 6), (30, 2)])
    self.assertEqual(self.counter(made, 'live: workspace'), [(40, 3), (50, 0)])

  def test_counts_what_is_reserved(self):
    self.assertEqual(self.counter(snapshots.hand_made(), 'reserved'), [(0, 0), (5, 16)])

  def test_counts_pages_as_they_come_and_go(self):
    self.assertEqual(self.counter(snapshots.mapped(), 'reserved'), [(0, 0), (1, 8), (20, 16), (40, 12)])

  def test_without_events_of_segments_nothing_is_said_of_them(self):
    made = snapshots.hand_made()
    del made['events']['rows'][0]
    self.assertEqual(self.counter(made, 'reserved'), [])

  def test_segments_and_lack_of_memory_are_marks(self):
    made = snapshots.hand_made()
    made['events']['rows'].append([60, 'oom', 0, 0, 99])
    self.assertEqual([(e['name'], e['ts'], e['args']) for e in self.events(made, ph='i')],
                     [('segment_alloc', 5, {'address': '0x1000000', 'bytes': 16 * MIB}),
                      ('oom', 60, {'requested': 99})])

  def test_the_sum_of_the_counters_is_what_lives(self):
    made = snapshots.training()
    level, live = {}, timeline.Timeline(read(made)).live
    for event in self.events(made, ph='C'):
      if event['name'] != 'reserved':
        level[event['name']] = event['args']['bytes']
    self.assertEqual(sum(level.values()), live[-1])


if __name__ == '__main__':
  unittest.main()
