"use strict";
// Tables sort by the head of a column, and long ones can be searched. Nothing else needs a script.

const number = (cell) => (cell.dataset.v === undefined ? NaN : parseFloat(cell.dataset.v));

function compare(a, b, way) {
  const [x, y] = [number(a), number(b)];
  if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1; // what has no number is last, both ways
  if (!isNaN(x)) return x === y ? 0 : way * (x < y ? -1 : 1);
  return way * a.textContent.localeCompare(b.textContent, "en", { numeric: true });
}

function sortBy(table, head) {
  const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const rows = [...table.tBodies[0].rows];
  const k = head.cellIndex;
  rows.sort((a, b) => compare(a.cells[k], b.cells[k], way));
  table.tBodies[0].append(...rows);
  for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
}

function addSearch(table) {
  const line = document.createElement("p");
  const label = document.createElement("label");
  const field = document.createElement("input");
  const count = document.createElement("output");
  const rows = [...table.tBodies[0].rows];
  field.type = "search";
  label.append("Only rows with ", field);
  line.className = "search";
  line.append(label, " ", count);
  table.parentElement.before(line);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
  });
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const head of table.tHead.rows[0].cells) {
    head.firstElementChild.addEventListener("click", () => sortBy(table, head));
  }
  if (table.tBodies[0].rows.length > 12) addSearch(table);
}

// On paper nothing is folded.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not([open])")) {
    part.open = part.dataset.folded = true;
  }
});
addEventListener("afterprint", () => {
  for (const part of document.querySelectorAll("details[data-folded]")) {
    part.open = false;
    delete part.dataset.folded;
  }
});
document.documentElement.dataset.ready = "";
