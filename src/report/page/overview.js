// All heads of all layers, small.

const kThumbnail = 96;
let thumbnails = [];  // [layer][head] -> {cell, canvas}

function buildOverview() {
  const layers = moment().layers;
  const most = Math.max(...layers.map((layer) => layer.heads));
  const grid = byId('overview');
  grid.style.gridTemplateColumns = `max-content repeat(${most}, minmax(0, 8rem))`;
  grid.setAttribute('aria-rowcount', layers.length);
  grid.setAttribute('aria-colcount', most);
  const rows = [];
  thumbnails = layers.map((layer, l) => {
    const row = element('div', {role: 'row'}, element('span', {className: 'layer', role: 'rowheader', textContent: layer.name}));
    const made = Array.from({length: most}, (_, h) => {
      const cell = element('div', {role: 'gridcell'});
      row.append(cell);
      if (h >= layer.heads) return null;
      const canvas = element('canvas', {});
      canvas.setAttribute('aria-hidden', 'true');
      cell.append(canvas);
      cell.title = headName(l, h);
      cell.addEventListener('click', () => chooseHead(l, h));
      return {cell, canvas};
    });
    rows.push(row);
    return made;
  });
  const numbers = Array.from({length: most}, (_, h) => element('span', {className: 'number', role: 'columnheader', textContent: `H${h}`}));
  rows.push(element('div', {role: 'row'}, element('span', {role: 'presentation'}), ...numbers));
  grid.replaceChildren(...rows);
  grid.addEventListener('keydown', onOverviewKey);
}

function chooseHead(layer, head) {
  const heads = moment().layers[layer].heads;
  const lineHeads = layer === state.layer ? state.lineHeads : new Set(Array(heads).keys());
  change({layer, head, lineHeads});
}

function onOverviewKey(event) {
  const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -1e6], End: [0, 1e6]};
  const move = moves[event.key];
  if (!move) return;
  event.preventDefault();
  const layers = moment().layers;
  const layer = Math.min(Math.max(state.layer + move[0], 0), layers.length - 1);
  const head = Math.min(Math.max(state.head + move[1], 0), layers[layer].heads - 1);
  chooseHead(layer, head);
  thumbnails[layer][head].cell.focus();
}

function drawOverview() {
  let block = 1;
  moment().layers.forEach((layer, l) => {
    const own = Math.max(1, Math.ceil(Math.max(layer.queries, layer.keys) / kThumbnail));
    block = Math.max(block, own);
    thumbnails[l].forEach((made, h) => {
      if (!made) return;
      const image = imageOf(headOf(moment(), l, state.sample, h), own);
      made.canvas.width = image.width;
      made.canvas.height = image.height;
      made.canvas.getContext('2d').drawImage(image, 0, 0);
      const chosen = l === state.layer && h === state.head;
      made.cell.setAttribute('aria-selected', chosen);
      made.cell.setAttribute('aria-label', `${headName(l, h)}. ${sentenceOf(l, h)}`);
      made.cell.tabIndex = chosen ? 0 : -1;
    });
  });
  const layers = moment().layers;
  byId('overview-hint').textContent = `${layers.length} ${layers.length === 1 ? 'layer' : 'layers'}, the input’s first. ` +
    (layers.some(({name}) => name[0] === 'C') ? 'E: encoder, D: decoder, C: cross-attention, from target (rows) to source (columns). ' : '') +
    'Choose a head by click or arrow keys.' + (block > 1 ? ` One dot is the largest weight of ${block} × ${block} cells.` : '');
  drawBar();
}
