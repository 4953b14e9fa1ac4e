// One head large: queries down, keys across, both labelled.

const kFont = 11;
const kMostLabel = 84;
const kMostCell = 64;

function shortened(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length && context.measureText(letters.join('') + '…').width > width) letters.pop();
  return letters.join('') + '…';
}

// 1, 2, 5, 10, 20 ...: tokens a label, so that labels do not overlap.
function labelEvery(cell) {
  for (let power = 1; ; power *= 10)
    for (const factor of [1, 2, 5]) if (power * factor * cell >= kFont + 2) return power * factor;
}

class HeadMap {
  constructor(name, view) {
    this.view = view;
    this.canvas = element('canvas', {tabIndex: 0, role: 'application'});
    this.canvas.setAttribute('aria-roledescription', 'attention map');
    this.canvas.setAttribute('aria-describedby', 'readout map-hint');
    this.caption = element('figcaption', {textContent: name});
    this.figure = element('figure', {}, this.caption, this.canvas);
    this.canvas.addEventListener('pointermove', (event) => point({over: this.cellAt(event)}));
    this.canvas.addEventListener('pointerleave', () => point({over: null}));
    this.canvas.addEventListener('click', (event) => this.toggle(this.cellAt(event)));
    this.canvas.addEventListener('keydown', (event) => this.onKey(event));
  }

  toggle(cell) {
    const same = cell && state.pin && cell.row === state.pin.row && cell.column === state.pin.column;
    point({pin: same ? null : cell});
  }

