const tooltip = byId('tooltip');

function showTooltip(event, title, color, rows) {
  const list = element('dl');
  for (const [term, value] of rows)
    if (value !== '' && value !== undefined) list.append(element('dt', {text: term}), element('dd', {text: value}));
  const heading = element('div', {className: 'title'}, color ? [swatch(color)] : []);
  heading.append(title);
  tooltip.replaceChildren(heading, list);
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const right = event.clientX + 16 + box.width > innerWidth;
  const below = event.clientY + 16 + box.height > innerHeight;
  tooltip.style.left = `${Math.max(4, right ? event.clientX - box.width - 12 : event.clientX + 16)}px`;
  tooltip.style.top = `${Math.max(4, below ? event.clientY - box.height - 12 : event.clientY + 16)}px`;
}

function hideTooltip() {
  tooltip.hidden = true;
}

const inAll = moment => `${mib(live[moment + 1])} live${reserved ? ` of ${mib(reserved[moment + 1])} reserved` : ''}`;

// What is held from the device beyond what is live.
function showReserved(event, moment) {
  const [held, used] = [reserved[moment + 1], live[moment + 1]];
  showTooltip(event, 'cached', 'var(--hatch)', [
    ['size', mib(held - used)],
    ['reserved', mib(held)],
    ['live', mib(used)],
    ['time', duration(timeOf(moment))],
  ]);
}

// What there is to say of a block at a moment.
function showBlock(event, block, moment) {
  const operator = textOf('operator', block);
  const sequence = blocks.sequence[block];
  const [bytes, asked] = [mib(blocks.bytes[block]), mib(blocks.requested[block])];
  const begin = blocks.allocated[block];
  const ends = blocks.end[block] < eventCount;
  showTooltip(event, titleOf(block), colorOf(blocks.category[block]), [
    ['category', categoryOf(block)],
    ['size', asked === bytes ? bytes : `${bytes} (${asked} asked for)`],
    ['tensor', textOf('shape', block)],
    ['operator', operator && (sequence ? `${operator} #${sequence}` : operator)],
    ['module', textOf('module', block)],
    ['age', duration(Math.max(0, timeOf(moment) - begin))],
    ['lives', `${blocks.begin[block] < 0 ? 'from before the recording' : `from ${duration(begin)}`} ${
      ends ? `to ${duration(events.time[blocks.end[block]])}` : 'to the end'}`],
    ['held by', holderOf.get(block)],
    ['then in all', inAll(moment)],
    ['block', `${blocks.id[block] ? `#${blocks.id[block]}, ` : ''}${blocks.address[block]}${
      blocks.stream[block] ? `, stream ${blocks.stream[block]}` : ''}`],
  ]);
}
