// What was live at a moment: a table by group, a treemap of blocks, the largest blocks.
const MOST_TILES = 240;
const MOST_LARGEST = 25;
const LINE = 14;  // pixels of a line in a tile

function tableHead(headings) {
  return element('thead', {}, [element('tr', {}, headings.map(([text, className]) =>
    element('th', {text, className})))]);
}

function cell(text, className, children = []) {
  return element('td', {className, text, title: className === 'text' ? text : ''}, children);
}

// {group, bytes, blocks} of what is live, the largest first; blocks by size.
function composition(groups, moment) {
  const found = new Map();
  for (let block = 0; block < blockCount; ++block) {
    if (!isLive(block, moment)) continue;
    const group = groups.of[block];
    if (!found.has(group)) found.set(group, {group, bytes: 0, blocks: []});
    const entry = found.get(group);
    entry.bytes += blocks.bytes[block];
    entry.blocks.push(block);
  }
  for (const entry of found.values()) entry.blocks.sort((a, b) => blocks.bytes[b] - blocks.bytes[a] || a - b);
  return [...found.values()].sort((a, b) => b.bytes - a.bytes || a.group - b.group);
}

function fillCompositionTable(table, groups, entries, total, attribute) {
  const rows = entries.map(entry => {
    const name = cell(undefined, 'text', [swatch(groups.color[entry.group])]);
    name.append(groups.names[entry.group]);
    name.title = groups.names[entry.group];
    const meter = element('div', {className: 'meter', color: groups.color[entry.group]});
    meter.style.width = percent(entry.bytes, entries[0].bytes);
    return element('tr', {}, [name, cell(mib(entry.bytes), 'number'), cell(percent(entry.bytes, total), 'number'),
      cell(entry.blocks.length.toLocaleString('en'), 'number'), cell(undefined, 'share', [meter])]);
  });
  const count = entries.reduce((sum, entry) => sum + entry.blocks.length, 0);
  const sum = element('tr', {}, [element('th', {text: 'all'}), element('th', {className: 'number', text: mib(total)}),
    element('th', {className: 'number', text: total > 0 ? '100.0%' : ''}),
    element('th', {className: 'number', text: count.toLocaleString('en')}), element('th')]);
  table.replaceChildren(tableHead([[attribute, ''], ['bytes', 'number'], ['share', 'number'], ['blocks', 'number'],
    ['', '']]), element('tbody', {}, [...rows, sum]));
}

function fillLargest(table, entries, moment) {
  const all = entries.flatMap(entry => entry.blocks.slice(0, MOST_LARGEST));
  all.sort((a, b) => blocks.bytes[b] - blocks.bytes[a] || a - b);
  const rows = all.slice(0, MOST_LARGEST).map(block => {
    const name = cell(undefined, 'text', [swatch(colorOf(blocks.category[block]))]);
    name.append(titleOf(block));
    const row = element('tr', {}, [name, cell(mib(blocks.bytes[block]), 'number'), cell(categoryOf(block), ''),
      cell(textOf('operator', block), 'text'), cell(textOf('module', block), 'text'),
      cell(textOf('shape', block), 'text'), cell(duration(Math.max(0, timeOf(moment) - blocks.allocated[block])),
        'number'), cell(holderOf.get(block) || '', 'text')]);
    row.addEventListener('pointermove', event => showBlock(event, block, moment));
    row.addEventListener('pointerleave', hideTooltip);
    return row;
  });
  table.replaceChildren(tableHead([['block', ''], ['bytes', 'number'], ['category', ''], ['operator', ''],
    ['module', ''], ['tensor', ''], ['age', 'number'], ['held by (now)', '']]), element('tbody', {}, rows));
}

// Squarified: rows along the shorter side, each as long as that makes its tiles squarer. Items have bytes, the largest
// first; yields {item, x, y, width, height}.
function* squarified(given, {x, y, width, height}) {
  const items = given.filter(item => item.bytes > 0);
  let left = items.reduce((sum, item) => sum + item.bytes, 0);
  for (let start = 0; start < items.length && left > 0 && width > 0 && height > 0;) {
    const side = Math.min(width, height);
    const area = width * height / left;
    let sum = 0;
    let end = start;
    let worst = Infinity;
    for (; end < items.length; ++end) {
      const next = sum + items[end].bytes;
      const thick = next * area / side;
      const ratio = Math.max(items[start].bytes * area / thick / thick, thick * thick / (items[end].bytes * area));
      if (ratio > worst) break;
      worst = ratio;
      sum = next;
    }
    const thick = sum * area / side;
    let along = 0;
    for (const item of items.slice(start, end)) {
      const long = item.bytes / sum * side;
      yield width < height ? {item, x: x + along, y, width: long, height: thick}
        : {item, x, y: y + along, width: thick, height: long};
      along += long;
    }
    if (width < height) [y, height] = [y + thick, height - thick];
    else [x, width] = [x + thick, width - thick];
    left -= sum;
    start = end;
  }
}

