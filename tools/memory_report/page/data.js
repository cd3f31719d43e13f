// The snapshot, as page.py wrote it. `blocks` are lifetimes: block i lives from after event begin[i] (-1: since before
// the first) until event end[i]. A moment is the number of the event that has just happened.
const data = JSON.parse(document.getElementById('data').textContent);
const {blocks, events} = data;
const eventCount = events.time.length;
const blockCount = blocks.bytes.length;
const MIB = 1 << 20;

const byId = id => document.getElementById(id);

// An element with text and children; strings never become markup.
function element(tag, {className, text, title, color} = {}, children = []) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  if (title) made.title = title;
  if (color) made.style.background = color;
  made.append(...children);
  return made;
}

const swatch = color => element('span', {className: 'swatch', color});

function mib(bytes) {
  const value = bytes / MIB;
  const digits = value >= 100 ? 1 : value >= 0.1 || bytes === 0 ? 2 : value >= 1e-4 ? 4 : 6;
  return `${value.toFixed(digits)} MiB`;
}

const percent = (part, whole) => `${(whole > 0 ? 100 * part / whole : 0).toFixed(1)}%`;

function duration(us) {
  if (us < 1000) return `${us.toFixed(us < 10 ? 2 : 1)} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 3 : 2)} ms`;
  return `${(us / 1e6).toFixed(3)} s`;
}

const plural = (n, noun) => `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`;

const timeOf = moment => moment < 0 ? 0 : events.time[moment];
const isLive = (block, moment) => blocks.begin[block] <= moment && moment < blocks.end[block];
const textOf = (column, block) => data.texts[blocks[column][block]];
const categoryOf = block => data.categories[blocks.category[block]];

// The shortest text that tells a block from others.
function titleOf(block) {
  return textOf('name', block) || textOf('operator', block) || `block ${blocks.id[block] || blocks.address[block]}`;
}

const holderOf = new Map(data.holders);

// Live bytes after each moment, at [moment + 1], and what was held from the device; null where nothing was recorded of
// that.
const sign = {segment_alloc: 1, segment_map: 1, segment_free: -1, segment_unmap: -1};
const {live, reserved} = (() => {
  const liveBytes = new Float64Array(eventCount + 1);
  for (let block = 0; block < blockCount; ++block) {
    liveBytes[blocks.begin[block] + 1] += blocks.bytes[block];
    if (blocks.end[block] < eventCount) liveBytes[blocks.end[block] + 1] -= blocks.bytes[block];
  }
  for (let i = 1; i <= eventCount; ++i) liveBytes[i] += liveBytes[i - 1];
  const held = new Float64Array(eventCount + 1);
  // Known at the end; followed back from there.
  held[eventCount] = data.layout.reserved;
  for (let i = eventCount - 1; i >= 0; --i)
    held[i] = Math.max(0, held[i + 1] - (sign[data.actions[events.action[i]]] || 0) * events.bytes[i]);
  return {live: liveBytes, reserved: data.actions.some(action => action in sign) ? held : null};
})();

// How the stack is divided: names of the groups from the bottom, the group of each block, and colours.
const MOST_GROUPS = 10;
function groupBy(attribute) {
  if (attribute === 'category')
    return {names: data.categories, of: blocks.category, color: data.categories.map((_, i) => colorOf(i))};
  const textOfBlock = attribute === 'module' ? shortenedPaths() : block => textOf(attribute, block);
  const weight = new Map();
  for (let block = 0; block < blockCount; ++block) {
    const text = textOfBlock(block);
    // What is live at the peak counts most, then whatever is large.
    const share = isLive(block, data.peak.event) ? blocks.bytes[block] : blocks.bytes[block] * 1e-6;
    weight.set(text, (weight.get(text) || 0) + share);
  }
  const ranked = [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a) || (a < b ? -1 : 1));
  const kept = ranked.slice(0, ranked.length > MOST_GROUPS ? MOST_GROUPS - 1 : MOST_GROUPS);
  const place = new Map(kept.map((text, i) => [text, i]));
  const names = kept.map(text => text || `(no ${attribute})`);
  const color = kept.map((_, i) => colorOf(i));
  if (ranked.length > kept.length) {
    names.push(`${ranked.length - kept.length} other ${attribute}s`);
    color.push('var(--rest)');
  }
  const of = blocks.bytes.map((_, block) => {
    const text = textOfBlock(block);
    return place.has(text) ? place.get(text) : kept.length;
  });
  return {names, of, color};
}

// Modules by as many levels of their paths as give few groups: "encoder.0" for all that is in it.
function shortenedPaths() {
  const paths = [...new Set(blocks.module)].map(text => data.texts[text].split('.'));
  let levels = Math.max(1, ...paths.map(path => path.length));
  const groups = () => new Set(paths.map(path => path.slice(0, levels).join('.'))).size;
  while (levels > 1 && groups() > MOST_GROUPS) --levels;
  const shortened = new Map();
  for (const text of blocks.module)
    if (!shortened.has(text)) shortened.set(text, data.texts[text].split('.').slice(0, levels).join('.'));
  return block => shortened.get(blocks.module[block]);
}
const colorOf = i => i < 11 ? `var(--c${i})` : 'var(--rest)';

// Canvases want the colour itself.
const resolved = new Map();
function paint(color) {
  if (!resolved.has(color)) {
    const name = color.match(/^var\((.*)\)$/);
    resolved.set(color, name ? getComputedStyle(document.documentElement).getPropertyValue(name[1]).trim() : color);
  }
  return resolved.get(color);
}
