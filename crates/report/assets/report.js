"use strict";
(() => {
  const main = document.querySelector("main");
  const from = Number(main.dataset.from);
  const span = Number(main.dataset.to) - from;

  // A path of absolute M, L, H, V commands as straight pieces: [x, y, x, y].
  const pieces = (path) => {
    const found = [];
    const dots = path.classList.contains("dots");
    let x = 0, y = 0;
    for (const [, command, a, b] of path.getAttribute("d").matchAll(/([MLHV])(\d+)(?: (\d+))?/g)) {
      const toX = command === "V" ? x : Number(a);
      const toY = command === "V" ? Number(a) : command === "H" ? y : Number(b);
      if (command === "L" || command === "H") found.push([x, y, toX, toY]);
      if (command === "M" && dots) found.push([toX - 6, toY, toX + 6, toY]);
      x = toX;
      y = toY;
    }
    return found;
  };

  const charts = [...document.querySelectorAll("figure.chart")].map((figure) => {
    const svg = figure.querySelector("svg.plot");
    const { top, bottom, low, high, factor, suffix } = svg.dataset;
    const cursor = document.createElementNS(svg.namespaceURI, "line");
    for (const [name, value] of [["class", "cursor"], ["y1", top], ["y2", bottom]]) cursor.setAttribute(name, value);
    svg.append(cursor);
    const lines = [...figure.querySelectorAll("td.at")].map((cell) => ({
      cell,
      pieces: [...svg.querySelectorAll(`path[data-line="${cell.dataset.line}"]:not(.area)`)].flatMap(pieces),
    }));
    const say = (y) => Number(((Number(low) + (1 - y / 1000) * (high - low)) / factor).toPrecision(3)) + suffix;
    return { svg, cursor, lines, say, head: figure.querySelector("th.at") };
  });

  const show = (share) => {
    const x = share * 2000;
    for (const { cursor, lines, say, head } of charts) {
      for (const end of ["x1", "x2"]) cursor.setAttribute(end, share * 100 + "%");
      if (head) head.textContent = new Date(from + share * span).toISOString().slice(11, 19);
      for (const { cell, pieces } of lines) {
        const piece = pieces.find(([begin, , end]) => x >= begin && x <= end);
        const part = piece && piece[2] > piece[0] ? (x - piece[0]) / (piece[2] - piece[0]) : 0;
        cell.textContent = piece ? say(piece[1] + part * (piece[3] - piece[1])) : "–";
      }
    }
    document.documentElement.classList.add("live");
  };

  for (const { svg } of charts) {
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      show(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)));
    });
    svg.addEventListener("pointerleave", () => document.documentElement.classList.remove("live"));
  }
})();
