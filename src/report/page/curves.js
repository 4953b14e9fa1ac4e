// What changed over training: one small chart a quantity.

const kSvg = 'http://www.w3.org/2000/svg';
const kChart = {left: 46, right: 12, top: 10, bottom: 24};

function svg(name, attributes, text) {
  const made = document.createElementNS(kSvg, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// About `count` round numbers between low and high.
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const made = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) made.push(i * step);
  return made;
}

class Chart {
  constructor(curve) {
    this.curve = curve;
    this.picture = svg('svg', {role: 'img', tabindex: 0});
    this.value = element('p', {className: 'value', role: 'status'});
    const unit = curve.unit ? element('span', {textContent: ` ${curve.unit}`}) : '';
    this.figure = element('figure', {}, element('figcaption', {}, curve.name, unit), this.picture, this.value);
    this.points = curve.lines.flatMap((line) => line.points.filter(([, y]) => y !== null));
    this.steps = [...new Set(this.points.map(([x]) => x))].sort((a, b) => a - b);
    this.at = null;
    this.picture.addEventListener('pointermove', (event) => this.hover(event));
    this.picture.addEventListener('pointerleave', () => this.choose(null));
    this.picture.addEventListener('keydown', (event) => this.onKey(event));
    this.picture.setAttribute('aria-label', this.description());
  }

  description() {
    return this.curve.lines.map((line) => {
      const known = line.points.filter(([, y]) => y !== null);
      if (!known.length) return `${line.name}: no number`;
      const [first, last] = [known[0], known.at(-1)];
      return `${line.name}: ${readable(first[1])} at step ${first[0]}, ${readable(last[1])} at step ${last[0]}`;
    }).join('; ');
  }

  onKey(event) {
    const moves = {ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9};
    if (event.key === 'Escape') this.choose(null);
    if (!(event.key in moves) || !this.steps.length) return;
    event.preventDefault();
    const index = this.at === null ? 0 : this.steps.indexOf(this.at) + moves[event.key];
    this.choose(this.steps[Math.min(Math.max(index, 0), this.steps.length - 1)]);
  }

  hover(event) {
    const x = event.clientX - this.picture.getBoundingClientRect().left;
    const wanted = this.low[0] + (x - kChart.left) / this.scale[0];
    this.choose(this.steps.reduce((best, step) => Math.abs(step - wanted) < Math.abs(best - wanted) ? step : best, this.steps[0]));
  }

  choose(step) {
    this.at = step ?? null;
    this.point();
  }

  // A line of a head has the head's colour.
  colour(i) { return `var(--head-${Number(/^[LEDC]\d+H(\d+)$/.exec(this.curve.lines[i].name)?.[1] ?? i) % 8})`; }

  // Where the lines are heads, the one chosen above.
  chosenLine() {
    if (!page.moments.length) return -1;
    return this.curve.lines.findIndex((line) => line.name === headName(state.layer, state.head));
  }

  x(step) { return kChart.left + (step - this.low[0]) * this.scale[0]; }
  y(value) { return this.height - kChart.bottom - (value - this.low[1]) * this.scale[1]; }

  draw() {
    const {width, height} = this.picture.getBoundingClientRect();
    this.height = height;
    this.picture.replaceChildren();
    if (!this.points.length) {
      this.value.textContent = 'no number';
      return;
    }
    const range = (index) => {
      let low = Infinity, high = -Infinity;
      for (const one of this.points) {
        low = Math.min(low, one[index]);
        high = Math.max(high, one[index]);
      }
      if (index === 1 && low > 0 && low < 0.6 * high) low = 0;
      if (high - low > 1e-12 * Math.abs(high)) return [low, high];
      return [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
    };
    const [x0, x1] = range(0), [y0, y1] = range(1);
    this.low = [x0, y0];
    this.scale = [(width - kChart.left - kChart.right) / (x1 - x0), (height - kChart.top - kChart.bottom) / (y1 - y0)];
    for (const value of ticks(y0, y1, 4)) {
      this.picture.append(svg('line', {class: 'grid', x1: kChart.left, x2: width - kChart.right, y1: this.y(value), y2: this.y(value)}));
      this.picture.append(svg('text', {x: kChart.left - 6, y: this.y(value) + 4, 'text-anchor': 'end'}, readable(value, 3)));
    }
    for (const step of ticks(x0, x1, Math.max(2, Math.floor(width / 110))))
      this.picture.append(svg('text', {x: this.x(step), y: height - 6, 'text-anchor': 'middle'}, readable(step, 6)));
    this.curve.lines.forEach((line, i) => {
      let pen = 'M';
      const path = line.points.map(([x, y]) => {
        if (y === null) {
          pen = 'M';
          return '';
        }
        const text = `${pen}${this.x(x).toFixed(2)} ${this.y(y).toFixed(2)}${pen === 'M' ? 'h0.01' : ''}`;  // a point alone is a dot
        pen = 'L';
        return text;
      }).join('');
      const drawn = svg('path', {d: path, 'stroke-linecap': 'round', 'stroke-linejoin': 'round'});
      drawn.style.stroke = this.colour(i);
      drawn.dataset.line = line.name;
      this.picture.append(drawn);
    });
    this.now = svg('line', {class: 'now', y1: kChart.top, y2: height - kChart.bottom});
    this.cursor = svg('line', {class: 'cursor', y1: kChart.top, y2: height - kChart.bottom});
    this.picture.append(this.now, this.cursor);
    this.point();
  }

  place(line, step) {
    const shown = step !== null && step >= this.low[0] && step <= this.steps.at(-1);
    line.setAttribute('visibility', shown ? 'visible' : 'hidden');
    if (shown) for (const end of ['x1', 'x2']) line.setAttribute(end, this.x(step));
  }

  point() {
    if (!this.now) return;
    this.place(this.now, page.moments.length > 1 ? moment().step : null);
    this.place(this.cursor, this.at);
    const named = this.curve.lines.length > 1;
    const chosen = this.chosenLine();
    for (const path of this.picture.querySelectorAll('path'))
      path.classList.toggle('aside', chosen >= 0 && path.dataset.line !== this.curve.lines[chosen].name);
    const parts = this.curve.lines.map((line, i) => {
      if (chosen >= 0 && i !== chosen) return '';
      const found = this.at === null ? null : line.points.find(([x]) => x === this.at);
      const value = found ? ` ${readable(found[1])}` : '';
      const text = element('span', {textContent: `${named ? line.name : ''}${value}  `});
      if (named) text.style.color = this.colour(i);
      return text;
    });
    const begin = this.at === null ? '' : `step ${this.at}: `;
    this.value.replaceChildren(begin, ...parts);
  }
}

const charts = page.curves.map((curve) => new Chart(curve));

function buildCurves() {
  byId('curves').hidden = !charts.length;
  byId('charts').replaceChildren(...charts.map((chart) => chart.figure));
}
