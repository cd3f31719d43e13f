const outOfMemory = [...events.time.keys()].filter(i => data.actions[events.action[i]] === 'oom');

// The plot of live bytes. `onMoment` is told which moment the user chose.
class TimelineView {
  constructor(onMoment) {
    this.onMoment = onMoment;
    this.canvas = byId('plot');
    this.overview = byId('overview');
    this.grouping = 'category';
    this.axis = 'time';
    this.chosen = data.peak.event;
    this.hovered = -1;
    this.drag = null;
    this.setGrouping('category');
    this.zoomAll();
    this.listen();
    this.listenToOverview();
  }

  position(moment) {
    if (this.axis === 'event') return moment + 1;
    return timeOf(moment);
  }

  whole() {
    // Blocks from before the oldest event begin at 0, unless the events since then were lost.
    const first = this.axis === 'time' && data.dropped > 0 ? timeOf(0) : 0;
    const last = this.axis === 'time' ? timeOf(eventCount - 1) : eventCount;
    // The last moment holds until the end, which nothing marks; leave it some room.
    return {begin: first, end: last + Math.max((last - first) * 0.01, 1e-3)};
  }

  setGrouping(attribute) {
    this.grouping = attribute;
    this.groups = groupBy(attribute);
    this.order = stackingOrder(this.groups);
    this.hovered = -1;
  }

  setAxis(axis) {
    this.axis = axis;
    this.zoomAll();
  }

  zoomAll() {
    this.range = this.whole();
  }

  zoomTo(begin, end) {
    const all = this.whole();
    const least = (all.end - all.begin) * 1e-6;
    if (end - begin < least) return;
    this.range = {begin: Math.max(all.begin, begin), end: Math.min(all.end, end)};
    this.draw();
  }

  zoomBy(factor, around = (this.range.begin + this.range.end) / 2) {
    this.zoomTo(around - (around - this.range.begin) * factor, around + (this.range.end - around) * factor);
  }

  // Computes what is in view, and draws it all.
  draw() {
    const {context, width, height} = prepared(this.canvas);
    this.context = context;
    const plot = {left: 78, right: width - 12, top: 22, bottom: height - 26};
    plot.columns = Math.max(1, plot.right - plot.left);
    this.moments = momentsOfColumns(this.range, plot.columns, moment => this.position(moment));
    let most = 1;
    for (const moment of this.moments) most = Math.max(most, live[moment + 1]);
    let held = 0;
    if (reserved) for (const moment of this.moments) held = Math.max(held, reserved[moment + 1]);
    // What is reserved is shown where it does not press what is live against the floor; else a label tells of it.
    this.largest = Math.max(most, held < 4 * most ? held : 0) * 1.06;
    this.held = held;
    const scale = (plot.bottom - plot.top) / this.largest;
    plot.x = value => plot.left + (value - this.range.begin) / (this.range.end - this.range.begin) * plot.columns;
    plot.y = bytes => plot.bottom - bytes * scale;
    this.plot = plot;
    this.stack = stackColumns(this.groups, this.order, this.moments, 3 / scale);
    this.paintPlot();
    this.drawOverview();
  }

  paintPlot() {
    const {context, plot} = this;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    drawByteAxis(context, plot, this.largest);
    drawMomentAxis(context, plot, this.range, this.axis);
    this.paintGroups();
    this.paintOutlines();
    if (reserved) this.paintReserved();
    this.paintMarks();
    if (this.hovered >= 0) this.paintHovered();
    if (this.drag && this.drag.moved) {
      context.fillStyle = paint('var(--shade)');
      context.fillRect(Math.min(this.drag.from, this.drag.to), plot.top, Math.abs(this.drag.to - this.drag.from),
        plot.bottom - plot.top);
    }
    this.snapshotOfPlot();
  }

  // What the keyboard and tests can read of the picture.
  snapshotOfPlot() {
    const {plot} = this;
    this.canvas.setAttribute('aria-label', `Live bytes stacked by ${this.grouping}; peak ${mib(data.peak.bytes)} at ${
      duration(data.peak.time_us)}`);
    this.canvas.dataset.left = plot.left;
    this.canvas.dataset.right = plot.right;
    this.canvas.dataset.bottom = plot.bottom;
    this.canvas.dataset.bytesPerPixel = this.largest / (plot.bottom - plot.top);
    this.canvas.dataset.begin = this.range.begin;
    this.canvas.dataset.end = this.range.end;
  }

  paintGroups() {
    const {context, plot} = this;
    const count = this.groups.names.length;
    const lower = new Float64Array(plot.columns);
    for (let group = 0; group < count; ++group) {
      context.fillStyle = paint(this.groups.color[group]);
      context.beginPath();
      for (let column = 0; column < plot.columns; ++column) {
        const bytes = this.stack.sums[column * count + group];
        if (bytes > 0) {
          const top = plot.y(lower[column] + bytes);
          context.rect(plot.left + column, top, 1, plot.y(lower[column]) - top);
        }
        lower[column] += bytes;
      }
      context.fill();
    }
  }

