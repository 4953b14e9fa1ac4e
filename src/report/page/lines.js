// Lines from each query to the keys it looks at, a colour a head.

const kFaintest = 0.04;  // lines below this share of full ink are left out
const kTallestCanvas = 8192;  // pixels; browsers refuse some above

let listed = '';

function buildLines() {
  const queries = byId('line-queries');
  const rowOf = (event) => {
    const item = event.target.closest('li');
    return item ? Number(item.dataset.at) : null;
  };
  const hover = (list, name) => {
    list.addEventListener('pointermove', (event) => {
      const at = rowOf(event);
      point({over: at === null ? null : {row: null, column: null, [name]: at}});
    });
    list.addEventListener('pointerleave', () => point({over: null}));
  };
  hover(queries, 'row');
  hover(byId('line-keys'), 'column');
  queries.addEventListener('click', (event) => {
    const row = rowOf(event);
    if (row !== null) point({pin: state.pin?.row === row && state.pin.column === null ? null : {row, column: null}, over: null});
  });
  queries.addEventListener('keydown', (event) => {
    const moves = {ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9};
    if (event.key === 'Escape') point({pin: null, over: null});
    if (!(event.key in moves)) return;
    event.preventDefault();
    const row = state.pin ? state.pin.row + moves[event.key] : 0;
    const inside = Math.min(Math.max(row, 0), layerNow().queries - 1);
    point({over: null, pin: {row: inside, column: null}});
    queries.children[inside].scrollIntoView({block: 'nearest'});
  });
}

function listTokens() {
  const {query, key} = axisTokens();
  const name = JSON.stringify([query, key]);
  if (name === listed) return;
  listed = name;
  const items = (tokens, role) => tokens.map((token, at) => {
    const item = element('li', {textContent: token, title: `${at}: ${token}`, id: `${role}-${at}`});
    if (role === 'query') item.setAttribute('role', 'option');
    item.dataset.at = at;
    return item;
  });
  byId('line-queries').replaceChildren(...items(query, 'query'));
  byId('line-keys').replaceChildren(...items(key, 'key'));
}

function listHeads() {
  const {heads} = layerNow();
  const box = byId('line-heads');
  const boxes = Array.from({length: heads}, (_, head) => {
    const input = element('input', {type: 'checkbox', checked: state.lineHeads.has(head), name: 'line-head', value: String(head)});
    input.addEventListener('change', () => {
      const lineHeads = new Set(state.lineHeads);
      if (input.checked) lineHeads.add(head);
      else lineHeads.delete(head);
      change({lineHeads});
    });
    const swatch = element('i');
    swatch.style.background = headColour(head);
    return element('label', {}, input, swatch, headName(state.layer, head));
  });
  const all = element('input', {type: 'checkbox', id: 'line-all', checked: state.lineHeads.size === heads});
  all.indeterminate = state.lineHeads.size > 0 && state.lineHeads.size < heads;
  all.addEventListener('change', () => change({lineHeads: new Set(all.checked ? Array(heads).keys() : [])}));
  const focused = box.contains(document.activeElement) ? document.activeElement : null;
  box.replaceChildren(box.querySelector('legend'), ...boxes, ...heads > 1 ? [element('label', {}, all, 'all')] : []);
  if (focused) box.querySelector(focused.id ? '#line-all' : `[value="${focused.value}"]`)?.focus();
}

let allLines = null;  // the picture with no token chosen; on long inputs it takes a second

function drawLines() {
  byId('lines-name').textContent = `Lines from query to key, ${layerNow().title}`;
  allLines = null;
  listTokens();
  listHeads();
}

// Lines of the heads chosen, of one query or to one key or all. Returns how many, and for each token at the other
// end the most ink of a line and that line's head.
function inkLines(context, wide, line, row, column) {
  const {queries, keys} = layerNow();
  const ink = new Float64Array(Math.max(queries, keys)), heads = new Uint16Array(ink.length);
  let drawn = 0;
  for (const head of [...state.lineHeads].sort((a, b) => a - b)) {
    const view = headOf(moment(), state.layer, state.sample, head);
    const places = placesOf(view);
    context.strokeStyle = headColour(head);
    for (let i = row ?? 0; i < (row === null ? queries : row + 1); ++i) {
      for (let j = Math.max(column ?? 0, firstKey()); j < (column === null ? keys : column + 1); ++j) {
        const place = places[view.codes[i * keys + j]];
        if (!(place >= kFaintest)) continue;
        const end = row === null ? i : j;
        if (place > ink[end]) {
          ink[end] = place;
          heads[end] = head;
        }
        context.globalAlpha = place;
        context.beginPath();
        context.moveTo(0, (i + 0.5) * line);
        context.lineTo(wide, (j + 0.5) * line);
        context.stroke();
        ++drawn;
      }
    }
  }
  return {drawn, ink, heads};
}

function pointLines() {
  const cell = pointed() ?? {};
  const row = cell.row ?? null, pointedColumn = cell.column ?? null;
  const column = row === null ? pointedColumn : null;
  const {queries, keys} = layerNow();
  const canvas = byId('line-canvas');
  const list = byId('line-queries');
  const line = list.firstElementChild.getBoundingClientRect().height;
  const wide = canvas.clientWidth, high = Math.max(queries, keys) * line;
  const ratio = Math.min(devicePixelRatio || 1, kTallestCanvas / high);
  canvas.width = Math.round(wide * ratio);
  canvas.height = Math.round(high * ratio);
  canvas.style.height = `${high}px`;
  const drawInto = (target) => {
    const context = target.getContext('2d');
    context.scale(ratio, ratio);
    context.lineWidth = 1.5;
    return inkLines(context, wide, line, row, column);
  };
  let result;
  if (row === null && column === null) {
    if (!allLines || allLines.picture.width !== canvas.width || allLines.picture.height !== canvas.height) {
      const picture = element('canvas', {width: canvas.width, height: canvas.height});
      allLines = {picture, ...drawInto(picture)};
    }
    canvas.getContext('2d').drawImage(allLines.picture, 0, 0);
    result = allLines;
  } else {
    result = drawInto(canvas);
  }
  tint('line-queries', row, column === null ? null : result);
  tint('line-keys', pointedColumn, row === null ? null : result);
  [...list.children].forEach((item, at) => item.setAttribute('aria-selected', at === row));
  if (row === null) list.removeAttribute('aria-activedescendant');
  else list.setAttribute('aria-activedescendant', `query-${row}`);
  const about = row !== null ? `from query ${row}` : column !== null ? `to key ${column}` : 'from all queries';
  canvas.setAttribute('aria-label', `${result.drawn} lines ${about}`);
  byId('lines-hint').textContent = `${result.drawn} lines ${about}; the darker the more weight on the scale chosen, ` +
    `below ${kFaintest} of it left out. Point at a token to see its lines alone.`;
}

// Lights one token, and tints each by the head that gives it most.
function tint(id, lit, result) {
  [...byId(id).children].forEach((item, at) => {
    item.classList.toggle('lit', at === lit);
    const share = result ? Math.round(result.ink[at] * 55) : 0;
    item.style.background = share > 0 ? `color-mix(in srgb, ${headColour(result.heads[at])} ${share}%, transparent)` : '';
  });
}
