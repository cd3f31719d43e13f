// What stands in each pixel column of the plot.

// Sums over prefixes of a changing array, in logarithmic time.
class PrefixSums {
  constructor(size) {
    this.tree = new Float64Array(size + 1);
  }
  add(place, value) {
    for (let i = place + 1; i < this.tree.length; i += i & -i) this.tree[i] += value;
  }
  before(place) {
    let sum = 0;
    for (let i = place; i > 0; i -= i & -i) sum += this.tree[i];
    return sum;
  }
}

// Blocks from the bottom of the stack: by group, then by age, so that what lives long lies still.
function stackingOrder(groups) {
  const order = Uint32Array.from({length: blockCount}, (_, i) => i);
  return order.sort((a, b) => groups.of[a] - groups.of[b] || a - b);
}

// For each column, the moment with the most live bytes of those that fall into it; the peak is never lost to decimation.
function momentsOfColumns(range, width, position) {
  const moments = new Int32Array(width);
  const step = (range.end - range.begin) / width;
  let next = 0;
  while (next < eventCount && position(next) <= range.begin) ++next;
  for (let column = 0; column < width; ++column) {
    const end = range.begin + (column + 1) * step;
    let best = next - 1;  // what still holds when the column begins
    for (; next < eventCount && position(next) < end; ++next)
      if (live[next + 1] > live[best + 1]) best = next;
    moments[column] = best;
  }
  return moments;
}

// The bytes of each group in each column ([column * groups + group]), and for blocks of at least `outlined` bytes where
// their lower edge is: {block, first column, edges}.
function stackColumns(groups, order, moments, outlined) {
  const count = groups.names.length;
  const sums = new Float64Array(moments.length * count);
  const current = new Float64Array(count);
  const place = new Uint32Array(blockCount);
  order.forEach((block, i) => { place[block] = i; });
  const below = new PrefixSums(blockCount);
  const open = new Map();
  const outlines = [];
  const change = (block, sign) => {
    const bytes = blocks.bytes[block] * sign;
    current[groups.of[block]] += bytes;
    below.add(place[block], bytes);
    if (blocks.bytes[block] < outlined) return;
    if (sign > 0) open.set(block, {block, first: -1, edges: []});
    else open.delete(block);
  };
  const byEnd = Uint32Array.from(order).sort((a, b) => blocks.end[a] - blocks.end[b]);
  let begun = 0;
  let ended = 0;
  moments.forEach((moment, column) => {
    // Lifetimes are in the order of their begin.
    while (begun < blockCount && blocks.begin[begun] <= moment) change(begun++, 1);
    while (ended < blockCount && blocks.end[byEnd[ended]] <= moment) change(byEnd[ended++], -1);
    sums.set(current, column * count);
    for (const outline of open.values()) {
      if (outline.first < 0) {
        outline.first = column;
        outlines.push(outline);
      }
      outline.edges.push(below.before(place[outline.block]));
    }
  });
  return {sums, outlines};
}

// The lower edge of one block in each column where it lives.
function edgesOf(block, groups, moments) {
  const rank = other => groups.of[other] < groups.of[block] || groups.of[other] === groups.of[block] && other < block;
  const lower = [];
  for (let other = 0; other < blockCount; ++other)
    if (rank(other) && blocks.begin[other] < blocks.end[block] && blocks.end[other] > blocks.begin[block])
      lower.push(other);
  const change = new Float64Array(eventCount + 2);
  for (const other of lower) {
    change[blocks.begin[other] + 1] += blocks.bytes[other];
    change[blocks.end[other] + 1] -= blocks.bytes[other];
  }
  for (let i = 1; i < change.length; ++i) change[i] += change[i - 1];
  const found = {block, first: -1, edges: []};
  moments.forEach((moment, column) => {
    if (!isLive(block, moment)) return;
    if (found.first < 0) found.first = column;
    found.edges.push(change[moment + 1]);
  });
  return found;
}

// The block whose band of the stack holds `height` bytes at a moment, or -1.
function blockAt(order, moment, height) {
  let top = 0;
  for (const block of order) {
    if (!isLive(block, moment)) continue;
    top += blocks.bytes[block];
    if (height < top) return height < 0 ? -1 : block;
  }
  return -1;
}
