#!/usr/bin/env python3
"""What the environment turns on: the ledger, and a snapshot at the end or where memory runs out."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


class EnvironmentTest(unittest.TestCase):

  def run_program(self, *args, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith('VELLUM_')}
    environment.update(variables)
    return subprocess.run([PROGRAM, *args], env=environment, check=True, capture_output=True, text=True)

  def snapshot(self, *args):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'memory.json')
      result = self.run_program(*args, VELLUM_MEMORY_SNAPSHOT=path)
      self.assertEqual(os.listdir(folder), ['memory.json'], result.stderr)
      with open(path, encoding='utf-8') as f:
        return json.load(f)

  def test_the_ledger_is_off_unless_it_is_wanted(self):
    self.assertEqual(self.run_program().stdout, 'off\n')
    self.assertEqual(self.run_program(VELLUM_LEDGER='0').stdout, 'off\n')
    self.assertEqual(self.run_program(VELLUM_LEDGER='1').stdout, 'on\n')

  def test_an_out_of_memory_error_says_how_to_learn_more(self):
    self.assertIn('VELLUM_LEDGER=1', self.run_program('oom').stdout)
    self.assertIn('user: images', self.run_program('oom', VELLUM_LEDGER='1').stdout)

  def test_a_snapshot_is_written_at_the_end(self):
    snapshot = self.snapshot()
    actions = [row[1] for row in snapshot['events']['rows']]
    self.assertIn('alloc', actions)
    self.assertEqual(actions.count('alloc'), actions.count('free'))
    self.assertIsNone(snapshot['oom'])

  def test_a_snapshot_is_written_where_memory_runs_out(self):
    snapshot = self.snapshot('oom')
    self.assertEqual(snapshot['oom']['requested'], 4 << 50)
    self.assertIn('out of memory on cpu', snapshot['oom']['text'])
    self.assertIn('images', snapshot['oom']['text'])
    self.assertEqual(snapshot['events']['rows'][-1][1], 'oom')
    self.assertIn('images', [row[2] for row in snapshot['holders']['rows']])

  def test_a_question_about_memory_that_finds_none_is_no_failure(self):
    snapshot = self.snapshot('dry_oom')
    self.assertIsNone(snapshot['oom'])
    self.assertEqual(snapshot['strategy'], self.snapshot()['strategy'])
    self.assertNotIn('oom', [row[1] for row in snapshot['events']['rows']])
    self.assertIn('free', [row[1] for row in snapshot['events']['rows']])

  def test_a_snapshot_of_exit_in_mid_program_has_what_nodes_saved(self):
    snapshot = self.snapshot('exit')
    saved = [row[2] for row in snapshot['holders']['rows'] if row[1] == 'saved']
    self.assertTrue(any(path.endswith('.self') for path in saved), snapshot['holders'])

  def test_a_path_that_cannot_be_written_is_named_and_does_no_harm(self):
    result = self.run_program(VELLUM_MEMORY_SNAPSHOT='/no/such/folder/memory.json')
    self.assertIn('/no/such/folder/memory.json', result.stderr)


if __name__ == '__main__':
  sys.exit(unittest.main())
