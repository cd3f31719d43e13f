// The list of events. Only rows in sight are elements.
const ROW_HEIGHT = 23;  // as in report.css

class EventsView {
  constructor(onMoment) {
    this.onMoment = onMoment;
    this.box = byId('events');
    this.hiddenActions = new Set();
    this.spacer = element('div');
    this.rows = element('div');
    this.box.append(this.spacer, this.rows);
    this.addActionButtons();
    byId('filter').addEventListener('input', () => this.filter());
    this.box.addEventListener('scroll', () => this.draw());
    this.filter();
  }

  addActionButtons() {
    data.actions.forEach((name, action) => {
      const button = element('button', {text: name});
      button.setAttribute('aria-pressed', 'true');
      button.addEventListener('click', () => {
        if (!this.hiddenActions.delete(action)) this.hiddenActions.add(action);
        button.setAttribute('aria-pressed', String(!this.hiddenActions.has(action)));
        this.filter();
      });
      byId('actions').append(button);
    });
  }

  searchable(event) {
    const block = events.block[event];
    if (block < 0) return events.address[event];
    this.texts = this.texts || [];
    if (this.texts[block] === undefined)
      this.texts[block] = [titleOf(block), textOf('operator', block), textOf('module', block), textOf('shape', block),
        categoryOf(block), blocks.address[block], `#${blocks.id[block]}`].join('\n').toLowerCase();
    return this.texts[block];
  }

  filter() {
    const wanted = byId('filter').value.trim().toLowerCase();
    this.matching = [];
    for (let event = 0; event < eventCount; ++event)
      if (!this.hiddenActions.has(events.action[event]) && (!wanted || this.searchable(event).includes(wanted)))
        this.matching.push(event);
    byId('events-count').textContent = this.matching.length === eventCount ? plural(eventCount, 'event')
      : `${this.matching.length.toLocaleString('en')} of ${plural(eventCount, 'event')}`;
    this.spacer.style.height = `${this.matching.length * ROW_HEIGHT}px`;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_HEIGHT) - 4);
    const last = Math.min(this.matching.length, first + Math.ceil(this.box.clientHeight / ROW_HEIGHT) + 8);
    const made = [];
    for (let i = first; i < last; ++i) made.push(this.row(this.matching[i], i));
    this.rows.replaceChildren(...made);
  }

  row(event, place) {
    const action = data.actions[events.action[event]];
    const block = events.block[event];
    const part = (text, className = '') => element('span', {text, className, title: text});
    const title = element('span', {title: block >= 0 ? titleOf(block) : ''},
      block >= 0 ? [swatch(colorOf(blocks.category[block]))] : []);
    if (block >= 0) title.append(titleOf(block));
    const row = element('div', {className: 'event'}, [
      part(String(event + 1), 'number faint'), part(duration(events.time[event]), 'number'),
      part(action, action === 'oom' ? 'alarm' : ''), part(action === 'mark' ? '' : mib(events.bytes[event]), 'number'),
      title, part(block >= 0 ? textOf('shape', block) : ''), part(block >= 0 ? textOf('module', block) : '', 'faint'),
      part(block >= 0 ? blocks.address[block] : events.address[event], 'mono faint')]);
    row.style.top = `${place * ROW_HEIGHT}px`;
    row.addEventListener('click', () => this.onMoment(event));
    return row;
  }
}
