#!/usr/bin/env python3
"""What vs_libtorch makes of its measurements. Clocks are played; nothing here is timed."""

import json
import math
import sys
import unittest
from xml.etree import ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, 'benchmarks')

import comparison  # pylint: disable=wrong-import-position
import ratio_chart  # pylint: disable=wrong-import-position
from comparison import Result, Row  # pylint: disable=wrong-import-position


def results(*ratios):
  return [Result('row%d' % i, 'ns', 100 * ratio, 100) for i, ratio in enumerate(ratios)]


class CalibrationTest(unittest.TestCase):

  def test_the_work_is_repeated_until_a_run_is_long_enough(self):
    for cost in (1e-9, 1e-6, 3e-3):
      times = comparison.calibrate(lambda n, cost=cost: n * cost, at_least=0.02)
      self.assertGreaterEqual(times * cost, 0.02)
      self.assertLess(times * cost, 0.2, 'far more than needed')

  def test_long_work_is_done_once(self):
    self.assertEqual(comparison.calibrate(lambda n: 0.5 * n, at_least=0.02), 1)

  def test_a_slow_first_run_is_not_taken_for_the_rule(self):
    # A guess from the first run alone would be 3.
    times = comparison.calibrate(lambda n: 0.01 if n == 1 else n * 1e-6, at_least=0.02)
    self.assertGreaterEqual(times, 20000)

  def test_a_clock_that_stands_still_at_first_does_no_harm(self):
    times = comparison.calibrate(lambda n: 0 if n < 1000 else n * 1e-5, at_least=0.02)
    self.assertGreaterEqual(times, 2000)


class AlternationTest(unittest.TestCase):

  def test_sides_take_turns(self):
    order = []
    samples = comparison.alternate([lambda: order.append('ours') or 1, lambda: order.append('theirs') or 2], 3)
    self.assertEqual(order, ['ours', 'theirs'] * 3)
    self.assertEqual(samples, [[1, 1, 1], [2, 2, 2]])

  def test_figures_are_medians_which_a_few_disturbed_rounds_do_not_move(self):
    quiet, disturbed = iter([3, 1, 2, 4, 5]), iter([3, 900, 2, 1, 800])
    self.assertEqual(comparison.medians([lambda: next(quiet), lambda: next(disturbed)], 5), [3, 3])


class RowTest(unittest.TestCase):

  def test_a_worker_lists_numbers_as_text(self):
    row = Row('pointwise/add/4K', '32768', '16384', '8', '4', '1e-05')
    self.assertEqual((row.bytes_read, row.bytes_written, row.flops, row.parts, row.tolerance),
                     (32768, 16384, 8, 4, 1e-5))

  def test_the_slower_of_moving_and_computing_is_the_limit(self):
    row = Row('matmul', bytes_read=2 * 2**20, bytes_written=2**20, flops=6e9)
    rates = {row.traffic: 3 * 2**20, 'product': 2e9}
    self.assertEqual(row.least_seconds(rates), 3)
    self.assertEqual(row.least_seconds({**rates, 'product': 12e9}), 1)

  def test_a_row_is_held_to_what_writes_about_as_large_a_part(self):
    for read, written, kind in ((16, 0, 'read:16'), (15, 1, 'read:16'), (11, 5, 'add:16'), (8, 8, 'copy:16')):
      self.assertEqual(Row('row', bytes_read=read, bytes_written=written).traffic, kind)

  def test_near_sizes_share_one_measurement(self):
    self.assertEqual(Row('a', 3 << 20, 1 << 20).traffic, Row('b', 3.2e6, 1.1e6).traffic)

  def test_a_row_that_says_nothing_of_its_work_has_no_limit(self):
    self.assertIsNone(Row('empty').least_seconds({}))

  def test_rows_of_memory_are_in_bytes(self):
    self.assertTrue(Row('memory/mlp').in_bytes)
    self.assertFalse(Row('mlp/memory').in_bytes)


class ChecksTest(unittest.TestCase):

  def check(self, ours, theirs):
    comparison.check_digests(Row('row', tolerance=1e-3), ours, theirs)

  def test_rounding_passes(self):
    self.check([(4, 1.0, 10.0)], [(4, 1.009, 10.0)])

  def test_another_result_does_not(self):
    for ours, theirs in (
        ([(4, 1.0, 10.0)], [(4, 1.011, 10.0)]),
        ([(4, 1.0, 10.0)], [(5, 1.0, 10.0)]),
        ([(4, 1.0, 10.0)], [(4, 1.0, 10.0), (1, 1.0, 1.0)]),
        ([(4, math.nan, 10.0)], [(4, 1.0, 10.0)]),
        ([(4, math.nan, math.nan)], [(4, math.nan, math.nan)]),
    ):
      with self.assertRaisesRegex(comparison.Mismatch, '^row: '):
        self.check(ours, theirs)

  def test_every_result_is_compared(self):
    with self.assertRaisesRegex(comparison.Mismatch, 'result 1'):
      self.check([(1, 1.0, 1.0), (1, 1.0, 1.0)], [(1, 1.0, 1.0), (1, 2.0, 1.0)])

  def test_both_sides_have_the_same_rows(self):
    comparison.check_rows([Row('a'), Row('b')], [Row('b'), Row('a')])
    with self.assertRaisesRegex(comparison.Mismatch, 'b, c'):
      comparison.check_rows([Row('a'), Row('b')], [Row('a'), Row('c')])