function svg(tag, attributes, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const ruler = document.createElement('canvas').getContext('2d');
function fits(text, width, weight) {
  ruler.font = `${weight} 11px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width <= width;
}

// A name in at most so many lines, without its first components if it must be; empty where nothing fits.
function linesOf(name, width, most) {
  let lines = brokenInto(name, width, most);
  for (let rest = name; lines.length === 0 && rest.includes('.');) {
    rest = rest.slice(rest.indexOf('.') + 1);
    lines = brokenInto(`…${rest}`, width, most);
  }
  return lines;
}

// Lines broken after dots, spaces and underscores; none where the text does not fit.
function brokenInto(text, width, most) {
  const lines = [''];
  for (const part of text.match(/[^._ ]*[._ ]?/g)) {
    if (fits(lines[lines.length - 1] + part, width, 600)) lines[lines.length - 1] += part;
    else lines.push(part);
    if (lines.length > most || !fits(lines[lines.length - 1], width, 600)) return [];
  }
  return lines;
}

// Black or white, whichever is easier to read on a colour "#rrggbb".
function inkOn(color) {
  const linear = [1, 3, 5].map(i => (parseInt(color.slice(i, i + 2), 16) / 255) ** 2.2);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.2 ? '#14171b' : '#ffffff';
}

function tileOf({item, x, y, width, height}, color, moment) {
  const rect = svg('rect', {x: x + 0.5, y: y + 0.5, width: Math.max(0, width - 1), height: Math.max(0, height - 1),
    rx: 2});
  rect.style.fill = color;
  rect.addEventListener('pointermove', event => {
    if (item.block >= 0) showBlock(event, item.block, moment);
    else showTooltip(event, item.title, color, [['size', mib(item.bytes)]]);
  });
  rect.addEventListener('pointerleave', hideTooltip);
  const parts = [rect];
  const fill = inkOn(paint(color));
  const most = Math.floor((height - 6) / LINE);
  const lines = linesOf(item.title.slice(0, 200), width - 9, most);
  lines.forEach((line, i) => parts.push(svg('text', {x: x + 5, y: y + 14 + i * LINE, class: 'strong', fill}, line)));
  if (lines.length < most && fits(mib(item.bytes), width - 9, 400))
    parts.push(svg('text', {x: x + 5, y: y + 14 + lines.length * LINE, fill}, mib(item.bytes)));
  return parts;
}

function fillTreemap(box, groups, entries, moment) {
  const width = Math.max(200, box.clientWidth);
  const height = 340;
  const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img',
    'aria-label': 'Treemap of the live blocks; the table beside it has the same numbers'});
  const count = entries.reduce((sum, entry) => sum + entry.blocks.length, 0);
  for (const area of squarified(entries, {x: 0, y: 0, width, height})) {
    const {group, blocks: members, bytes} = area.item;
    const most = Math.max(4, Math.floor(MOST_TILES * members.length / Math.max(count, MOST_TILES)));
    const items = members.slice(0, most).map(block => ({block, bytes: blocks.bytes[block], title: titleOf(block)}));
    const rest = bytes - items.reduce((sum, item) => sum + item.bytes, 0);
    if (rest > 0) items.push({block: -1, bytes: rest, title: `+ ${members.length - most} smaller`});
    items.sort((a, b) => b.bytes - a.bytes);
    const inner = {x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2};
    for (const tile of squarified(items, inner)) picture.append(...tileOf(tile, groups.color[group], moment));
  }
  box.replaceChildren(picture);
}

function showComposition(groups, attribute, moment) {
  const entries = composition(groups, moment);
  const total = live[moment + 1];
  const atPeak = moment === data.peak.event;
  byId('composition-title').textContent = atPeak
    ? `At the peak, ${duration(timeOf(moment))}: ${mib(total)}` : `At ${duration(timeOf(moment))}: ${mib(total)}`;
  byId('back-to-peak').hidden = atPeak;
  fillCompositionTable(byId('composition'), groups, entries, total, attribute);
  fillTreemap(byId('treemap'), groups, entries, moment);
  fillLargest(byId('largest'), entries, moment);
}
