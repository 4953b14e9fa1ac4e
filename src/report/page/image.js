// Where the keys are patches of an image: the image in grey, under the weights of each query.

const kMostPanels = 24;
const kHeat = [235, 92, 20];
const kStrongest = 0.7;  // share of the colour on the patch with the most weight

// Queries that have a panel: those that are no patches themselves; where all are, the one pointed at.
function picturedQueries(image) {
  const {queries, rows, columns} = layerNow();
  const patches = image.rows * image.columns;
  const own = Array.from({length: queries}, (_, row) => row)
      .filter((row) => rows !== columns || row < image.first || row >= image.first + patches);
  return own.length ? own.slice(0, kMostPanels) : [pointed()?.row ?? 0];
}

function patchWeights(view, image, row) {
  return Array.from({length: image.rows * image.columns}, (_, patch) => view.at(row, image.first + patch) || 0);
}

function drawPatches(canvas, image, pixels, weights, largest) {
  const width = image.columns * image.patch, height = image.rows * image.patch;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  const picture = context.createImageData(width, height);
  for (let at = 0; at < width * height; ++at) {
    const patch = Math.floor(Math.floor(at / width) / image.patch) * image.columns + Math.floor(at % width / image.patch);
    const share = weights && largest > 0 ? kStrongest * Math.min(Math.max(weights[patch] / largest, 0), 1) : 0;
    for (let channel = 0; channel < 3; ++channel)
      picture.data[4 * at + channel] = Math.round((1 - share) * pixels[at] + share * kHeat[channel]);
    picture.data[4 * at + 3] = 255;
  }
  context.putImageData(picture, 0, 0);
}

function drawImage() {
  const {image} = moment();
  const stored = layerNow().pictured && image ? image.pixels[state.sample] : undefined;
  byId('image').hidden = stored === undefined;
  if (stored === undefined) return;
  const pixels = bytesOf(stored);
  const view = headNow();
  const {query} = axisTokens();
  const queries = picturedQueries(image);
  const looks = queries.map((row) => patchWeights(view, image, row));
  const largest = looks.flat().reduce((most, weight) => Math.max(most, weight), 0);
  const panel = (text, weights, row) => {
    const canvas = element('canvas', {});
    drawPatches(canvas, image, pixels, weights, largest);
    const figure = element('figure', {}, element('figcaption', {textContent: text, title: text}), canvas);
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', weights ? `the image under the weights of query ${row} “${text}”` : 'the image');
    if (row !== null) {
      figure.dataset.row = row;
      figure.addEventListener('click', () => point({pin: {row, column: null}, over: null}));
    }
    return figure;
  };
  byId('image-panels').replaceChildren(panel('image', null, null),
      ...queries.map((row, i) => panel(query[row], looks[i], row)));
  byId('image-hint').textContent = `A panel a query: the stronger the colour, the more weight on that patch, up to ${readable(largest, 3)}.`;
  pointImage();
}

function pointImage() {
  const {image} = moment();
  if (byId('image').hidden) return;
  const row = pointed()?.row ?? null;
  const panels = [...byId('image-panels').children];
  const queries = picturedQueries(image);
  if (queries.length === 1 && panels.at(-1).dataset.row !== String(queries[0])) return drawImage();
  for (const figure of panels) figure.classList.toggle('lit', row !== null && figure.dataset.row === String(row));
}