class FiguresTest(unittest.TestCase):

  def test_a_ratio_below_one_means_that_this_library_takes_less(self):
    self.assertEqual(Result('row', 'ns', vellum=25, peer=100).ratio, 0.25)

  def test_the_share_is_of_the_limit(self):
    result = Result('row', 'ns', vellum=40, peer=80, limit=20)
    self.assertEqual((result.share(result.vellum), result.share(result.peer)), (0.5, 0.25))
    self.assertIsNone(Result('row', 'ns', 40, 80).share(40))

  def test_the_geometric_mean_treats_halves_and_doubles_alike(self):
    self.assertAlmostEqual(comparison.geometric_mean(results(0.5, 2)), 1)
    self.assertAlmostEqual(comparison.geometric_mean(results(0.1, 0.2, 0.4)), 0.2)

  def test_figures_are_written_in_a_fitting_unit(self):
    for figure, unit, text in ((12.3456, 'ns', '12.3 ns'), (1234567, 'ns', '1.23 ms'), (2e9, 'ns', '2 s'),
                               (123456, 'ns', '123 us'), (0, 'ns', '0 ns'), (3 * 2**20, 'bytes', '3 MiB'),
                               (512, 'bytes', '512 B')):
      self.assertEqual(comparison.readable(figure, unit), text)


class OutputTest(unittest.TestCase):

  def test_json_has_the_promised_keys_and_exact_figures(self):
    rows = [Result('pointwise/add/4K', 'ns', 1.25, 5.0, limit=1), Result('memory/mlp/held', 'bytes', 3, 2)]
    self.assertEqual(
        json.loads(comparison.as_json(rows, '1.13.0')),
        [
            {'name': 'pointwise/add/4K', 'unit': 'ns', 'vellum': 1.25, 'peer': 5.0, 'ratio': 0.25,
             'peer_version': '1.13.0'},
            {'name': 'memory/mlp/held', 'unit': 'bytes', 'vellum': 3, 'peer': 2, 'ratio': 1.5,
             'peer_version': '1.13.0'},
        ])

  def test_the_table_marks_rows_above_one(self):
    header, below, above = comparison.table([Result('a', 'ns', 9, 10, limit=4.5), Result('b', 'ns', 11, 10)], 'Peer')
    self.assertIn('Peer', header)
    self.assertEqual(below.split(), ['a', '9', 'ns', '10', 'ns', '0.900', '4.5', 'ns', '50', '%', '45', '%'])
    self.assertEqual(above.split(), ['b', '11', 'ns', '10', 'ns', '1.100', 'above', '1'])

  def test_verdicts_name_what_is_missed(self):
    self.assertIn('above 1: none', comparison.verdicts(results(0.4, 0.5))[0])
    self.assertIn('reached', comparison.verdicts(results(0.4, 0.5))[1])
    self.assertIn('above 1: row1', comparison.verdicts(results(0.4, 1.5))[0])
    self.assertIn('missed', comparison.verdicts(results(0.4, 1.5))[1])

  def test_time_and_bytes_are_not_mixed(self):
    lines = comparison.verdicts(results(0.1) + [Result('memory/a/held', 'bytes', 4, 1)])
    self.assertIn('of 1 ratios 0.100', lines[0])
    self.assertTrue(any('of 1 ratios 4.000' in line for line in lines))

  def test_a_training_step_has_a_goal_of_its_own(self):
    step = Result('mlp/step_sgd', 'ns', 97, 100)
    self.assertIn('  mlp/step_sgd of at most 0.95: missed', comparison.verdicts([step]))

  def test_the_chart_has_a_bar_for_each_row_on_its_side_of_one(self):
    root = ElementTree.fromstring(ratio_chart.svg([Result('a<b', 'ns', 1, 4), Result('c', 'ns', 3, 1)], 'title'))
    space = '{http://www.w3.org/2000/svg}'
    texts = [t.text for t in root.iter(space + 'text')]
    for expected in ('title', 'a<b', 'c', '0.250', '3.000'):
      self.assertIn(expected, texts)
    one = next(float(line.get('x1')) for line in root.iter(space + 'line') if line.get('stroke') == '#222')
    _, less, more = root.iter(space + 'rect')  # the first is the ground
    self.assertAlmostEqual(float(less.get('x')) + float(less.get('width')), one, delta=0.2)
    self.assertAlmostEqual(float(more.get('x')), one, delta=0.2)


if __name__ == '__main__':
  sys.exit(unittest.main())
