// One bar for each segment: what is live in it in the colour of its category, holes hatched.
const SEGMENTS_AT_ONCE = 40;
const [ACTIVE, PENDING, CACHED] = [0, 1, 2];

function bytesInState(segment, state) {
  let sum = 0;
  for (const [, bytes, , s] of segment.pieces) if (s === state) sum += bytes;
  return sum;
}

function hatching(context) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const brush = tile.getContext('2d');
  brush.fillStyle = paint('var(--hole)');
  brush.fillRect(0, 0, 6, 6);
  brush.strokeStyle = paint('var(--hatch)');
  brush.beginPath();
  for (const shift of [-6, 0, 6]) {
    brush.moveTo(shift, 6);
    brush.lineTo(shift + 6, 0);
  }
  brush.stroke();
  return context.createPattern(tile, 'repeat');
}

function colorOfPiece([, , , state, block]) {
  if (state === PENDING) return colorOf(data.categories.indexOf('pending'));
  return block >= 0 ? colorOf(blocks.category[block]) : colorOf(data.categories.indexOf('untracked'));
}

function drawSegment(canvas, segment) {
  const {context, width, height} = prepared(canvas);
  context.fillStyle = hatching(context);
  context.fillRect(0, 0, width, height);
  const scale = width / Math.max(1, segment.bytes);
  let painted = 0;  // thousands of pieces may share a pixel
  for (const piece of segment.pieces) {
    const [offset, bytes, requested, state] = piece;
    const end = (offset + bytes) * scale;
    if (state === CACHED || end < painted) continue;
    const begin = Math.max(painted, offset * scale);
    context.globalAlpha = 1;
    context.fillStyle = paint(colorOfPiece(piece));
    context.fillRect(begin, 0, Math.max(0.6, end - begin - (end - begin > 3 ? 0.7 : 0)), height);
    const lost = (bytes - requested) * scale;
    if (lost > 1) {
      context.globalAlpha = 0.4;
      context.fillStyle = paint('var(--paper)');
      context.fillRect(end - lost, 0, lost, height);
    }
    painted = Math.max(end, begin + 0.6);
  }
  context.globalAlpha = 1;
}

function pieceAt(segment, offset) {
  let low = 0;
  let high = segment.pieces.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (segment.pieces[middle][0] <= offset) low = middle + 1;
    else high = middle;
  }
  const piece = segment.pieces[low - 1];
  return piece && offset < piece[0] + piece[1] ? piece : null;
}

function hoverSegment(event, canvas, segment) {
  const box = canvas.getBoundingClientRect();
  const offset = (event.clientX - box.left) / box.width * segment.bytes;
  const piece = pieceAt(segment, offset);
  if (!piece) return showTooltip(event, 'no block', '', [['at', `+${mib(offset)}`]]);
  const [begin, bytes, requested, state, block] = piece;
  if (state === ACTIVE && block >= 0) return showBlock(event, block, eventCount - 1);
  const title = ['block that nobody described', 'freed, still in use on another stream', 'hole'][state];
  showTooltip(event, title, state === CACHED ? 'var(--hole)' : colorOfPiece(piece), [['size', mib(bytes)],
    ['asked for', state === ACTIVE ? mib(requested) : ''], ['at', `+${mib(begin)}`]]);
}

function segmentRow(segment) {
  const cached = bytesInState(segment, CACHED);
  const largest = segment.pieces.reduce((most, p) => p[3] === CACHED ? Math.max(most, p[1]) : most, 0);
  const fragmentation = cached ? percent(cached - largest, cached) : '0.0%';
  const canvas = element('canvas');
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${mib(segment.bytes)}, ${percent(cached, segment.bytes)} cached`);
  canvas.addEventListener('pointermove', event => hoverSegment(event, canvas, segment));
  canvas.addEventListener('pointerleave', hideTooltip);
  const place = element('div', {title: `stream ${segment.stream}`}, [element('b', {text: mib(segment.bytes)}), ' ',
    element('span', {className: 'place', text: segment.address})]);
  const filling = element('div', {className: 'filling', text: `${percent(cached, segment.bytes)} cached`,
    title: `${fragmentation} of the cached bytes are outside the largest hole`});
  const row = element('div', {className: 'segment'}, [place, canvas, filling]);
  row.redraw = () => drawSegment(canvas, segment);
  return row;
}

class SegmentsView {
  constructor() {
    this.sorted = [...data.segments].sort((a, b) => b.bytes - a.bytes);
    this.shown = 0;
    const {layout} = data;
    byId('segments-summary').textContent = data.segments.length === 0
      ? 'This strategy keeps no list of segments.'
      : `${plural(data.segments.length, 'segment')}, ${mib(layout.reserved)} reserved: ${mib(layout.active)} active, ${
        layout.pending ? `${mib(layout.pending)} pending, ` : ''}${mib(layout.cached)} cached in ${
        plural(layout.holes, 'hole')}; fragmentation ${(100 * layout.fragmentation).toFixed(1)}% (largest hole ${
        mib(layout.largest_hole)})`;
    byId('more-segments').addEventListener('click', () => this.more());
    this.more();
  }

  more() {
    const next = this.sorted.slice(this.shown, this.shown + SEGMENTS_AT_ONCE).map(segmentRow);
    byId('segments').append(...next);
    for (const row of next) row.redraw();
    this.shown += next.length;
    const left = this.sorted.length - this.shown;
    byId('more-segments').hidden = left === 0;
    byId('more-segments').textContent = `${plural(Math.min(left, SEGMENTS_AT_ONCE), 'more segment')} of ${left}`;
  }

  draw() {
    for (const row of byId('segments').children) row.redraw();
  }
}