  tracePath({block, first, edges}) {
    const {context, plot} = this;
    const bytes = blocks.bytes[block];
    context.beginPath();
    const left = plot.left + first;
    context.moveTo(left, plot.y(edges[0]));
    edges.forEach((edge, i) => {
      context.lineTo(left + i, plot.y(edge + bytes));
      context.lineTo(left + i + 1, plot.y(edge + bytes));
    });
    for (let i = edges.length - 1; i >= 0; --i) {
      context.lineTo(left + i + 1, plot.y(edges[i]));
      context.lineTo(left + i, plot.y(edges[i]));
    }
    context.closePath();
  }

  paintOutlines() {
    const {context} = this;
    context.strokeStyle = paint('var(--paper)');
    context.lineWidth = 0.7;
    context.globalAlpha = 0.75;
    for (const outline of this.stack.outlines) {
      if (outline.edges.length < 3) continue;
      this.tracePath(outline);
      context.stroke();
    }
    context.globalAlpha = 1;
    context.lineWidth = 1;
  }

  paintReserved() {
    const {context, plot} = this;
    context.save();
    context.beginPath();
    context.rect(plot.left, plot.top, plot.columns, plot.bottom - plot.top);
    context.clip();
    context.strokeStyle = paint('var(--ink)');
    context.lineWidth = 1.25;
    context.setLineDash([5, 4]);
    context.beginPath();
    this.moments.forEach((moment, column) => {
      const y = plot.y(reserved[moment + 1]);
      context.lineTo(plot.left + column, y);
      context.lineTo(plot.left + column + 1, y);
    });
    context.stroke();
    context.restore();
    this.labelReserved();
  }

  // At the end of the highest columns, clear of the peak's line.
  labelReserved() {
    const {context, plot, held} = this;
    if (held === 0) return;
    const beyond = held > this.largest;
    const label = `reserved ${mib(held)}${beyond ? ' \u2191' : ''}`;
    const width = context.measureText(label).width + 10;
    let column = plot.columns - 1;
    while (column > 0 && reserved[this.moments[column] + 1] < held) --column;
    let right = Math.max(plot.left + column, plot.left + width);
    const peak = plot.x(this.position(data.peak.event));
    if (peak > right - width && peak < right + 2) right = Math.max(peak - 2, plot.left + width);
    const y = beyond ? plot.top : plot.y(held) + 4;
    context.textAlign = 'right';
    context.textBaseline = 'top';
    context.strokeStyle = paint('var(--paper)');
    context.lineWidth = 3;
    context.strokeText(label, right - 5, y);
    context.lineWidth = 1;
    context.fillStyle = paint('var(--ink)');
    context.fillText(label, right - 5, y);
  }

