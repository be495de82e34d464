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

  // As the texts say it: nobody counts in hundredths of a minute.
  const longTime = (seconds) => {
    const [large, unit, rest, small] = seconds < 3600
      ? [Math.floor(seconds / 60), "min", seconds % 60, "s"]
      : [Math.floor(seconds / 3600), "h", Math.floor((seconds % 3600) / 60), "min"];
    return `${large} ${unit}` + (rest ? ` ${rest} ${small}` : "");
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
    const say = (y) => {
      const value = Number(low) + (1 - y / 1000) * (high - low);
      const isLong = (suffix === " min" || suffix === " h") && value >= 120;
      return isLong ? longTime(Math.round(value)) : Number((value / factor).toPrecision(3)) + suffix;
    };
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

  // Seconds of the map, for the flame graphs: dragged over the picture, or by two sliders and their keys.
  for (const figure of document.querySelectorAll("figure.seconds")) {
    const picture = figure.querySelector("svg.heat");
    if (!picture || !document.querySelector("figure.flame")) continue;
    const begin = Number(figure.dataset.begin);
    const last = Math.max(1, Math.ceil(span / 1000));
    const make = (tag, attributes, ...children) => {
      const element = document.createElement(tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      element.append(...children);
      return element;
    };
    const slider = (label, value) => make("input", { type: "range", min: 0, max: last, value, "aria-label": label });
    const since = slider("First second of the flame graph", 0);
    const until = slider("Last second of the flame graph", last);
    const whole = make("button", { type: "button" }, "Whole stall");
    const output = make("output", {});
    const tools = make("p", { class: "seconds-tools" }, "Flame graph from ", since, " to ", until, " ", output, " ", whole);
    figure.append(tools);
    const mark = document.createElementNS(picture.namespaceURI, "rect");
    for (const [name, value] of [["class", "chosen"], ["y", 0], ["height", "100%"]]) mark.setAttribute(name, value);
    const clock = (second) => new Date(from + second * 1000).toISOString().slice(11, 19);
    const choose = (one, other) => {
      const [first, end] = one < other ? [one, other] : [other, one];
      const all = first <= 0 && end >= last;
      since.value = first;
      until.value = end;
      mark.remove();
      if (!all) {
        mark.setAttribute("x", 100 * first * 1000 / span + "%");
        mark.setAttribute("width", 100 * Math.max(end - first, 0.2) * 1000 / span + "%");
        picture.append(mark);
      }
      output.textContent = all ? "the whole stall" : `${clock(first)} to ${clock(end)}`;
      for (const slider of [since, until]) slider.setAttribute("aria-valuetext", clock(Number(slider.value)));
      const detail = all ? null : { from: begin + first * 1000, to: begin + end * 1000, words: output.textContent };
      document.dispatchEvent(new CustomEvent("seconds", { detail }));
      // What they choose is to be seen.
      if (!all) document.querySelector("figure.flame").closest("details.section")?.setAttribute("open", "");
    };
    for (const slider of [since, until]) slider.addEventListener("input", () => choose(Number(since.value), Number(until.value)));
    whole.addEventListener("click", () => choose(0, last));
    const second = (event) => {
      const box = picture.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * span / 1000;
    };
    let pressed = null;
    picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pressed = second(event);
      picture.setPointerCapture(event.pointerId);
      choose(Math.floor(pressed), Math.floor(pressed) + 1);
      event.preventDefault();
    });
    picture.addEventListener("pointermove", (event) => {
      if (pressed === null) return;
      const here = second(event);
      choose(Math.floor(Math.min(pressed, here)), Math.ceil(Math.max(pressed, here)));
    });
    for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => { pressed = null; });
    choose(0, last);
  }
})();
