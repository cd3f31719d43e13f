#!/usr/bin/env python3
"""The report in a real browser. Skipped where there is none, unless VELLUM_REQUIRE_BROWSER is set."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = ['tools/memory_report', 'tests/tools/memory_report']

import browser  # pylint: disable=wrong-import-position
import snapshots  # pylint: disable=wrong-import-position

REPORT = 'tools/memory_report/memory_report.py'
EXECUTABLE = browser.find()
REQUIRED = 'VELLUM_REQUIRE_BROWSER'


def write_page(made):
  folder = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
  source, page = os.path.join(folder, 'snapshot.json'), os.path.join(folder, 'report.html')
  with open(source, 'wb') as f:
    f.write(snapshots.to_bytes(made))
  subprocess.run([sys.executable, REPORT, source, '-o', page], check=True, stderr=subprocess.DEVNULL)
  return page


@unittest.skipUnless(EXECUTABLE or os.environ.get(REQUIRED), 'there is none of ' + ', '.join(browser.NAMES))
class BrowserTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.browser = browser.Browser(EXECUTABLE)

  @classmethod
  def tearDownClass(cls):
    cls.browser.close()
    super().tearDownClass()

  def show(self, made):
    self.browser.complaints.clear()
    self.browser.load(write_page(made))

  def tearDown(self):
    self.assertEqual(self.browser.complaints, [])
    super().tearDown()

  def text(self, selector):
    return self.browser.run('document.querySelector(%r).innerText' % selector)

  def cells(self, table):
    return self.browser.run(
        '[...document.querySelectorAll("%s tr")].map(row => [...row.cells].map(cell => cell.innerText))' % table)

  def point(self, time, mib):
    """Where a time in microseconds and a height of the stack are in the window."""
    return self.browser.run(
        '(() => { const c = document.getElementById("plot"), d = c.dataset, b = c.getBoundingClientRect();'
        'const x = +d.left + (%f - d.begin) / (d.end - d.begin) * (d.right - d.left);'
        'const y = +d.bottom - %f * 1048576 / d.bytesPerPixel; return [b.left + x, b.top + y]; })()' % (time, mib))

  def hover(self, time, mib):
    self.browser.mouse('mouseMoved', *self.point(time, mib))
    return '' if self.browser.run('document.getElementById("tooltip").hidden') else self.text('#tooltip')

  def test_shows_the_peak_and_what_filled_it(self):
    self.show(snapshots.hand_made())
    self.assertIn('12.00 MiB\nat 20.0 µs', self.text('#figures .first dd'))
    self.assertEqual(self.text('#composition-title'), 'At the peak, 20.0 µs: 12.00 MiB')
    rows = [row[:4] for row in self.cells('#composition')]
    self.assertEqual(rows, [['category', 'bytes', 'share', 'blocks'], ['parameter', '6.00 MiB', '50.0%', '1'],
                            ['saved', '6.00 MiB', '50.0%', '2'], ['all', '12.00 MiB', '100.0%', '3']])
    self.assertEqual([row[0] for row in self.cells('#largest')], ['block', 'weight', 'mul', 'y'])

  def test_hover_tells_the_block_under_the_pointer(self):
    self.show(snapshots.hand_made())
    shown = self.hover(25, 5)
    self.assertTrue(shown.startswith('weight'), shown)
    for part in ('parameter', '6.00 MiB', 'float32[1024, 1536]', 'encoder.0.weight'):
      self.assertIn(part, shown)
    shown = self.hover(25, 9)
    self.assertTrue(shown.startswith('mul'), shown)
    # 4 MiB less 100 bytes, asked for at 10 us; in the column of 25 us what counts is the event of 20 us.
    for part in ('4.00 MiB', 'mul #7', 'encoder.0', '10.0 µs', 'from 10.0 µs to 30.0 µs'):
      self.assertIn(part, shown)
    self.assertTrue(self.hover(25, 11).startswith('y\n'))
    self.assertTrue(self.hover(45, 10).startswith('mul'))
    self.assertEqual(self.hover(25, 16.5), '', 'nothing lies there')

  def test_shows_what_is_reserved_over_what_lives(self):
    self.show(snapshots.hand_made())
    self.assertIn('reserved', self.text('#legend'))
    shown = self.hover(25, 13)
    self.assertTrue(shown.startswith('cached'), shown)
    for part in ('4.00 MiB', 'reserved\n16.00 MiB', 'live\n12.00 MiB'):
      self.assertIn(part, shown)
    self.assertIn('12.00 MiB live of 16.00 MiB reserved', self.hover(25, 5))

  def test_follows_what_is_reserved_through_the_events(self):
    self.show(snapshots.mapped())
    self.assertIn('6.00 MiB live of 8.00 MiB reserved', self.hover(15, 1))
    self.assertIn('6.00 MiB live of 16.00 MiB reserved', self.hover(32, 1))
    self.assertIn('6.00 MiB live of 12.00 MiB reserved', self.hover(42, 1))

  def test_the_line_of_what_is_reserved_is_drawn_at_its_height(self):
    self.show(snapshots.mapped())
    # Dashes cover more than half of 30 pixels; around them the canvas is clear, or faint where the axis has a line.
    drawn = self.browser.run(
        '(() => { const d = plot.dataset, ratio = plot.width / plot.getBoundingClientRect().width;'
        'const {data} = plot.getContext("2d").getImageData(0, 0, plot.width, plot.height);'
        'const ink = (x, y) => { const i = 4 * (y * plot.width + x);'
        'return data[i + 3] > 128 && data[i] + data[i + 1] + data[i + 2] < 300; };'
        'const row = (time, mib) => {'
        'const x = Math.round((+d.left + (time - d.begin) / (d.end - d.begin) * (d.right - d.left)) * ratio);'
        'const y = Math.round((+d.bottom - mib * 1048576 / d.bytesPerPixel) * ratio);'
        'const count = at => [...Array(30).keys()].filter(i => ink(x + i, at)).length;'
        'return Math.max(count(y - 1), count(y), count(y + 1)); };'
        'return [row(12, 8), row(25, 16), row(42, 12), row(25, 12), row(42, 15)]; })()')
    self.assertTrue(all(n >= 10 for n in drawn[:3]), drawn)
    self.assertEqual(drawn[3:], [0, 0])

  def test_without_events_of_segments_no_line_is_drawn(self):
    made = snapshots.hand_made()
    del made['events']['rows'][0]
    self.show(made)
    self.assertNotIn('reserved', self.text('#legend'))
    self.assertEqual(self.hover(25, 12.5), '')

  def test_blocks_are_stacked_by_category_before_age(self):
    made = snapshots.hand_made()
    made['blocks']['rows'][3][4] = 2  # the youngest is a buffer, between the parameters and what is saved
    self.show(made)
    self.assertIn('buffer', self.hover(45, 7))
    self.assertTrue(self.hover(45, 10).startswith('y\n'))

  def test_a_click_shows_another_moment_and_the_button_leads_back(self):
    self.show(snapshots.hand_made())
    self.browser.click(*self.point(45, 10))
    self.assertEqual(self.text('#composition-title'), 'At 40.0 µs: 11.00 MiB')
    self.assertEqual([row[0] for row in self.cells('#composition')], ['category', 'parameter', 'workspace', 'saved',
                                                                      'all'])
    self.browser.run('document.getElementById("back-to-peak").click()')
    self.assertEqual(self.text('#composition-title'), 'At the peak, 20.0 µs: 12.00 MiB')

  def test_dragging_zooms_and_a_double_click_shows_all_again(self):
    self.show(snapshots.hand_made())
    before = self.point(10, 1)
    self.browser.mouse('mousePressed', *before, button='left', clickCount=1)
    self.browser.mouse('mouseMoved', *self.point(20, 1), button='left', buttons=1)
    self.browser.mouse('mouseReleased', *self.point(20, 1), button='left', clickCount=1)
    shown = self.browser.run('[+plot.dataset.begin, +plot.dataset.end]')
    self.assertAlmostEqual(shown[0], 10, delta=0.1)
    self.assertAlmostEqual(shown[1], 20, delta=0.1)
    self.browser.run('plot.dispatchEvent(new MouseEvent("dblclick"))')
    self.assertEqual(self.browser.run('+plot.dataset.begin'), 0)

  def test_stacks_by_module(self):
    self.show(snapshots.hand_made())
    self.browser.run('document.querySelector("[data-grouping=module]").click()')
    self.assertEqual([row[:2] for row in self.cells('#composition')],
                     [['module', 'bytes'], ['encoder.0', '10.00 MiB'], ['(no module)', '2.00 MiB'],
                      ['all', '12.00 MiB']])
    self.assertTrue(self.hover(25, 11).startswith('y\n'))

  def test_many_modules_are_gathered_by_their_paths(self):
    self.show(snapshots.training(steps=1))
    self.browser.run('document.querySelector("[data-grouping=module]").click()')
    # Of 12 modules, the two of each of 6 layers.
    self.assertEqual(sorted(row[0] for row in self.cells('#composition') if row[0].startswith('encoder')),
                     ['encoder.%d' % i for i in range(6)])

  def test_segments_show_their_holes(self):
    self.show(snapshots.hand_made())
    self.assertIn('16.00 MiB reserved: 8.00 MiB active, 8.00 MiB cached in 2 holes; fragmentation 50.0% (largest hole '
                  '4.00 MiB)', self.text('#segments-summary'))
    box = self.browser.run('(() => { const b = document.querySelector(".segment canvas").getBoundingClientRect();'
                           'return [b.left, b.top + b.height / 2, b.width]; })()')
    titles = []
    for mib in (3, 8, 11, 14):
      self.browser.mouse('mouseMoved', box[0] + box[2] * mib / 16, box[1])
      titles.append(self.text('#tooltip .title'))
    self.assertEqual(titles, ['weight', 'hole', 'y', 'hole'])

  def test_events_can_be_filtered(self):
    self.show(snapshots.hand_made())
    self.assertEqual(self.text('#events-count'), '6 events')
    self.browser.run('(() => { const f = document.getElementById("filter"); f.value = "float64";'
                     'f.dispatchEvent(new Event("input")); })()')
    self.assertEqual(self.text('#events-count'), '1 of 6 events')
    self.assertIn('2.00 MiB', self.text('.event'))

  def test_names_stay_text(self):
    made = snapshots.hand_made()
    evil = '</script><script>window.broken = 1</script><img src=x onerror="window.broken = 2"><!-- \u2028 &lt;'
    for key in ('program', 'device', 'strategy'):
      made[key] = evil
    made['operators'][1] = made['modules'][1] = evil
    made['blocks']['rows'][0][8] = made['blocks']['rows'][0][10] = evil
    made['holders']['rows'][0][2] = evil
    made['oom'] = {'requested': 5, 'text': evil}
    made['categories'].append(evil)
    made['blocks']['rows'][2][4] = 11
    self.show(made)
    self.assertIn(evil.split('\u2028', maxsplit=1)[0], self.hover(25, 5))
    self.assertIn('<script>', self.text('#notices'))
    self.assertIn('</script>', self.text('#largest'))
    self.assertEqual(self.browser.run('[typeof window.broken, document.images.length, document.scripts.length]'),
                     ['undefined', 0, 2])

  def test_an_empty_snapshot_is_shown_as_such(self):
    self.show(snapshots.empty())
    self.assertIn('0.00 MiB', self.text('#figures .first dd'))
    self.assertEqual(self.text('#events-count'), '0 events')

  def test_many_events_are_usable(self):
    made = snapshots.of_size(100000)
    self.show(made)
    live = peak = 0
    for _, action, _, _, size in made['events']['rows']:
      live += {'alloc': size, 'free': -size}.get(action, 0)
      peak = max(peak, live)
    self.assertIn('%.1f MiB' % (peak / (1 << 20)), self.text('#figures .first dd'))
    self.assertEqual(self.text('#events-count'), '100,000 events')
    self.assertLess(self.browser.run('document.querySelectorAll(".event").length'), 60, 'only rows in sight are made')
    self.browser.run('document.getElementById("events").scrollTop = 99990 * 23')
    self.browser.run('document.getElementById("events").dispatchEvent(new Event("scroll"))')
    self.assertIn('100000', self.text('#events'))
    middle = made['events']['rows'][50000][0]
    self.assertIn('MiB', self.hover(middle, 1))


if __name__ == '__main__':
  unittest.main()
