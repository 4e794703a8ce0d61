"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, act) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (act) {
      made.type = "button";
      made.addEventListener("click", act);
    }
    return made;
  };

  // Times in the reader's zone, with UTC on hover.
  all("time[datetime]").forEach((time) => {
    const moment = new Date(time.dateTime);
    if (!isNaN(moment)) time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  });

  // Filters: what does not fit is hidden on the screen, and printed all the same.
  const filters = { o: byId("show-o"), b: byId("show-b"), t: byId("show-t") };
  const sift = () => {
    const fits = (one) => Object.entries(filters).every(([name, { value }]) => !value || one.dataset[name] === value);
    all("[data-o]").forEach((one) => one.classList.toggle("off", !fits(one)));
    all(".kind, .probe").forEach((group) => {
      const parts = all("[data-o]", group);
      group.classList.toggle("off", parts.length > 0 && parts.every((one) => one.classList.contains("off")));
    });
    const rows = all(".findings tbody tr");
    const left = rows.filter((row) => !row.classList.contains("off")).length;
    byId("shown").textContent = left === rows.length ? `${left} claims` : `${left} of ${rows.length} claims`;
  };
  const unsift = () => {
    Object.values(filters).forEach((one) => (one.value = ""));
    sift();
  };
  if (filters.o) {
    Object.values(filters).forEach((one) => one.addEventListener("change", sift));
    unsift();
  }

  // Sorting: by number in the columns that hold some; what is unknown comes last.
  const sortable = document.querySelector(".findings");
  const sort = (heading, place) => {
    const up = heading.getAttribute("aria-sort") !== "ascending";
    all("thead th", sortable).forEach((one) => one.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const numeric = "n" in heading.dataset;
    const key = (row) => {
      const cell = row.children[place];
      const words = cell.textContent.trim();
      return numeric ? parseFloat(cell.dataset.v ?? words.replaceAll(",", "").replace("\u2212", "-")) : words;
    };
    const compare = (a, b) => (numeric ? a - b : a.localeCompare(b, undefined, { numeric: true }));
    const rows = [...sortable.tBodies[0].rows].map((row) => [key(row), row]);
    const unknown = (value) => numeric && isNaN(value);
    rows.sort(([a], [b]) => unknown(a) - unknown(b) || (unknown(a) ? 0 : up ? compare(a, b) : compare(b, a)));
    sortable.tBodies[0].append(...rows.map(([, row]) => row));
  };
  // The table stays one for screen readers where a narrow screen shows its rows as cards.
  const roles = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };
  const role = (one) => roles[one.tagName] ?? (one.scope === "col" ? "columnheader" : one.scope === "row" ? "rowheader" : "");
  if (sortable) {
    [sortable, ...all("thead, tbody, tr, th, td", sortable)].forEach((one) => one.setAttribute("role", role(one)));
    all("thead th", sortable).forEach((heading, place) => {
      const [word, ...rest] = heading.childNodes;
      const button = make("button", word.textContent, () => sort(heading, place));
      button.append(...rest);
      heading.replaceChildren(button);
    });
  }

  // Every claim and case has a place of its own.
  const link = (id, words) => {
    const made = make("a", words);
    made.href = `#${id}`;
    made.className = "here";
    return made;
  };
  all("article[id]").forEach((one) => {
    const made = link(one.id, "#");
    made.ariaLabel = "Permanent link to this claim";
    one.querySelector("h4").append(made);
  });

  // Cases: long texts fold, the command can be copied.
  const copy = async (button, text, from) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren(from);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
  };
  const fold = (text) => {
    const words = `Show all ${text.textContent.length.toLocaleString()} characters`;
    const button = make("button", words, () => {
      const folded = text.classList.toggle("fold");
      button.setAttribute("aria-expanded", String(!folded));
      button.textContent = folded ? words : "Show less";
    });
    button.setAttribute("aria-expanded", "false");
    button.className = "more";
    text.classList.add("fold");
    text.after(button);
  };
  const ready = (one) => {
    if (one.dataset.ready) return;
    one.dataset.ready = "1";
    all("pre.long", one).forEach(fold);
    all(".again", one).forEach((line) => {
      const code = line.querySelector("code");
      const button = make("button", "Copy as command", () => copy(button, code.textContent, code));
      line.append(button, link(one.id, "Link to this case"));
    });
  };
  const details = all("details");
  details.forEach((one) => one.addEventListener("toggle", () => one.open && ready(one)));

  // From case to case, by keys and buttons.
  const cases = all("details.case");
  let at = -1;
  const seen = (one) => !one.closest(".off");
  const go = (step) => {
    const focused = cases.indexOf(document.activeElement?.closest?.("details.case"));
    let next = focused >= 0 ? focused : at;
    do next += step;
    while (cases[next] && !seen(cases[next]));
    if (!cases[next]) return;
    if (cases[at]) cases[at].open = false;
    at = next;
    const one = cases[at];
    one.open = true;
    ready(one);
    one.querySelector("summary").focus({ preventScroll: true });
    one.scrollIntoView({ block: "start" });
    history.replaceState(null, "", `#${one.id}`);
    byId("place").textContent = `Case ${at + 1} of ${cases.length}`;
  };
  all("[data-go]").forEach((button) => button.addEventListener("click", () => go(Number(button.dataset.go))));
  addEventListener("keydown", (event) => {
    const step = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[event.key];
    const typing = event.target.closest?.("input:not([type=checkbox]), select, textarea, .wide");
    if (!step || typing || event.ctrlKey || event.metaKey || event.altKey || !byId("keys").checked) return;
    event.preventDefault();
    go(step);
  });
  all("[data-open]").forEach((button) =>
    button.addEventListener("click", () => cases.forEach((one) => (one.open = button.dataset.open === "1"))),
  );

  // A link opens what it leads to.
  const reveal = () => {
    const target = byId(location.hash.slice(1));
    if (!target) return;
    if (target.closest(".off")) unsift();
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    if (cases.includes(target)) at = cases.indexOf(target);
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);

  // On paper everything is open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = details.filter((one) => !one.open);
    opened.forEach((one) => (one.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((one) => (one.open = false)));

  all(".tools").forEach((bar) => (bar.hidden = false));
  if (location.hash) reveal();
})();