  onKey(event) {
    const {queries, keys} = layerNow();
    const at = state.pin ?? {row: 0, column: 0};
    const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0],
      PageDown: [10, 0], Home: [0, -keys], End: [0, keys], Enter: [0, 0], ' ': [0, 0]};
    if (event.key === 'Escape') return point({pin: null, over: null});
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.altKey || event.metaKey) return undefined;
    event.preventDefault();
    const start = state.pin ? move : [0, 0];
    const inside = (value, size) => Math.min(Math.max(value, 0), size - 1);
    return point({over: null, pin: {row: inside(at.row + start[0], queries), column: inside(at.column + start[1], keys)}});
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - this.left) / this.cell);
    const row = Math.floor((event.clientY - box.top - this.top) / this.cell);
    const {queries, keys} = this.shown;
    return row >= 0 && row < queries && column >= 0 && column < keys ? {row, column} : null;
  }

  // Whole device pixels a cell while they last; below that the largest of a block of cells.
  measure() {
    const context = this.canvas.getContext('2d');
    const {query, key} = axisTokens();
    context.font = `${kFont}px system-ui, sans-serif`;
    const widest = (texts) => Math.min(kMostLabel,
        Math.max(...texts.slice(0, 2000).map((text) => context.measureText(text).width)));
    const ratio = devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    const {queries, keys} = this.shown;
    const tooMany = queries * 13 > width;
    this.left = Math.ceil(Math.min(widest(query) + (tooMany ? 26 : 0), kMostLabel)) + 26;
    this.top = 8;
    const room = Math.max(width - this.left - 4, 40) * ratio;
    this.block = Math.max(1, Math.ceil(keys / room));
    const pixels = this.block > 1 ? 1 : Math.min(Math.floor(room / keys), kMostCell * ratio);
    this.cell = pixels / ratio / this.block;
    this.across = widest(key) + 6 <= this.cell;
    this.bottom = (this.across ? kFont + 6 : Math.ceil(Math.min(widest(key) + (tooMany ? 26 : 0), kMostLabel)) + 8) + 18;
    this.width = width;
    this.height = this.top + queries * this.cell + this.bottom;
    this.ratio = ratio;
    this.tokens = {query, key};
  }

  draw() {
    this.shown = this.view();
    this.figure.hidden = !this.shown;
    if (!this.shown) return;
    this.measure();
    this.image = imageOf(this.shown, this.block);
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.canvas.style.height = `${this.height}px`;
    this.canvas.setAttribute('aria-label', `${this.caption.textContent}: ${this.shown.queries} queries down, ` +
      `${this.shown.keys} keys across. Arrow keys move the cell.`);
    this.point();
  }

  point() {
    if (!this.shown || !this.image) return;
    const context = this.canvas.getContext('2d');
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.imageSmoothingEnabled = false;
    const wide = this.image.width * this.block * this.cell, high = this.image.height * this.block * this.cell;
    context.drawImage(this.image, this.left, this.top, wide, high);
    this.drawLabels(context);
    if (state.kernel === 'over' && this.overlay) this.drawKernel(context);
    this.drawCross(context);
  }

  drawLabels(context) {
    const every = labelEvery(this.cell);
    const {row, column} = pointed() ?? {};
    const text = (tokens, at) => every > 1 ? `${at}: ${tokens[at]}` : tokens[at];
    const {queries, keys} = this.shown;
    const foot = this.top + queries * this.cell;
    const lit = cssColour('--text'), plain = cssColour('--muted');
    const near = (at, other) => other !== undefined && other !== null && Math.abs(at - other) * this.cell < kFont + 2;
    const write = (axis, at) => {
      const chosen = at === (axis === 'query' ? row : column);
      if (!chosen && near(at, axis === 'query' ? row : column) && every > 1) return;
      context.font = `${chosen ? 'bold ' : ''}${kFont}px system-ui, sans-serif`;
      context.fillStyle = chosen ? lit : plain;
      const label = shortened(context, text(this.tokens[axis], at), kMostLabel);
      const middle = (at + 0.5) * this.cell;
      context.save();
      context.textBaseline = 'middle';
      context.textAlign = 'right';
      if (axis === 'query') {
        context.fillText(label, this.left - 5, this.top + middle);
      } else if (this.across) {
        context.textAlign = 'center';
        context.fillText(label, this.left + middle, foot + kFont);
      } else {
        context.translate(this.left + middle, foot + 5);
        context.rotate(-Math.PI / 2);
        context.fillText(label, 0, 0);
      }
      context.restore();
    };
    const axis = (name, length, chosen) => {
      for (let at = 0; at < length; at += every) write(name, at);
      if (chosen !== undefined && chosen !== null && chosen % every !== 0 && chosen < length) write(name, chosen);
    };
    axis('query', queries, row);
    axis('key', keys, column);
    context.font = `${kFont}px system-ui, sans-serif`;
    context.fillStyle = plain;
    context.textAlign = 'center';
    context.textBaseline = 'alphabetic';
    context.fillText('key', this.left + keys * this.cell / 2, this.height - 4);
    context.save();
    context.translate(10, this.top + queries * this.cell / 2);
    context.rotate(-Math.PI / 2);
    context.fillText('query', 0, 0);
    context.restore();
  }

  // A ring in each cell, its area the kernel's place on the bar.
  drawKernel(context) {
    const kernel = this.overlay();
    if (!kernel) return;
    const places = placesOf(kernel);
    const largest = places.reduce((most, place, code) => kernel.codes.includes(code) && place > most ? place : most, 0);
    const least = this.cell < 6 ? largest / 2 : 0.03;
    for (const [colour, width] of [['rgba(0,0,0,0.75)', 3], ['#ffffff', 1.4]]) {
      context.strokeStyle = colour;
      context.lineWidth = Math.min(width, Math.max(this.cell / 3, 0.5));
      context.beginPath();
      for (let row = 0; row < kernel.queries; ++row) {
        for (let column = firstKey(); column < kernel.keys; ++column) {
          const place = places[kernel.codes[row * kernel.keys + column]];
          if (!(place >= least)) continue;
          const radius = Math.max(0.42 * this.cell * Math.sqrt(place), 0.7);
          const x = this.left + (column + 0.5) * this.cell, y = this.top + (row + 0.5) * this.cell;
          context.moveTo(x + radius, y);
          context.arc(x, y, radius, 0, 2 * Math.PI);
        }
      }
      context.stroke();
    }
  }

  drawCross(context) {
    const {row, column} = pointed() ?? {};
    const {queries, keys} = this.shown;
    const cell = this.cell;
    const frame = (x, y, wide, high) => {
      const fine = cell < 6;
      for (const [colour, width] of [['rgba(0,0,0,0.6)', fine ? 1.5 : 3], ['#ffffff', fine ? 0.6 : 1.25]]) {
        context.strokeStyle = colour;
        context.lineWidth = width;
        context.strokeRect(this.left + x, this.top + y, wide, high);
      }
    };
    const hasRow = Number.isInteger(row) && row < queries, hasColumn = Number.isInteger(column) && column < keys;
    if (hasRow) frame(0, row * cell, keys * cell, cell);
    if (hasColumn) frame(column * cell, 0, cell, queries * cell);
  }
}

