// What the page shows, and what the reader has chosen of it.

const page = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function readable(value, digits = 4) {
  return value === null || Number.isNaN(value) ? '–' : String(Number(value.toPrecision(digits)));
}

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const palette = bytesOf(page.palette);
const kNoNumber = 255;

// Code c of 0 .. 254 stands for low + (high - low) (c / 254)^power; 255 for what is not finite.
const decodedLayers = new WeakMap();
function decoded(layer) {
  if (!decodedLayers.has(layer)) {
    const weights = Float64Array.from({length: 256}, (_, code) => code === kNoNumber ?
      NaN : layer.low + (layer.high - layer.low) * (code / 254) ** page.power);
    decodedLayers.set(layer, {codes: bytesOf(layer.codes), weights});
  }
  return decodedLayers.get(layer);
}

// One head: rows are queries, columns are keys.
function headOf(source, layer, sample, head) {
  const stored = source.layers[layer];
  const {codes, weights} = decoded(stored);
  const {queries, keys} = stored;
  const begin = (sample * stored.heads + head) * queries * keys;
  const own = codes.subarray(begin, begin + queries * keys);
  return {queries, keys, weights, codes: own, at: (row, column) => weights[own[row * keys + column]]};
}

const state = {
  moment: page.moments.length - 1,
  ...page.start,  // layer, head, sample, scale
  kernel: 'off',
  first: true,
  lineHeads: new Set(),  // whose lines are drawn
  pin: null,  // {row, column} chosen by click or key
  over: null,  // {row, column} under the pointer; column or row may be null
};

const drawers = [];  // called when what is drawn changes
const pointers = [];  // called when only the cell pointed at changes
let waiting = null;

function later(what) {
  if (waiting === null) requestAnimationFrame(() => {
    const all = waiting === 'all';
    waiting = null;
    if (all) for (const draw of drawers) draw();
    for (const point of pointers) point();
  });
  if (waiting !== 'all') waiting = what;
}

const moment = () => page.moments[state.moment];
const layerNow = () => moment().layers[state.layer];
const headNow = () => headOf(moment(), state.layer, state.sample, state.head);
const pointed = () => state.over ?? state.pin;
const firstKey = () => state.first || layerNow().keys < 2 ? 0 : 1;

// The kernels were fitted at the last step.
const kernelsFit = () => Boolean(page.kernels) && state.moment === page.moments.length - 1 &&
  state.sample < page.kernels.tokens.length;
const kernelNow = () => kernelsFit() ? headOf(page.kernels, state.layer, state.sample, state.head) : null;

function change(what) {
  Object.assign(state, what);
  state.sample = Math.min(state.sample, moment().tokens.length - 1);
  state.layer = Math.min(state.layer, moment().layers.length - 1);
  state.head = Math.min(state.head, layerNow().heads - 1);
  if (state.pin && (state.pin.row >= layerNow().queries || state.pin.column >= layerNow().keys)) state.pin = null;
  later('all');
}

function point(what) {
  Object.assign(state, what);
  later('cell');
}

// As the pictures label them: fewer queries than tokens are the last ones, and what has no token is numbered.
function axisTokens() {
  const {queries, keys, rows, columns} = layerNow();
  const axis = (tokens, length, first) => Array.from(
      {length}, (_, i) => length <= tokens.length ? tokens[first + i] : String(i));
  const tokens = (name) => moment()[name][state.sample] ?? [];
  return {query: axis(tokens(rows), queries, Math.max(tokens(rows).length - queries, 0)), key: axis(tokens(columns), keys, 0)};
}

const headName = (layer, head) => `${moment().layers[layer].name}H${head}`;
const sentenceOf = (layer, head) =>
  page.sentences.find((one) => one.layer === layer && one.head === head)?.text ?? '';
