"use strict";
// Makes lists and pictures of the served view move. All of it is there without this script.
(() => {
  // A list is narrowed as soon as something else is chosen.
  for (const form of document.querySelectorAll("form.filters[role=search]")) {
    for (const select of form.querySelectorAll("select")) select.addEventListener("change", () => form.requestSubmit());
  }

  // Two are compared: not one, not three.
  const choose = document.getElementById("choose");
  if (choose) {
    const button = choose.querySelector("button");
    const ticks = [...choose.querySelectorAll("input[type=checkbox]")];
    const count = () => {
      const ticked = ticks.filter((tick) => tick.checked).length;
      button.disabled = ticked !== 2;
      for (const tick of ticks) tick.disabled = ticked >= 2 && !tick.checked;
    };
    choose.addEventListener("change", count);
    addEventListener("pageshow", count);
  }

  const root = document.getElementById("charts");
  if (!root || !window.uPlot || !root.dataset.server) return;
  const said = document.getElementById("said");
  const view = { from: Number(root.dataset.from), to: Number(root.dataset.to), at: Number(root.dataset.at) || null };
  const [first, last] = [Number(root.dataset.first), Number(root.dataset.last)];
  const COLOURS = ["--c0", "--c1", "--c2", "--c3", "--c4"];
  const SHORTEST_MS = 10000;
  let charts = [], data = null, asked = null;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const clock = (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");
  const element = (name, attributes = {}, text = "") => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const address = (what, from = view.from, to = view.to, at = null) =>
    `${what}?server=${encodeURIComponent(root.dataset.server)}&from=${Math.round(from)}&to=${Math.round(to)}` +
    (at ? `&at=${Math.round(at)}` : "");

  // Steps of an axis of bytes, so that its labels are whole KiB, MiB, GiB.
  const BYTES = Array.from({ length: 60 }, (_, power) => 2 ** power);
  // Three digits and a unit that fits.
  const UNITS = {
    "seconds": [[1, " s"], [1e-3, " ms"], [1e-6, " µs"], [0, " ns", 1e-9]],
    "bytes": [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [0, " B", 1]],
    "per second": [[1e6, "M/s"], [1e3, "k/s"], [0, "/s", 1]],
    "count": [[1e6, "M"], [1e4, "k", 1e3], [0, "", 1]],
    "share": [[0, "%", 0.01]],
  };
  // A long time: two units where it stands alone, one on an axis. Nobody counts in hundredths of a minute.
  const LONG_TIMES = [[7200, " h", 3600], [120, " min", 60]];
  const STEPS = Array.from({ length: 18 }, (_, index) => [1, 2, 5][index % 3] * 10 ** Math.floor(index / 3));
  const longTime = (seconds) => {
    const [large, unit, rest, small] = seconds < 3600
      ? [Math.floor(seconds / 60), "min", seconds % 60, "s"]
      : [Math.floor(seconds / 3600), "h", Math.floor((seconds % 3600) / 60), "min"];
    return `${large} ${unit}` + (rest ? ` ${rest} ${small}` : "");
  };
  const say = (unit, value) => {
    if (value === null || value === undefined) return "–";
    if (unit === "seconds" && value >= 120) return longTime(Math.round(value));
    const [least, suffix, by] = (UNITS[unit] || UNITS.count).find(([least]) => Math.abs(value) >= least);
    const shown = Number((value / (by || least)).toPrecision(3));
    return value === 0 ? "0" : shown + suffix;
  };

  // What stands at a moment, beside each title.
  const tell = (seconds) => {
    for (const { plot, chart, at } of charts) {
      const [times] = plot.data;
      let index = plot.valToIdx(seconds);
      at.textContent = seconds === null || !times.length ? "" : new Date(seconds * 1000).toISOString().slice(11, 19) + "  " +
        chart.lines.map((line, number) => {
          const values = plot.data[plot.data.length - 1 - number];
          let near = index;
          while (near > 0 && values[near] === undefined) near -= 1;
          let value = values[near];
          // An area stands on those below it.
          if (chart.stacked && number > 0) value -= plot.data[plot.data.length - number][near] || 0;
          return (chart.lines.length > 1 ? line.label + " " : "") + say(chart.unit, value);
        }).join(", ");
    }
  };

  const bands = (plot, chart) => {
    const { ctx, bbox } = plot;
    const x = (ms) => plot.valToPos(ms / 1000, "x", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = colour("--band");
    for (const stall of data.stalls) {
      const begin = x(stall.from_ms);
      ctx.fillRect(begin, bbox.top, Math.max(2 * devicePixelRatio, x(stall.to_ms || stall.from_ms) - begin), bbox.height);
    }
    ctx.lineWidth = devicePixelRatio;
    const upright = (ms, ink, height) => {
      ctx.strokeStyle = ink;
      ctx.beginPath();
      ctx.moveTo(x(ms), bbox.top);
      ctx.lineTo(x(ms), bbox.top + height);
      ctx.stroke();
    };
    for (const seconds of chart.failed) upright(seconds * 1000, colour("--trigger"), bbox.height / 12);
    if (view.at) upright(view.at, colour("--link"), bbox.height);
    if (chart.level) {
      const y = plot.valToPos(chart.level.value, "y", true);
      ctx.strokeStyle = colour("--ink");
      ctx.setLineDash([6 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    ctx.restore();
  };

  const draw = (chart, index, count) => {
    // Times stand above the first and below the last one.
    const [isFirst, isLast] = [index === 0, index === count - 1];
    const strip = element("div", { class: "strip" });
    const head = strip.appendChild(element("p"));
    head.append(element("b", {}, chart.title), " ", element("span", {}, chart.says), " ");
    const named = chart.lines.length > 1;
    chart.lines.forEach((line, index) => {
      if (!named) return;
      const key = head.appendChild(element("span", { class: "key" }));
      key.append(element("i", { class: `swatch c${index}` }), line.label);
    });
    if (chart.level && chart.level.name) {
      const key = head.appendChild(element("span", { class: "key" }));
      key.append(element("i", { class: "swatch level" }), chart.level.name);
    }
    if (chart.failed.length) {
      const key = head.appendChild(element("span", { class: "key" }));
      key.append(element("i", { class: "swatch failed" }), `${chart.failed.length} without an answer`);
    }
    head.append(" ");
    const at = head.appendChild(element("span", { class: "at" }));
    const box = strip.appendChild(element("div", { class: "plot", tabindex: "0", role: "img", "aria-label": `${chart.title}: ${chart.says}` }));
    root.querySelector("figure").append(strip);
    // The last line is drawn first: areas stand on each other.
    const lines = [...chart.lines].reverse();
    const most = Math.max(chart.level ? chart.level.value : 0, ...lines.flatMap((line) => line.v.map((value) => value || 0)));
    const long = chart.unit === "seconds" ? LONG_TIMES.find(([least]) => most >= least) : undefined;
    const joined = uPlot.join(lines.map((line) => [line.t, line.v]));
    const ink = (name) => ({ stroke: () => colour(name), grid: { stroke: () => colour("--grid"), width: 1 }, ticks: { stroke: () => colour("--grid"), width: 1, size: 4 }, font: "11px system-ui" });
    const plot = new uPlot({
      width: Math.max(box.clientWidth, 200),
      height: isFirst || isLast ? 100 : 78,
      padding: [isFirst ? 0 : 4, 20, isLast ? 0 : 6, 0],
      legend: { show: false },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
      cursor: { sync: { key: "time" }, y: false, points: { size: 5 }, drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => { zoom(2.5); return null; } } },
      scales: { x: { time: true, range: () => [view.from / 1000, view.to / 1000] }, y: { range: () => [0, most > 0 ? most * 1.06 : 1] } },
      axes: [
        { ...ink("--soft"), show: isFirst || isLast, side: isLast ? 2 : 0, size: 22, values: [[86400, "{MM}-{DD}", null, null, null, null, null, null, 1], [60, "{HH}:{mm}", null, null, null, null, null, null, 1], [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1]] },
        { ...ink("--soft"), size: 54, space: 28, incrs: chart.unit === "bytes" ? BYTES : long && STEPS.map((step) => step * long[2]), values: (_, ticks) => ticks.map((tick) => (long && tick ? tick / long[2] + long[1] : say(chart.unit, tick))) },
      ],
      series: [{}, ...lines.map((line, drawn) => {
        const own = COLOURS[(lines.length - 1 - drawn) % COLOURS.length];
        const isArea = chart.stacked || lines.length === 1;
        return {
          stroke: () => colour(own), width: 1.3, points: { show: false }, spanGaps: false,
          fill: isArea ? () => (chart.stacked ? `color-mix(in srgb, ${colour(own)} 45%, ${colour("--card")})` : `color-mix(in srgb, ${colour(own)} 14%, transparent)`) : undefined,
          paths: line.steps ? uPlot.paths.stepped({ align: -1 }) : uPlot.paths.linear(),
        };
      })],
      hooks: {
        draw: [(plot) => bands(plot, chart)],
        setCursor: [(plot) => { if (plot.cursor.left >= 0 && plot.cursor.event) tell(plot.posToVal(plot.cursor.left, "x")); else if (plot.cursor.left < 0) tell(view.at ? view.at / 1000 : null); }],
        setSelect: [(plot) => {
          const { left, width } = plot.select;
          if (width < 4) return;
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          go(plot.posToVal(left, "x") * 1000, plot.posToVal(left + width, "x") * 1000);
        }],
        ready: [(plot) => plot.over.addEventListener("click", (event) => {
          view.at = Math.round(plot.posToVal(event.offsetX, "x") * 1000);
          remember(false);
          // A finger does not move before it taps.
          tell(view.at / 1000);
          for (const chart of charts) chart.plot.redraw(false);
        })],
      },
    }, joined, box);
    box.addEventListener("keydown", (event) => {
      const act = { ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), "+": () => zoom(0.4), "=": () => zoom(0.4), "-": () => zoom(2.5) }[event.key];
      if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      act();
    });
    charts.push({ plot, chart, at, box });
  };

  // Incidents above the first chart, each a link.
  const flag = (figure) => {
    const row = figure.appendChild(element("div", { class: "flags" }));
    let free = 0;
    for (const stall of data.stalls) {
      const place = (stall.from_ms - view.from) / (view.to - view.from) * 100;
      if (!stall.incident || place < free || place > 100) continue;
      const link = row.appendChild(element("a", { href: `incident/${encodeURIComponent(stall.incident)}`, title: `${clock(stall.from_ms)} UTC: ${stall.title}` }, stall.title));
      // Where there is more room, and not beyond the edge.
      const before = place / 100 * row.clientWidth, behind = row.clientWidth - before;
      const isBefore = behind < 230 && before > behind;
      link.style[isBefore ? "right" : "left"] = `${isBefore ? 100 - place : place}%`;
      link.classList.toggle("left", isBefore);
      link.style.maxWidth = `min(34ch, ${Math.floor(isBefore ? before : behind)}px)`;
      free = place + 240 / row.clientWidth * 100;
    }
  };

  const show = () => {
    for (const { plot } of charts) plot.destroy();
    charts = [];
    const figure = element("figure", { class: "timeline", "aria-label": "Signals over time; the numbers stand below" });
    root.replaceChildren(figure);
    flag(figure);
    data.charts.forEach((chart, index) => draw(chart, index, data.charts.length));
    if (!data.charts.length) figure.remove();
    if (view.at) tell(view.at / 1000);
  };

  const remember = (isNew) => {
    const here = address("history", view.from, view.to, view.at);
    history[isNew ? "pushState" : "replaceState"]({ ...view }, "", here);
    for (const [id, from, to] of [["earlier", -0.5, -0.5], ["later", 0.5, 0.5], ["in", 0.3, -0.3], ["out", -0.75, 0.75]]) {
      const span = view.to - view.from;
      document.getElementById(id).href = address("history", view.from + from * span, view.to + to * span);
    }
    for (const name of ["from", "to"]) document.querySelector(`.tools [name=${name}]`).value = clock(view[name]);
  };

  const load = async () => {
    if (asked) asked.abort();
    asked = new AbortController();
    root.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address("api/history"), { signal: asked.signal, credentials: "omit" });
      if (!answer.ok) throw new Error((await answer.text()).slice(0, 200));
      data = await answer.json();
      said.textContent = data.says;
      document.getElementById("silent").textContent = data.silent;
      show();
      stalls();
    } catch (error) {
      if (error.name !== "AbortError") said.textContent = `Cannot be read: ${error.message}`;
    } finally {
      root.removeAttribute("aria-busy");
    }
  };

  const stalls = () => {
    const section = document.getElementById("stalls");
    const list = element("ul", { class: "stalls" });
    for (const stall of data.stalls) {
      const item = list.appendChild(element("li"));
      const length = stall.lasts || "end unknown";
      item.append(element("time", { datetime: new Date(stall.from_ms).toISOString() }, clock(stall.from_ms)), `, ${length}: `);
      item.append(stall.incident ? element("a", { href: `incident/${encodeURIComponent(stall.incident)}` }, stall.title) : `${stall.title} (not captured)`);
    }
    section.replaceChildren(element("h2", {}, "Stalls in this time"), data.stalls.length ? list : element("p", { class: "none" }, "None was noticed."));
  };

  const go = (from, to, isNew = true) => {
    const middle = (from + to) / 2, half = Math.max(to - from, SHORTEST_MS) / 2;
    Object.assign(view, { from: Math.round(middle - half), to: Math.round(middle + half) });
    remember(isNew);
    return load();
  };
  const pan = (share) => go(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
  const zoom = (times) => {
    const middle = (view.from + view.to) / 2, half = (view.to - view.from) / 2 * times;
    return go(Math.max(middle - half, Math.min(first, view.from)), Math.min(middle + half, Math.max(last, view.to)));
  };

  for (const [id, act] of [["earlier", () => pan(-0.5)], ["later", () => pan(0.5)], ["in", () => zoom(0.4)], ["out", () => zoom(2.5)]]) {
    document.getElementById(id).addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      act();
    });
  }
  const copy = document.getElementById("copy");
  copy.hidden = !navigator.clipboard;
  copy.addEventListener("click", async () => {
    // Whoever is given the link gives his own token: a token in a chat is there for good.
    await navigator.clipboard.writeText(location.href.replace(/\/t\/[\w-]+\//, "/"));
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy link"; }, 2000);
  });
  document.getElementById("keys").hidden = false;
  addEventListener("popstate", (event) => { if (event.state) { Object.assign(view, event.state); remember(false); load(); } });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width && data) { width = innerWidth; show(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (data) show(); });
  remember(false);
  load();
})();
