"use strict";
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  all("time[datetime]").forEach((time) => {
    const moment = new Date(time.dateTime);
    if (!isNaN(moment)) time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  });
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    opened.forEach((one) => (one.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((one) => (one.open = false)));
})();
