"use strict";
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  all("time[datetime]").forEach((time) => {
    const moment = new Date(time.dateTime);
    if (!isNaN(moment)) time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  });
  const find = document.getElementById("find");
  if (find) {
    find.parentElement.hidden = false;
    const rows = all(".flip, .bare");
    const search = () => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const group of all(".group")) {
        const key = group.querySelector("summary").textContent.toLowerCase();
        let here = 0;
        for (const row of group.querySelectorAll(".flip, .bare")) {
          const text = `${key} ${row.textContent.toLowerCase()}`;
          row.hidden = !words.every((word) => text.includes(word));
          here += row.hidden ? 0 : 1;
        }
        group.hidden = !here;
        if (words.length && here) group.open = true;
        left += here;
      }
      document.getElementById("shown").textContent = `${left} of ${rows.length}`;
    };
    find.addEventListener("input", search);
  }
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details.group:not([open])");
    opened.forEach((one) => (one.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((one) => (one.open = false)));
})();
