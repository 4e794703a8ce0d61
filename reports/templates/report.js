"use strict";
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const show = document.getElementById("show");
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  };
  all(".tools").forEach((bar) => (bar.hidden = false));
  all("[data-open]").forEach((button) =>
    button.addEventListener("click", () => all("details").forEach((one) => (one.open = button.dataset.open === "1"))),
  );
  show.addEventListener("change", () => {
    all("tr[data-o]").forEach((row) => (row.hidden = show.value !== "" && row.dataset.o !== show.value));
    all(".findings tbody").forEach((group) => (group.hidden = !group.querySelector("tr[data-o]:not([hidden])")));
  });
  addEventListener("hashchange", reveal);
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    opened.forEach((one) => (one.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((one) => (one.open = false)));
  if (location.hash) reveal();
})();
