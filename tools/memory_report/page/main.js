// Puts the views together.
function figure(term, value, detail, className) {
  return element('div', {className}, [element('dt', {text: term}), element('dd', {text: value},
    detail ? [element('small', {text: detail})] : [])]);
}

function showFigures() {
  const {stats, layout, peak} = data;
  byId('subject').textContent = `${data.program} on ${data.device}, strategy ${data.strategy}`;
  byId('figures').append(
    figure('peak of live bytes', mib(peak.bytes), `at ${duration(peak.time_us)}`, 'first'),
    figure('peak reserved', mib(stats.reserved.peak), `${mib(stats.reserved.current)} now`),
    figure('live now', mib(live[eventCount]), `${mib(stats.requested.current)} asked for`),
    figure('cached now', mib(layout.cached), `fragmentation ${(100 * layout.fragmentation).toFixed(1)}%`),
    figure('allocations', stats.allocations.toLocaleString('en'),
      `${plural(stats.upstream_allocations, 'call')} to the device`));
}

function showNotices() {
  const notices = [];
  if (data.oom)
    notices.push(`Out of memory: ${mib(data.oom.requested)} were asked for.\n${data.oom.text}`);
  if (data.dropped)
    notices.push(`${plural(data.dropped, 'older event')} did not fit into the record: the true peak may lie before.`);
  byId('notices').append(...notices.map(text => element('div', {text})));
}

function reservedEntry() {
  const entry = element('span', {title: 'held from the device, live and cached'}, [
    element('span', {className: 'dashes'})]);
  entry.append('reserved');
  return entry;
}

function fillLegend(groups) {
  const sums = new Float64Array(groups.names.length);
  for (let block = 0; block < blockCount; ++block) sums[groups.of[block]] += blocks.bytes[block];
  const used = groups.names.map((name, i) => i).filter(i => sums[i] > 0).reverse();
  byId('legend').replaceChildren(...used.map(i => {
    const entry = element('span', {title: groups.names[i]}, [swatch(groups.color[i])]);
    entry.append(groups.names[i]);
    return entry;
  }), ...reserved ? [reservedEntry()] : []);
}

function choice(box, attribute, chosen, onChoice) {
  const buttons = [...byId(box).querySelectorAll('button')];
  const show = value => buttons.forEach(button =>
    button.setAttribute('aria-pressed', String(button.dataset[attribute] === value)));
  for (const button of buttons)
    button.addEventListener('click', () => {
      show(button.dataset[attribute]);
      onChoice(button.dataset[attribute]);
    });
  show(chosen);
}

const timelineView = new TimelineView(moment => showComposition(timelineView.groups, timelineView.grouping, moment));
const segmentsView = new SegmentsView();
const eventsView = new EventsView(moment => timelineView.choose(moment));

function drawAll() {
  resolved.clear();
  fillLegend(timelineView.groups);
  timelineView.draw();
  showComposition(timelineView.groups, timelineView.grouping, timelineView.chosen);
  segmentsView.draw();
  eventsView.draw();
}

choice('grouping', 'grouping', 'category', attribute => {
  timelineView.setGrouping(attribute);
  fillLegend(timelineView.groups);
  timelineView.draw();
  showComposition(timelineView.groups, attribute, timelineView.chosen);
});
choice('axis', 'axis', 'time', axis => {
  timelineView.setAxis(axis);
  timelineView.draw();
});
byId('zoom-in').addEventListener('click', () => timelineView.zoomBy(0.5));
byId('zoom-out').addEventListener('click', () => timelineView.zoomBy(2));
byId('zoom-all').addEventListener('click', () => {
  timelineView.zoomAll();
  timelineView.draw();
});
byId('back-to-peak').addEventListener('click', () => timelineView.choose(data.peak.event));
addEventListener('resize', drawAll);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
showFigures();
showNotices();
drawAll();