const largeMap = new HeadMap('weights', headNow);
const kernelMap = new HeadMap('nearest kernel', () => state.kernel === 'beside' ? kernelNow() : null);
largeMap.overlay = kernelNow;

function readoutText() {
  const cell = pointed();
  if (!cell) return 'Point at a cell, or move with the arrow keys.';
  const {query, key} = axisTokens();
  const {row, column} = cell;
  if (column === null || column === undefined) return `query ${row} “${query[row]}”`;
  if (row === null || row === undefined) return `key ${column} “${key[column]}”`;
  const weight = headNow().at(row, column);
  const kernel = kernelNow()?.at(row, column);
  const value = Number.isNaN(weight) ? 'no number' : readable(weight, 3);
  const beside = kernel === undefined ? '' : `, nearest kernel ${readable(kernel, 3)}`;
  return `query ${row} “${query[row]}” → key ${column} “${key[column]}”: ${value}${beside}`;
}

function drawRowTable() {
  const row = pointed()?.row ?? 0;
  const view = headNow(), kernel = kernelNow();
  const {query, key} = axisTokens();
  if (!byId('row-details').open || row >= view.queries) return;
  const cells = (column) => [String(column), key[column], readable(view.at(row, column), 3),
    ...kernel ? [readable(kernel.at(row, column), 3)] : []];
  const head = ['key', 'token', 'weight', ...kernel ? ['nearest kernel'] : []];
  byId('row-table').replaceChildren(
      element('caption', {className: 'hint', textContent: `${headName(state.layer, state.head)}, query ${row} “${query[row]}”`}),
      element('thead', {}, element('tr', {}, ...head.map((name) => element('th', {scope: 'col', textContent: name})))),
      element('tbody', {}, ...Array.from({length: view.keys}, (_, column) => element('tr', {},
          ...cells(column).map((text, i) => element('td', {className: i === 1 ? '' : 'number', textContent: text}))))));
}

function drawHead() {
  const {queries, keys, title} = layerNow();
  const samples = moment().tokens.length > 1 ? `sample ${state.sample}, ` : '';
  byId('head-name').textContent = `${headName(state.layer, state.head)}: ${title}, head ${state.head}`;
  const step = moment().step > 0 || page.moments.length > 1 ? `step ${moment().step}, ` : '';  // weights from elsewhere have none
  byId('head-place').textContent = `${step}${samples}${queries} queries × ${keys} keys`;
  byId('head-sentence').textContent = sentenceOf(state.layer, state.head);
  largeMap.caption.hidden = state.kernel !== 'beside' || !kernelsFit();
  kernelMap.figure.hidden = state.kernel !== 'beside' || !kernelsFit();
  largeMap.draw();
  kernelMap.draw();
  const blocks = largeMap.block > 1 ? ` One dot is the largest weight of ${largeMap.block} × ${largeMap.block} cells.` : '';
  const rings = state.kernel === 'over' && kernelsFit() ? ' Rings: the nearest kernel, the larger the more weight.' : '';
  byId('map-hint').textContent = `Rows are queries, columns are keys. A click holds the cell, Escape lets it go.${blocks}${rings}`;
}

function pointHead() {
  largeMap.point();
  kernelMap.point();
  const text = readoutText();
  if (byId('readout').textContent !== text) byId('readout').textContent = text;
  drawRowTable();
}
