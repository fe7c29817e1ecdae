// A table that sorts, filters, opens a row, and shows a first part until asked for all.

class DataTable {
  /**
   * `columns`: {head, title, value(row) for sorting, cell(row) -> text or element, number, wide}; `text(row)` is what
   * the filter looks through; `detail(row)` gives the elements under an opened row; `sort`: [column, direction].
   */
  constructor(root, { name, columns, rows, text, detail = null, sort = [0, 1], page = 20, noun = "row" }) {
    Object.assign(this, { root, name, columns, rows, text, detail, page, noun });
    [this.sorted, this.direction] = sort;
    this.all = false;
    this.words = "";
    this.opened = new Set();
    this.#build();
    this.draw();
  }

  #build() {
    this.filter = element("input", {
      type: "search", placeholder: `Filter ${this.noun}s`, "aria-label": `Filter the table of ${this.name}`,
      autocomplete: "off", spellcheck: "false",
      oninput: () => {
        this.words = this.filter.value.trim().toLowerCase();
        this.draw();
      },
    });
    this.count = element("span", { class: "count", role: "status" });
    const heads = this.columns.map((column, at) => {
      const button = element("button", { type: "button", title: column.title, onclick: () => this.sort(at) }, column.head);
      return element("th", { scope: "col", class: classes(column) }, button);
    });
    this.heads = heads;
    this.body = element("tbody");
    this.more = element("button", {
      type: "button", class: "more",
      onclick: () => {
        this.all = !this.all;
        this.draw();
      },
    });
    const table = element(
      "table", {},
      element("caption", { class: "unseen" }, this.name),
      element("thead", {}, element("tr", {}, ...heads)),
      this.body,
    );
    this.root.replaceChildren(
      element("div", { class: "table-tools", hidden: this.rows.length < 6 }, this.filter, this.count),
      element("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": this.name }, table),
      this.more,
    );
  }

  sort(column) {
    if (column === this.sorted) this.direction = -this.direction;
    else [this.sorted, this.direction] = [column, this.columns[column].number ? -1 : 1];
    this.draw();
  }

  draw() {
    const words = this.words.split(/\s+/).filter(Boolean);
    const kept = this.rows.filter((row) => {
      if (!words.length) return true;
      const text = this.text(row).toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const { value } = this.columns[this.sorted];
    const sorted = kept
      .map((row) => [value(row), row])
      .sort(([a], [b]) => {
        // What has no value stays last, whichever way the others run.
        if (a == null || b == null) return (a == null) - (b == null);
        return (a < b ? -1 : a > b ? 1 : 0) * this.direction;
      })
      .map(([, row]) => row);
    this.heads.forEach((head, at) => {
      if (at === this.sorted) head.setAttribute("aria-sort", this.direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    const shown = this.all ? sorted : sorted.slice(0, this.page);
    this.body.replaceChildren(...shown.flatMap((row) => this.#row(row)));
    if (!shown.length) {
      this.body.append(element("tr", {}, element("td", { colspan: this.columns.length, class: "quiet" }, "Nothing matches.")));
    }
    this.count.textContent = words.length ? `${numberText(kept.length)} of ${numberText(this.rows.length)}` : "";
    this.more.hidden = sorted.length <= this.page;
    this.more.textContent = this.all ? `Show the first ${this.page}` : `Show all ${countText(sorted.length, this.noun)}`;
  }

  #row(row) {
    const open = this.opened.has(row);
    const cells = this.columns.map((column, at) => {
      const content = column.cell(row);
      if (at > 0) return element("td", { class: classes(column) }, content);
      const head = element("th", { scope: "row", class: classes(column) });
      if (!this.detail) head.append(content);
      else {
        const button = element("button", { type: "button", class: "opener", "aria-expanded": String(open) }, content);
        button.addEventListener("click", () => {
          if (open) this.opened.delete(row);
          else this.opened.add(row);
          this.draw();
          this.body.querySelectorAll(".opener")[[...this.body.querySelectorAll("tr.row")].findIndex((tr) => tr.row === row)]?.focus();
        });
        head.append(button);
      }
      return head;
    });
    const line = element("tr", { class: "row" }, ...cells);
    line.row = row;
    if (!open) return [line];
    const detail = element("td", { colspan: this.columns.length }, ...this.detail(row));
    return [line, element("tr", { class: "detail" }, detail)];
  }
}

function classes(column) {
  return [column.number && "number", column.wide && "wide", column.kind].filter(Boolean).join(" ") || null;
}

/** A bar for a share (0 to 1) behind a text. */
function barCell(share, text, color = "bar") {
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", `${(100 * Math.max(0, Math.min(1, share))).toFixed(1)}%`);
  bar.style.setProperty("--bar-color", `var(--${color})`);
  return element("span", { class: "bar-cell" }, bar, element("span", {}, text));
}
