"use strict";
// Hover, tap or arrow keys show the row of a point; the legend highlights a class.
(() => {
  const figure = document.getElementById("map-figure");
  if (!figure) return;
  const columns = JSON.parse(document.getElementById("map-rows").textContent);
  const [svg, here, tip] = [".drawn", ".here", ".tip"].map((name) => figure.querySelector(name));
  const groups = [...svg.querySelectorAll("[id^=map-class-]")]; // map-class-CLASS-NUMBER
  const mark = (group) => group.id.split("-")[2];
  const points = groups.flatMap((group) => [...group.querySelectorAll("use")].map((use) => ({
    x: use.x.baseVal.value,
    y: use.y.baseVal.value,
    mark: mark(group),
  })));
  const orders = ["x", "y"].map((axis) =>
    points.map((_, k) => k).sort((a, b) => points[a][axis] - points[b][axis] || a - b));
  let [current, only, pinned] = [-1, null, null];

  function element(name, text) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function show(k) {
    if (k === current && !tip.hidden) return;
    current = k;
    const list = element("dl");
    columns.forEach(([name, codes, texts], place) => {
      const text = texts[codes.length ? codes[k] : k];
      if (!text && place < 4) return;
      const [left, right] = [element("dt"), element("dd")];
      left.append(element("bdi", name));
      right.append(element("bdi", text || "–"));
      list.append(left, right);
    });
    tip.replaceChildren(list);
    tip.hidden = here.hidden = false;
    // Beside the point, inside of the figure.
    const [box, frame] = [svg.getBoundingClientRect(), figure.getBoundingClientRect()];
    const scale = box.width / svg.viewBox.baseVal.width;
    const [x, y] = [points[k].x * scale + box.left - frame.left, points[k].y * scale + box.top - frame.top];
    here.style.translate = `${x}px ${y}px`;
    const left = x + 14 + tip.offsetWidth <= frame.width ? x + 14 : x - 14 - tip.offsetWidth;
    tip.style.left = Math.max(0, Math.min(left, frame.width - tip.offsetWidth)) + "px";
    tip.style.top = (left < 0 ? y + 16 : Math.max(0, y - tip.offsetHeight / 2)) + "px";
  }
  function hide() {
    tip.hidden = here.hidden = true;
  }
  function nearest(event, reach) {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    let [best, least] = [-1, (reach * scale) ** 2];
    points.forEach((point, k) => {
      const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (distance <= least && (only === null || only === point.mark)) [best, least] = [k, distance];
    });
    return best;
  }
  function point(event) {
    const k = nearest(event, event.pointerType === "mouse" ? 12 : 24);
    if (k < 0) hide();
    else show(k);
  }
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse" && document.activeElement !== svg) hide();
  });
  svg.addEventListener("focus", () => {
    if (svg.matches(":focus-visible")) show(Math.max(current, 0));
  });
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const way = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, -1], ArrowDown: [1, 1] }[event.key];
    if (event.key === "Escape") hide();
    if (!way) return;
    event.preventDefault();
    const order = orders[way[0]].filter((k) => only === null || only === points[k].mark);
    const at = order.indexOf(current);
    show(order[at < 0 ? 0 : Math.max(0, Math.min(order.length - 1, at + way[1]))]);
  });
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application");

  function highlight(chosen) {
    only = chosen;
    for (const group of groups)
      group.style.opacity = chosen === null || mark(group) === chosen ? "" : "0.08";
  }
  for (const entry of figure.querySelectorAll("[data-mark]")) {
    const code = entry.dataset.mark;
    entry.tabIndex = 0;
    entry.setAttribute("role", "button");
    entry.setAttribute("aria-pressed", "false");
    const toggle = () => {
      pinned = pinned === code ? null : code;
      for (const other of figure.querySelectorAll("[data-mark]"))
        other.setAttribute("aria-pressed", String(other.dataset.mark === pinned));
      highlight(pinned);
    };
    entry.addEventListener("click", toggle);
    entry.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle();
    });
    for (const name of ["pointerenter", "focus"]) entry.addEventListener(name, () => highlight(code));
    for (const name of ["pointerleave", "blur"]) entry.addEventListener(name, () => highlight(pinned));
  }
  figure.classList.add("live");
})();
