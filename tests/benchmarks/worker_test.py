#!/usr/bin/env python3
"""The program that does this library's work for vs_libtorch."""

import math
import os
import struct
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, 'benchmarks')

from comparison import Row  # pylint: disable=wrong-import-position
from worker_process import Worker, WorkerError  # pylint: disable=wrong-import-position

MASK = 2**64 - 1


def mix(x):
  x = (x + 0x9e3779b97f4a7c15) & MASK
  x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
  x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
  return x ^ (x >> 31)


def uniform(count, seed):
  return [(mix((seed << 32) + i) >> 40) / 2**23 - 1 for i in range(count)]


def single(x):
  return struct.unpack('f', struct.pack('f', x))[0]


def weighted_sum(values):
  return sum(v * (1 + (mix(i) >> 11) / 2**53) for i, v in enumerate(values))


class WorkerTest(unittest.TestCase):

  def setUp(self):
    self.worker = Worker('benchmarks/vellum_worker', cores=sorted(os.sched_getaffinity(0)))
    self.addCleanup(self.worker.__exit__)

  def digests(self, name):
    self.worker.prepare(Row(name))
    return self.worker.check()

  def test_rows_are_listed_once_each_with_their_work(self):
    rows = {row.name: row for row in self.worker.rows()}
    self.assertEqual(len(rows), len(self.worker.rows()))
    self.assertEqual(rows['pointwise/add/4K'].bytes_read, 2 * 4 * 4096)
    self.assertEqual(rows['pointwise/add/4K'].bytes_written, 4 * 4096)
    self.assertEqual(rows['matmul/float32/64'].flops, 2 * 64**3)
    self.assertEqual(rows['matmul/complex64/64'].flops, 8 * 64**3)
    self.assertEqual(rows['overhead/mul_chain_per_operator'].parts, 1000)
    self.assertTrue(rows['memory/mlp_step_sgd'].in_bytes)

  def test_the_result_in_short_is_that_of_the_inputs_that_everybody_makes(self):
    n = 4096
    a, b = uniform(n, 1), uniform(n, 2)
    for name, expected in (
        ('pointwise/add/4K', [single(x + y) for x, y in zip(a, b)]),
        ('pointwise/exp/4K', [math.exp(x) for x in a]),
        ('reduce/sum_dim0/4K', [sum(a[column::64]) for column in range(64)]),
        ('shape/transpose_copy/4K', [a[column * 64 + row] for row in range(64) for column in range(64)]),
    ):
      with self.subTest(name):
        (count, total, scale), = self.digests(name)
        self.assertEqual(count, len(expected))
        self.assertAlmostEqual(total, weighted_sum(expected), delta=1e-5 * scale)
        self.assertAlmostEqual(scale, weighted_sum(map(abs, expected)), delta=1e-5 * scale)

  def test_a_training_step_answers_with_loss_gradients_and_changes(self):
    loss, *parameters = self.digests('overhead/mlp_step_16_16_16_10')
    self.assertEqual(loss[0], 1)
    sizes = [16 * 16, 16, 16 * 16, 16, 10 * 16, 10]
    self.assertEqual([count for count, _, _ in parameters], [size for size in sizes for _ in range(2)])
    for (_, gradient, scale), (_, change, _) in zip(parameters[::2], parameters[1::2]):
      self.assertAlmostEqual(change, -1e-3 * gradient, delta=1e-5 * scale)

  def test_work_can_be_repeated(self):
    self.worker.prepare(Row('overhead/mul_chain_per_operator'))
    self.assertGreaterEqual(self.worker.run(3), 0)
    (count, total, _), = self.worker.check()
    self.assertEqual((count, total), (1, 1 + (mix(0) >> 11) / 2**53))

  def test_memory_is_in_bytes(self):
    self.worker.prepare(Row('pointwise/add/1M'))
    self.worker.run(1)
    held, resident = self.worker.memory()
    self.assertGreaterEqual(held, 3 * 4 * 2**20)
    self.assertGreaterEqual(resident, 3 * 4 * 2**20)

  def test_a_row_that_does_not_exist_is_refused_and_the_worker_goes_on(self):
    with self.assertRaisesRegex(WorkerError, "there is no row 'pointwise/nothing'"):
      self.worker.prepare(Row('pointwise/nothing'))
    self.assertGreater(len(self.worker.rows()), 0)

  def test_nothing_can_be_run_before_it_is_prepared(self):
    with self.assertRaisesRegex(WorkerError, 'no row has been prepared'):
      self.worker.run(1)

  def test_the_end_of_a_worker_is_told(self):
    with self.assertRaisesRegex(WorkerError, 'false ended at the start with status 1'):
      Worker('/bin/false', cores=sorted(os.sched_getaffinity(0)))


if __name__ == '__main__':
  sys.exit(unittest.main())
