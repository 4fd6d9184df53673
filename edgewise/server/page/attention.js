// SPDX-License-Identifier: Apache-2.0
// Draws the attention weights of a sentence as a table: rows output tokens, columns input tokens.

const kLeastVisible = 0.05; // lower weights have pale numbers
const kMostReadableColumns = 14; // more columns have cells too narrow for numbers

function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/// The character with which SentencePiece begins a word is a heavy line in many fonts.
const printable = (token) => token.replaceAll("\u2581", "_");

function heading(scope, token) {
  const cell = make("th", "", make("bdi", "", printable(token)));
  cell.scope = scope;
  return cell;
}

/// Returns the weights of an output token for all input tokens.
function weightsOf(output, row, numInputs) {
  const weights = new Array(numInputs).fill(0);
  output.attention[row].forEach((weight, i) => {
    const column = output.attention_begin[row] + i;
    if (column < numInputs) weights[column] = weight;
  });
  return weights;
}

/// Moves the focus between the cells with the arrow keys. The Tab key stops at one cell only.
function moveByKeys(table, rows) {
  table.addEventListener("keydown", (event) => {
    const row = rows.findIndex((cells) => cells.includes(event.target));
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (row < 0 || !step) return;
    event.preventDefault();
    const column = rows[row].indexOf(event.target);
    const to = rows[row + step[0]]?.[column + step[1]];
    if (!to) return;
    event.target.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });
}

function weightCell(weight) {
  const cell = make("td", weight < kLeastVisible ? "low" : "", weight.toFixed(2));
  cell.style.setProperty("--weight", weight);
  cell.tabIndex = -1;
  return cell;
}

/// Draws the table into `place`, and describes the cell under the pointer or with the focus in `readout`.
export function drawAttention(place, readout, sentence) {
  const { input_tokens: inputs } = sentence.data;
  const { output } = sentence;
  const rows = output.tokens.map((_, row) => weightsOf(output, row, inputs.length).map(weightCell));
  const columnHeads = inputs.map((token) => heading("col", token));
  const rowHeads = output.tokens.map((token) => heading("row", token));
  const table = make("table", inputs.length > kMostReadableColumns ? "attention small" : "attention",
    make("caption", "for-screen-readers", "Attention weights"),
    make("thead", "", make("tr", "", make("td", ""), ...columnHeads)),
    make("tbody", "", ...rows.map((cells, row) => make("tr", "", rowHeads[row], ...cells))));
  const describe = (event) => {
    const row = rows.findIndex((cells) => cells.includes(event.target));
    if (row < 0) return;
    const column = rows[row].indexOf(event.target);
    const [from, to] = [output.tokens[row], inputs[column]].map(printable);
    readout.textContent = `“${from}” attends to “${to}” with the weight ${event.target.textContent}.`;
    rowHeads.forEach((cell, i) => cell.classList.toggle("lit", i === row));
    columnHeads.forEach((cell, i) => cell.classList.toggle("lit", i === column));
  };
  table.addEventListener("pointerover", describe);
  table.addEventListener("focusin", describe);
  moveByKeys(table, rows);
  if (rows[0]?.[0]) rows[0][0].tabIndex = 0;
  readout.textContent = "";
  place.replaceChildren(table);
}
