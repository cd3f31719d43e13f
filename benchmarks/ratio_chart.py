"""A picture of ratios: one bar for each row on a logarithmic axis, to the left of 1 where this library takes less."""

import math
from xml.sax.saxutils import escape

ROW = 16  # pixels
LABELS = 250
BARS = 560
FIGURES = 60
TOP, BOTTOM = 64, 24
LESS, MORE = '#2f7d5b', '#b5482f'


def _ticks(low, high):
  """1, 2 and 5 times the powers of ten within [low, high]; powers alone where that would be too many."""
  digits = (1, 2, 5) if high / low < 200 else (1,)
  first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
  ticks = [d * 10.0**e for e in range(first, last + 1) for d in digits]
  return [t for t in ticks if low * 0.999 <= t <= high * 1.001]


def svg(results, title):
  """The text of an SVG file."""
  low = min([0.5] + [r.ratio for r in results]) / 1.1
  high = max([2.0] + [r.ratio for r in results]) * 1.1
  height = TOP + ROW * len(results) + BOTTOM
  width = LABELS + BARS + FIGURES

  def x(ratio):
    return LABELS + BARS * math.log(ratio / low) / math.log(high / low)

  def text(x_position, y, content, anchor='start', size=11, color='#222'):
    return '<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" fill="%s">%s</text>' % (
        x_position, y, anchor, size, color, escape(content))

  lines = [
      '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif">' %
      (width, height, width, height),
      '<rect width="100%" height="100%" fill="white"/>',
      text(12, 22, title, size=15),
      text(12, 40, 'Bars to the left of 1: this library takes less.', color='#666'),
  ]
  for tick in _ticks(low, high):
    lines.append('<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s" stroke-width="%s"/>' %
                 (x(tick), x(tick), TOP - 4, height - BOTTOM, '#222' if tick == 1 else '#ddd', 1.5 if tick == 1 else 1))
    lines.append(text(x(tick), TOP - 8, '%g' % tick, 'middle', color='#666'))
  for i, r in enumerate(results):
    y = TOP + ROW * i
    left, right = sorted((x(r.ratio), x(1)))
    lines.append(text(LABELS - 8, y + 11.5, r.name, 'end'))
    lines.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>' %
                 (left, y + 3, max(right - left, 0.5), ROW - 5, LESS if r.ratio <= 1 else MORE))
    lines.append(text(width - 8, y + 11.5, '%.3f' % r.ratio, 'end', color=LESS if r.ratio <= 1 else MORE))
  lines.append('</svg>')
  return '\n'.join(lines) + '\n'
