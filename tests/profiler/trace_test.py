#!/usr/bin/env python3
"""Reads a trace as its viewers do: trace_test.py PROGRAM, where PROGRAM writes the trace to a file."""

import json
import os
import subprocess
import sys
import unittest

TRACE = os.path.join(os.environ['TEST_TMPDIR'], 'trace.json')


class TraceTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    with open(TRACE, encoding='utf-8') as f:  # strict about UTF-8
      cls.trace = json.load(f)
    cls.events = [e for e in cls.trace['traceEvents'] if e['ph'] == 'X']

  def by_name(self, name):
    return [e for e in self.events if e['name'] == name]

  def test_every_event_has_what_the_format_demands(self):
    self.assertGreater(len(self.events), 20)
    for e in self.events:
      self.assertGreaterEqual(e['ts'], 0)
      self.assertGreaterEqual(e['dur'], 0)
      self.assertIsInstance(e['pid'], int)
      self.assertIsInstance(e['tid'], int)
      self.assertIn(e['cat'], ('operator', 'module', 'user', 'backward'))
    self.assertEqual(self.trace['otherData']['dropped_events'], 0)

  def test_calls_of_a_thread_nest(self):
    for tid in (1, 2):
      open_until = []
      last = -1
      for e in (e for e in self.events if e['tid'] == tid):
        start, end = round(e['ts'] * 1000), round((e['ts'] + e['dur']) * 1000)
        self.assertGreaterEqual(start, last)
        last = start
        while open_until and open_until[-1] <= start and open_until[-1] < end:
          open_until.pop()
        if open_until:
          self.assertLessEqual(end, open_until[-1], e)
        open_until.append(end)
    self.assertEqual(len([e for e in self.events if e['tid'] == 2]), 1)

  def test_modules_and_the_backward_pass_have_their_paths(self):
    self.assertEqual([e['args']['module'] for e in self.by_name('2')], ['2'])
    modules = [e['args']['module'] for e in self.events if e['cat'] == 'backward' and e['name'] != 'AccumulateGrad']
    self.assertEqual(modules[0], '')  # of the sum
    self.assertEqual(modules[1], '2')
    self.assertEqual(modules[-1], '0')
    self.assertEqual(sorted(modules, reverse=True), modules[1:] + modules[:1])

  def test_operands_have_dtypes_and_shapes(self):
    products = self.by_name('mul')
    self.assertGreaterEqual(len(products), 7)
    for e in products[-6:]:
      self.assertEqual(e['args']['shapes'], [[3, 4], [3, 4]])
      self.assertEqual(e['args']['dtypes'], ['float32', 'float32'])
      self.assertEqual(e['args']['bytes'], 64)

  def test_names_are_what_they_were_as_far_as_they_are_text(self):
    self.assertEqual([e['name'] for e in self.events if e['cat'] == 'user'], [
        'quote " slash \\ line\n',
        'Gr\u00fc\u00dfe \u6f22\u5b57 \U0001f600',
        'not \ufffd\ufffd utf-8',
        'surrogate \ufffd\ufffd\ufffd',
        'overlong \ufffd\ufffd\ufffd\ufffd\ufffd',
        'cut \ufffd\ufffd',
    ])


if __name__ == '__main__':
  subprocess.run([sys.argv.pop(1), TRACE], check=True)
  unittest.main()
