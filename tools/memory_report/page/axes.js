// A canvas in units of CSS pixels, sharp on every screen.
function prepared(canvas) {
  const box = canvas.getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.floor(box.width));
  const height = Math.max(1, Math.floor(box.height));
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  context.font = `11.5px ${getComputedStyle(document.body).fontFamily}`;
  return {context, width, height};
}

// Round steps of at least range / most.
function ticks(begin, end, most, bases) {
  const least = (end - begin) / most;
  if (!(least > 0)) return [];
  let step = bases.unit;
  const factors = bases.factors;
  for (let i = 0; step < least; ++i) step *= factors[i % factors.length];
  const first = Math.ceil(begin / step) * step;
  // Counted, for a large value plus a small step may be the same value.
  return Array.from({length: most + 1}, (_, i) => first + i * step).filter(value => value <= end);
}

const BYTE_TICKS = {unit: 1, factors: [2]};
const DECIMAL_TICKS = {unit: 1e-3, factors: [2, 2.5, 2]};
const COUNT_TICKS = {unit: 1, factors: [2, 2.5, 2]};

// Labels of one axis share their digits.
function byteLabel(value, largest) {
  const step = largest / MIB;
  const digits = step >= 16 ? 0 : step >= 2 ? 1 : step >= 0.2 ? 2 : step >= 0.02 ? 3 : 5;
  return `${(value / MIB).toFixed(digits)} MiB`;
}

function drawByteAxis(context, plot, largest) {
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const value of ticks(0, largest, 7, BYTE_TICKS)) {
    const y = Math.round(plot.y(value)) + 0.5;
    context.strokeStyle = paint('var(--line)');
    context.beginPath();
    context.moveTo(plot.left, y);
    context.lineTo(plot.right, y);
    context.stroke();
    context.fillStyle = paint('var(--soft)');
    context.fillText(byteLabel(value, largest), plot.left - 8, y);
  }
}

function drawMomentAxis(context, plot, range, axis) {
  context.textAlign = 'center';
  context.textBaseline = 'top';
  context.fillStyle = paint('var(--soft)');
  const most = Math.max(2, Math.floor((plot.right - plot.left) / 110));
  for (const value of ticks(range.begin, range.end, most, axis === 'time' ? DECIMAL_TICKS : COUNT_TICKS)) {
    const x = Math.round(plot.x(value)) + 0.5;
    context.fillRect(x - 0.5, plot.bottom, 1, 4);
    context.fillText(axis === 'time' ? timeLabel(value, range) : Math.round(value).toLocaleString('en'), x,
      plot.bottom + 7);
  }
}

// One unit for the whole axis.
function timeLabel(us, range) {
  const trim = (value, span) => value.toFixed(span >= 20 ? 0 : span >= 2 ? 1 : span >= 0.2 ? 2 : 3);
  const span = range.end - range.begin;
  if (range.end >= 1e6) return `${trim(us / 1e6, span / 1e6)} s`;
  if (range.end >= 1e3) return `${trim(us / 1e3, span / 1e3)} ms`;
  return `${trim(us, span)} µs`;
}
