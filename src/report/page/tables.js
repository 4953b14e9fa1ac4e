// Tables of text, numbers and scores; a click on a column's name sorts by it.

const isScore = (cell) => cell !== null && typeof cell === 'object';
const isNumeric = (cell) => isScore(cell) || typeof cell === 'number' || cell === null;
const sortKey = (cell) => isScore(cell) ? cell.value : cell;

// Text of a column's numbers: whole ones as they are, else as many decimals as give the largest three digits.
function numberTexts(rows, column) {
  const known = rows.map((row) => sortKey(row.cells[column])).filter((value) => typeof value === 'number');
  const whole = known.every(Number.isInteger) && !rows.some((row) => isScore(row.cells[column]));
  const largest = known.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const decimals = Math.min(Math.max(2 - Math.floor(Math.log10(largest || 1)), 0), 8);
  return (value) => value === null ? '–' : whole ? String(value) : value.toFixed(decimals);
}

function cellElement(cell, numeric, text) {
  if (!isNumeric(cell)) return element('td', {textContent: cell, className: cell.length > 40 ? 'long' : ''});
  const made = element('td', {className: numeric ? 'number' : '', textContent: text(sortKey(cell))});
  if (isScore(cell)) {
    const known = [cell.low !== null && `95 % interval ${readable(cell.low)} to ${readable(cell.high)}`,
      cell.chance !== null && `uniform weights give ${readable(cell.chance)}`, `${cell.rows} rows`].filter(Boolean);
    made.title = known.join(', ');
    if (cell.low !== null) made.append(' ', element('small', {textContent: `${text(cell.low)} – ${text(cell.high)}`}));
  }
  return made;
}

// Empty cells stay last in both directions; equal ones keep their order.
function sorted(rows, column, direction) {
  const key = (row) => sortKey(row.cells[column]);
  const sign = direction === 'ascending' ? 1 : -1;
  const collator = new Intl.Collator('en', {numeric: true});
  return [...rows].sort((a, b) => {
    const x = key(a), y = key(b);
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : collator.compare(x, y));
  });
}

function buildTable(section, table, sorts) {
  if (!table) return;
  section.hidden = false;
  const numeric = table.columns.map((_, i) => table.rows.every((row) => isNumeric(row.cells[i])));
  const texts = table.columns.map((_, i) => numberTexts(table.rows, i));
  const body = element('tbody');
  const lines = new Map(table.rows.map((row) => {
    const line = element('tr', {}, ...row.cells.map((cell, i) => cellElement(cell, numeric[i], texts[i])));
    if (row.head && page.moments.length) {
      line.dataset.head = headName(...row.head);
      line.addEventListener('click', () => chooseHead(...row.head));
    }
    return [row, line];
  }));
  const show = (rows) => body.replaceChildren(...rows.map((row) => lines.get(row)));
  const heads = table.columns.map((name, i) => {
    const cell = element('th', {scope: 'col', className: numeric[i] ? 'number' : ''});
    if (!sorts) {
      cell.textContent = name;
      return cell;
    }
    const button = element('button', {type: 'button', textContent: name});
    button.addEventListener('click', () => {
      const before = cell.getAttribute('aria-sort');
      const first = numeric[i] ? 'descending' : 'ascending', second = numeric[i] ? 'ascending' : 'descending';
      const direction = before === first ? second : first;
      for (const other of heads) other.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', direction);
      show(sorted(table.rows, i, direction));
    });
    cell.append(button);
    return cell;
  });
  show(table.rows);
  const name = `${section.id}-name`;
  section.setAttribute('aria-labelledby', name);
  section.append(element('h2', {id: name, textContent: table.name}));
  if (table.text) section.append(element('p', {className: 'verdict', textContent: table.text}));
  if (!table.rows.length) return;
  const scroll = element('div', {className: 'scroll', tabIndex: 0, role: 'region'},
      element('table', {}, element('thead', {}, element('tr', {}, ...heads)), body));
  scroll.setAttribute('aria-labelledby', name);
  section.append(scroll);
}

function markChosen() {
  const chosen = headName(state.layer, state.head);
  for (const line of document.querySelectorAll('[data-head]')) line.classList.toggle('chosen', line.dataset.head === chosen);
}
