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
    all(".probe").forEach((group) => {
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

  // Flips: search and filters; what is left is counted, and a search opens what it finds.
  const find = byId("find");
  const words = new WeakMap();
  const read = (one) => {
    if (!words.has(one)) words.set(one, (one.querySelector("summary") ?? one).textContent.toLowerCase());
    return words.get(one);
  };
  const lines = all("#flips .case");
  const winnow = () => {
    const sought = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [bias, word] = [byId("flip-b").value, byId("flip-w").value];
    const chosen = sought.length > 0 || bias !== "" || word !== "";
    let left = 0;
    lines.forEach((one) => {
      const here = !bias || one.closest(".group").dataset.g === bias;
      const fits = here && (!word || one.dataset.w === word) && sought.every((part) => read(one).includes(part));
      one.classList.toggle("off", !fits);
      left += fits;
    });
    all("#flips .group, #flips .rest").forEach((group) => {
      const any = !!group.querySelector(".case:not(.off)");
      group.classList.toggle("off", !any);
      if (chosen && any) group.open = true;
    });
    byId("flipped").textContent = left === lines.length ? `${left} rows` : `${left} of ${lines.length} rows`;
  };
  const all_flips = () => {
    [find, byId("flip-b"), byId("flip-w")].forEach((one) => (one.value = ""));
    winnow();
  };
  if (find) {
    let waiting = 0;
    find.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(winnow, 120);
    });
    [byId("flip-b"), byId("flip-w")].forEach((one) => one.addEventListener("change", winnow));
    all_flips();
  }

  // Sorting: by number in the columns that hold some; what is unknown comes last.
  const sort = (table, heading, place) => {
    const up = heading.getAttribute("aria-sort") !== "ascending";
    all("thead th", table).forEach((one) => one.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const numeric = "n" in heading.dataset;
    const key = (row) => {
      const cell = row.children[place];
      const words = cell.textContent.trim();
      return numeric ? parseFloat(cell.dataset.v ?? words.replaceAll(",", "").replace("\u2212", "-")) : words;
    };
    const compare = (a, b) => (numeric ? a - b : a.localeCompare(b, undefined, { numeric: true }));
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
    const unknown = (value) => numeric && isNaN(value);
    rows.sort(([a], [b]) => unknown(a) - unknown(b) || (unknown(a) ? 0 : up ? compare(a, b) : compare(b, a)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };
  // A table stays one for screen readers where a narrow screen shows its rows as cards.
  const roles = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };
  const role = (one) => roles[one.tagName] ?? (one.scope === "col" ? "columnheader" : one.scope === "row" ? "rowheader" : "");
  all(".findings").forEach((table) => {
    [table, ...all("thead, tbody, tr, th, td", table)].forEach((one) => one.setAttribute("role", role(one)));
    all("thead th:not(.axis)", table).forEach((heading) => {
      const [word, ...rest] = heading.childNodes;
      const button = make("button", word.textContent, () => sort(table, heading, heading.cellIndex));
      button.append(...rest);
      heading.replaceChildren(button);
    });
  });

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
  const copyable = (line) => {
    const code = line.querySelector("code");
    const button = make("button", "Copy as command", () => copy(button, code.textContent, code));
    line.append(button);
  };
  const ready = (one) => {
    if (one.dataset.ready) return;
    one.dataset.ready = "1";
    all("pre.long", one).forEach(fold);
    all(".again", one).forEach((line) => {
      copyable(line);
      line.append(link(one.id, "Link to this case"));
    });
  };
  const cases = all("details.case");
  cases.forEach((one) => one.addEventListener("toggle", () => one.open && ready(one)));
  all(":is(#about, #whole, .witness) pre.long").forEach(fold);
  all(":is(.steps, .others) .again").forEach(copyable);

  // From case to case, by keys and buttons.
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
    for (let outer = one; outer; outer = outer.parentElement) if (outer.tagName === "DETAILS") outer.open = true;
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
  // A link opens what it leads to.
  const reveal = () => {
    const target = byId(location.hash.slice(1));
    if (!target) return;
    if (target.closest("#flips .off")) all_flips();
    else if (target.closest(".off")) unsift();
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    if (cases.includes(target)) at = cases.indexOf(target);
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);

  // On paper: two pages, and the flips where they are asked for; the style sheet hides the rest.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all(byId("appendix") ? "#flips .group, #flips .rest" : "details").filter((one) => !one.open);
    opened.forEach((one) => (one.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((one) => (one.open = false)));

  all(".tools").forEach((bar) => (bar.hidden = false));
  if (location.hash) reveal();
})();
