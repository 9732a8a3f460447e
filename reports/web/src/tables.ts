// Sorting by any column, and searching and filtering where a table asks for it.
import { element, select } from "./dom";
import { tr } from "./words";

function sortKey(cell: HTMLTableCellElement | undefined): number | string {
  const value = cell?.dataset.v;
  return value !== undefined ? Number(value) : (cell?.textContent ?? "").toLowerCase();
}

function compare(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
}

function sortBy(table: HTMLTableElement, column: number): void {
  const heads = [...table.tHead!.rows[0].cells];
  const before = heads[column].getAttribute("aria-sort");
  // Numbers are first asked for from the largest.
  const numeric = heads[column].classList.contains("num");
  const descending = before === null ? numeric : before === "ascending";
  for (const head of heads) head.removeAttribute("aria-sort");
  heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: sortKey(row.cells[column]) }));
  rows.sort((a, b) => (descending ? compare(b.key, a.key) : compare(a.key, b.key)));
  table.tBodies[0].append(...rows.map((entry) => entry.row));
}

function makeSortable(table: HTMLTableElement): void {
  [...table.tHead!.rows[0].cells].forEach((head, column) => {
    const button = element("button", { type: "button" }, ...head.childNodes);
    if (head.title) button.title = head.title;
    button.addEventListener("click", () => sortBy(table, column));
    head.append(button);
  });
}

function makeSearchable(table: HTMLTableElement): void {
  const rows = [...table.tBodies[0].rows];
  // A shortened name has the whole one in its title.
  const texts = rows.map((row) => [row.textContent, ...[...row.querySelectorAll<HTMLElement>("code[title]")].map((name) => name.title)].join(" ").toLowerCase());
  const count = element("span", { className: "note", ariaLive: "polite" });
  let words: string[] = [];
  let only = "";
  const column = table.dataset.filter === undefined ? -1 : Number(table.dataset.filter);
  const apply = () => {
    let shown = 0;
    rows.forEach((row, i) => {
      const fits = words.every((word) => texts[i].includes(word)) && (only === "" || row.cells[column].textContent === only);
      row.hidden = !fits;
      if (fits) ++shown;
    });
    count.textContent =
      shown === rows.length ? tr("{0} rows", shown) : shown === 0 ? tr("Nothing fits.") : tr("{0} of {1} rows", shown, rows.length);
  };
  const field = element("input", { type: "search", placeholder: tr("Search…") });
  field.setAttribute("aria-label", tr("Search: {0}", table.caption?.textContent ?? tr("table")));
  field.addEventListener("input", () => {
    words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    apply();
  });
  const tools = element("div", { className: "tools" }, field);
  const values = column < 0 ? [] : [...new Set(rows.map((row) => row.cells[column].textContent ?? ""))];
  if (values.length > 1)
    tools.append(
      select(`${table.tHead!.rows[0].cells[column].textContent} `, [["", tr("all")], ...values.map((value): [string, string] => [value, value])], (value) => {
        only = value;
        apply();
      }),
    );
  tools.append(count);
  table.parentElement!.before(tools);
  apply();
}

export function enhanceTables(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("main table")) {
    if (table.dataset.search !== undefined) makeSearchable(table);
    // The rows of a waterfall follow from each other.
    if (!table.classList.contains("waterfall")) makeSortable(table);
  }
}
