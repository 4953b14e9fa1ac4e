// From weights to colours: the same bar as the PNG pictures.

const kLogFloor = 1e-4;
const kBlind = [222, 222, 222];
const kRed = [230, 60, 90];

function barPlace(weight, scale, largest) {
  let place = weight;
  if (scale === 'head') place = largest > 0 ? weight / largest : 0;
  if (scale === 'log') place = 1 - Math.log10(Math.max(weight, kLogFloor)) / Math.log10(kLogFloor);
  return Math.min(Math.max(place, 0), 1);
}

function largestOf(view) {
  let largest = 0;
  for (let row = 0; row < view.queries; ++row) {
    for (let at = row * view.keys + firstKey(); at < (row + 1) * view.keys; ++at) {
      const code = view.codes[at];
      if (code !== kNoNumber && code > largest) largest = code;
    }
  }
  return Math.max(view.weights[largest], 0);
}

// Place on the bar of each code, 0 to 1.
function placesOf(view, largest = state.scale === 'head' ? largestOf(view) : 1) {
  return Float64Array.from(view.weights, (weight) => Number.isNaN(weight) ? NaN : barPlace(weight, state.scale, largest));
}

const packed = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
const packedPalette = Uint32Array.from({length: 256}, (_, i) => packed(palette.subarray(3 * i, 3 * i + 3)));

function isBlind(view, row) {
  for (let at = row * view.keys; at < (row + 1) * view.keys; ++at) if (view.codes[at] !== 0) return false;
  return view.weights[0] === 0;
}

// A canvas with one pixel for each block x block cells: the largest of them. Rows of zeros are grey.
function imageOf(view, block = 1, places = placesOf(view)) {
  const width = Math.ceil(view.keys / block), height = Math.ceil(view.queries / block);
  const canvas = element('canvas', {width, height});
  const context = canvas.getContext('2d');
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const largest = new Uint8Array(width * height);
  const hidden = firstKey();
  for (let row = 0; row < view.queries; ++row) {
    const line = Math.floor(row / block) * width;
    for (let column = 0; column < view.keys; ++column) {
      const at = line + Math.floor(column / block);
      largest[at] = Math.max(largest[at], view.codes[row * view.keys + column]);
    }
  }
  const colours = Uint32Array.from(places, (place) => Number.isNaN(place) ?
    packed(kRed) : packedPalette[Math.round(place * 255)]);
  for (let at = 0; at < pixels.length; ++at) pixels[at] = colours[largest[at]];
  for (let row = 0; row < height; ++row) {
    const blind = block === 1 && isBlind(view, row);
    pixels.fill(packed(kBlind), row * width, row * width + (blind ? width : block === 1 ? hidden : 0));
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function drawBar() {
  const canvas = byId('bar-colours');
  canvas.width = 256;
  const context = canvas.getContext('2d');
  const image = context.createImageData(256, 1);
  new Uint32Array(image.data.buffer).set(packedPalette);
  context.putImageData(image, 0, 0);
  const labels = {unit: ['0', '0.25', '0.5', '0.75', '1'], head: ['0', 'half', 'the head’s largest'],
    log: ['≤ 0.0001', '0.001', '0.01', '0.1', '1']}[state.scale];
  byId('bar-labels').replaceChildren(...labels.map((text) => element('span', {textContent: text})));
}

const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const headColour = (head) => cssColour(`--head-${head % 8}`);
