// Puts the parts together.

function buildControls() {
  const step = byId('step'), sample = byId('sample');
  step.max = page.moments.length - 1;
  step.addEventListener('input', () => change({moment: Number(step.value)}));
  sample.addEventListener('input', () => change({sample: Number(sample.value)}));
  byId('step-control').hidden = page.moments.length < 2;
  byId('sample-control').hidden = page.moments.every((one) => one.tokens.length < 2);
  byId('kernel-control').hidden = !page.kernels;
  byId('first').addEventListener('change', (event) => change({first: event.target.checked}));
  for (const name of ['scale', 'kernel']) {
    for (const input of document.querySelectorAll(`input[name="${name}"]`))
      input.addEventListener('change', () => change({[name]: input.value}));
  }
  byId('controls').addEventListener('submit', (event) => event.preventDefault());
}

function drawControls() {
  const step = byId('step'), sample = byId('sample');
  step.value = state.moment;
  byId('step-value').textContent = moment().step;
  step.setAttribute('aria-valuetext', `step ${moment().step}`);
  sample.max = moment().tokens.length - 1;
  sample.value = state.sample;
  sample.disabled = moment().tokens.length < 2;
  byId('sample-value').textContent = `${state.sample}, of ${moment().tokens.length}`;
  for (const name of ['scale', 'kernel']) document.querySelector(`input[name="${name}"][value="${state[name]}"]`).checked = true;
  byId('first').checked = state.first;
  byId('kernel-control').disabled = !kernelsFit();
  byId('kernel-control').title = kernelsFit() ? '' : 'The kernels were fitted to the last step';
  byId('first').disabled = layerNow().keys < 2;
}

function buildHeads() {
  if (!page.moments.length) return;
  byId('heads').hidden = false;
  change({});  // what the page starts with may not be there
  state.lineHeads = new Set(Array(layerNow().heads).keys());
  buildControls();
  buildOverview();
  byId('maps').replaceChildren(largeMap.figure, kernelMap.figure);
  buildLines();
  byId('row-details').addEventListener('toggle', () => later('cell'));
  drawers.push(drawControls, drawOverview, drawHead, drawImage, drawLines, markChosen);
  pointers.push(pointHead, pointImage, pointLines);
}

function buildSentences() {
  byId('sentences').hidden = !page.sentences.length;
  byId('sentence-list').replaceChildren(...page.sentences.map((one) => {
    const button = element('button', {type: 'button', textContent: one.text});
    button.addEventListener('click', () => {
      chooseHead(one.layer, one.head);
      byId('head-card').scrollIntoView({block: 'nearest'});
    });
    button.dataset.head = one.name;
    return element('li', {}, button);
  }));
}

function buildFindings() {
  byId('findings').hidden = !page.findings.length;
  byId('finding-list').replaceChildren(...page.findings.map((one) => element('li', {},
      element('strong', {textContent: one.cause}), element('div', {textContent: one.sign}),
      ...one.remedy ? [element('p', {textContent: one.remedy})] : [])));
}

function buildContents() {
  const sections = [...document.querySelectorAll('main > section:not([hidden])')];
  byId('contents').hidden = sections.length < 2;
  byId('contents').replaceChildren(...sections.map((section) =>
    element('a', {href: `#${section.id}`, textContent: section.querySelector('h2').textContent})));
}

byId('title').textContent = page.title;
byId('subtitle').textContent = page.subtitle;
byId('subtitle').hidden = !page.subtitle;
byId('notes').replaceChildren(...page.notes.map((text) => element('li', {textContent: text})));
buildHeads();
buildSentences();
buildFindings();
buildTable(byId('scores'), page.scores, true);
buildCurves();
buildTable(byId('compare'), page.compare, true);
buildTable(byId('settings'), page.settings, false);
buildContents();
drawers.push(() => charts.forEach((chart) => chart.point()));

let drawnWidth = 0;
new ResizeObserver(() => {
  if (document.body.clientWidth === drawnWidth) return;
  drawnWidth = document.body.clientWidth;
  charts.forEach((chart) => chart.draw());
  later('all');
}).observe(document.body);
for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)'])
  matchMedia(query).addEventListener('change', () => later('all'));