  paintLine(moment, color, label, dash) {
    const {context, plot} = this;
    const x = plot.x(this.position(moment));
    if (x < plot.left - 1 || x > plot.right + 1) return;
    context.strokeStyle = context.fillStyle = paint(color);
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x + 0.5, plot.top - 4);
    context.lineTo(x + 0.5, plot.bottom);
    context.stroke();
    context.setLineDash([]);
    const right = x > (plot.left + plot.right) / 2;
    context.textAlign = right ? 'right' : 'left';
    context.textBaseline = 'bottom';
    context.fillText(label, x + (right ? -5 : 6), plot.top - 4);
  }

  paintMarks() {
    const taken = new Set();  // one line for a pixel, and a label where the last one leaves room
    let labelled = -Infinity;
    for (const moment of outOfMemory) {
      const x = Math.round(this.plot.x(this.position(moment)));
      if (taken.has(x)) continue;
      taken.add(x);
      this.paintLine(moment, 'var(--alarm)', x - labelled > 100 ? 'out of memory' : '', [2, 2]);
      if (x - labelled > 100) labelled = x;
    }
    this.paintLine(data.peak.event, 'var(--ink)', `peak ${mib(data.peak.bytes)}`, [3, 3]);
    this.paintPeak();
    if (this.chosen !== data.peak.event) this.paintLine(this.chosen, 'var(--accent)', 'chosen', []);
  }

  paintPeak() {
    const {context, plot} = this;
    const x = plot.x(this.position(data.peak.event));
    if (x < plot.left || x > plot.right) return;
    context.beginPath();
    context.arc(x + 0.5, plot.y(data.peak.bytes), 4, 0, 2 * Math.PI);
    context.fillStyle = paint('var(--ink)');
    context.fill();
    context.strokeStyle = paint('var(--paper)');
    context.stroke();
  }

  paintHovered() {
    const outline = edgesOf(this.hovered, this.groups, this.moments);
    if (outline.first < 0) return;
    const {context} = this;
    this.tracePath(outline);
    context.fillStyle = paint('var(--shade)');
    context.fill();
    context.strokeStyle = paint('var(--ink)');
    context.lineWidth = 1.5;
    context.stroke();
    context.lineWidth = 1;
  }

  drawOverview() {
    const {context, width, height} = prepared(this.overview);
    const all = this.whole();
    const left = this.plot.left;
    const columns = Math.max(1, width - 12 - left);
    const moments = momentsOfColumns(all, columns, moment => this.position(moment));
    context.fillStyle = paint('var(--hole)');
    context.fillRect(left, 0, columns, height);
    context.fillStyle = paint('var(--c10)');
    moments.forEach((moment, column) => {
      const high = live[moment + 1] / (data.peak.bytes || 1) * (height - 6);
      context.fillRect(left + column, height - high, 1, high);
    });
    const place = value => left + (value - all.begin) / (all.end - all.begin) * columns;
    this.overviewValue = x => all.begin + (x - left) / columns * (all.end - all.begin);
    const [begin, end] = [place(this.range.begin), place(this.range.end)];
    context.fillStyle = paint('var(--paper)');
    context.globalAlpha = 0.7;
    context.fillRect(left, 0, begin - left, height);
    context.fillRect(end, 0, left + columns - end, height);
    context.globalAlpha = 1;
    context.strokeStyle = paint('var(--accent)');
    context.lineWidth = 2;
    context.strokeRect(begin, 1, Math.max(2, end - begin), height - 2);
  }

  momentAt(x) {
    const column = Math.floor(x - this.plot.left);
    return column >= 0 && column < this.plot.columns ? this.moments[column] : null;
  }

  blockUnder(event) {
    const box = this.canvas.getBoundingClientRect();
    const moment = this.momentAt(event.clientX - box.left);
    if (moment === null) return {moment: -1, height: -1, block: -1};
    const height = (this.plot.bottom - (event.clientY - box.top)) * this.largest / (this.plot.bottom - this.plot.top);
    return {moment, height, block: blockAt(this.order, moment, height)};
  }

  hover(event) {
    const {moment, height, block} = this.blockUnder(event);
    if (block !== this.hovered) {
      this.hovered = block;
      this.paintPlot();
    }
    if (block >= 0) showBlock(event, block, moment);
    else if (reserved && height >= 0 && height < reserved[moment + 1]) showReserved(event, moment);
    else hideTooltip();
  }

  choose(moment) {
    this.chosen = Math.max(-1, Math.min(eventCount - 1, moment));
    this.paintPlot();
    this.onMoment(this.chosen);
  }

  listen() {
    const {canvas} = this;
    const x = event => event.clientX - canvas.getBoundingClientRect().left;
    const value = position => this.range.begin + (position - this.plot.left) / this.plot.columns *
      (this.range.end - this.range.begin);
    canvas.addEventListener('pointerdown', event => {
      canvas.setPointerCapture(event.pointerId);
      this.drag = {from: x(event), to: x(event), moved: false};
    });
    canvas.addEventListener('pointermove', event => {
      if (!this.drag) return this.hover(event);
      this.drag.to = x(event);
      this.drag.moved = this.drag.moved || Math.abs(this.drag.to - this.drag.from) > 4;
      hideTooltip();
      this.paintPlot();
    });
    canvas.addEventListener('pointerup', event => {
      const drag = this.drag;
      this.drag = null;
      if (!drag) return;
      if (drag.moved) this.zoomTo(value(Math.min(drag.from, drag.to)), value(Math.max(drag.from, drag.to)));
      else if (this.momentAt(x(event)) !== null) this.choose(this.momentAt(x(event)));
    });
    canvas.addEventListener('pointerleave', () => {
      this.hovered = -1;
      hideTooltip();
      this.paintPlot();
    });
    canvas.addEventListener('dblclick', () => {
      this.zoomAll();
      this.draw();
    });
    canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoomBy(event.deltaY > 0 ? 1.25 : 0.8, value(x(event)));
    }, {passive: false});
    canvas.addEventListener('keydown', event => {
      const steps = {ArrowLeft: -1, ArrowRight: 1};
      if (event.key in steps) this.choose(this.chosen + steps[event.key]);
      else if (event.key === '+') this.zoomBy(0.5);
      else if (event.key === '-') this.zoomBy(2);
      else return;
      event.preventDefault();
    });
  }

  // Dragging there moves the window, or draws a new one outside of it.
  listenToOverview() {
    let grip = null;
    const at = event => this.overviewValue(event.clientX - this.overview.getBoundingClientRect().left);
    this.overview.addEventListener('pointerdown', event => {
      this.overview.setPointerCapture(event.pointerId);
      const value = at(event);
      const {begin, end} = this.range;
      const all = this.whole();
      const inside = value > begin && value < end && end - begin < 0.98 * (all.end - all.begin);
      grip = {value, begin, end, inside};
    });
    this.overview.addEventListener('pointermove', event => {
      if (!grip) return;
      const value = at(event);
      if (!grip.inside) return this.zoomTo(Math.min(grip.value, value), Math.max(grip.value, value));
      const all = this.whole();
      const shift = Math.max(all.begin - grip.begin, Math.min(all.end - grip.end, value - grip.value));
      this.zoomTo(grip.begin + shift, grip.end + shift);
    });
    this.overview.addEventListener('pointerup', () => { grip = null; });
  }
}
