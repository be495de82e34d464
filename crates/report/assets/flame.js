"use strict";
// Draws every <figure class="flame">: its data is the JSON element inside it. Nodes come in the
// order of a walk from the root, the heaviest child first, so a subtree is a range of indexes.
(() => {
  const ROW = 19; // height of a frame, CSS pixels
  const THIN = 0.5; // frames below this width are counted and not drawn
  const PIXELS_MAX = 24e6; // bound on the canvas's memory, 4 bytes each
  const FULL_CHANGE = 3; // doublings at which the colour of a change is full
  const NOTED_CHANGE = 0.005; // share; changes from here on stand on their frames
  const KINDS = ["user", "kernel", "server", "other", "folded", "cut", "all"];
  const KIND_WORDS = ["user", "kernel", "thread of the server", "thread of another program", "rare frames put together", "", ""];

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const percent = (share) => (share === 0 ? "0 %" : (100 * share).toFixed(share < 0.0995 ? 2 : 1) + " %");
  const points = (change) => (change < 0 ? "−" : "+") + Math.abs(100 * change).toFixed(Math.abs(change) < 0.0995 ? 2 : 1);
  const grouped = (number) => Math.round(number).toLocaleString("en-US");

  const read = (figure) => {
    const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const count = data.frame.length;
    const parent = new Int32Array(count), end = new Int32Array(count), depth = new Int32Array(count);
    for (let i = 0; i < count; i++) {
      parent[i] = i - data.up[i];
      depth[i] = i === 0 ? 0 : depth[parent[i]] + 1;
      end[i] = i + 1;
    }
    for (let i = count - 1; i > 0; i--) end[parent[i]] = Math.max(end[parent[i]], end[i]);
    // A side: what each node took, what of it was its own, and where it begins.
    const side = (values, total, perSample) => {
      const own = Float64Array.from(values), start = new Float64Array(count), next = new Float64Array(count);
      for (let i = 1; i < count; i++) {
        own[parent[i]] -= values[i];
        start[i] = next[i] = next[parent[i]];
        next[parent[i]] += values[i];
      }
      return { values, own, start, total, perSample, share: (i) => (total > 0 ? values[i] / total : 0) };
    };
    const sides = data.values.map((values, n) => side(values, data.totals[n], data.perSample[n]));
    const last = sides.length - 1;
    const whole = sides[last];
    const length = (parts) => parts.reduce((sum, part) => sum + part[1] - part[0], 0);
    // The last side of some seconds alone: of the parts whose middle lies in them.
    const choose = (seconds) => {
      const parts = data.parts.filter(([from, to]) => seconds && (from + to) / 2 >= seconds.from && (from + to) / 2 < seconds.to);
      sides[last] = whole;
      if (parts.length === 0) return false;
      const values = new Float64Array(count);
      for (const part of parts) {
        for (let at = 3, node = 0; at < part.length; at += 2) {
          node += part[at];
          values[node] += part[at + 1];
        }
      }
      for (let i = count - 1; i > 0; i--) values[parent[i]] += values[i];
      const perSample = whole.perSample && (whole.perSample * length(data.parts)) / length(parts);
      sides[last] = side(values, values[0], perSample);
      return true;
    };
    return { ...data, count, parent, end, depth, sides, last, choose };
  };

  const graph = (figure) => {
    const data = read(figure);
    const { frames, frame, parent, end, depth, sides } = data;
    const compares = sides.length === 2;
    const main = () => sides[data.last];
    const state = { view: compares ? "change" : "last", up: false, zoom: [0], focus: 0, hover: -1, find: null };
    let drawn = [], byRow = [], rows = 0, colors = {}, width = 0, hidden = 0;

    const name = (i) => frames[frame[i]][0];
    const kind = (i) => KINDS[frames[frame[i]][2]];
    const shown = () => (state.view === "first" ? sides[0] : main());
    const change = (i) => main().share(i) - sides[0].share(i);

    // How much more or less than before, −1 to 1. Two samples more on both sides, so that chance in
    // few samples has no colour.
    const tint = (i) => {
      const few = sides.map((side) => 2 / Math.max(side.total, 1));
      const floor = Math.max(...few, 0.0005);
      const doublings = Math.log2((main().share(i) + floor) / (sides[0].share(i) + floor));
      return Math.max(-1, Math.min(1, doublings / FULL_CHANGE));
    };

    // The controls.
    const box = figure.querySelector(".flame-view");
    const canvas = make("canvas", {
      tabindex: "0", role: "application", "aria-roledescription": "flame graph",
      "aria-label": data.label + ". Arrow keys move between frames, Enter zooms, Escape goes back, slash searches. The same in numbers: the table below.",
    });
    const pen = canvas.getContext("2d");
    const tip = make("div", { class: "flame-tip", "aria-hidden": "true" });
    tip.hidden = true;
    const search = make("input", { type: "search", placeholder: "Search functions ( / )", "aria-label": "Search functions", spellcheck: "false" });
    const regex = make("input", { type: "checkbox" });
    const found = make("output", { class: "flame-found" });
    const status = make("p", { class: "flame-status", role: "status" });
    const crumbs = make("nav", { class: "flame-crumbs", "aria-label": `Zoom: ${data.label}` });
    const button = (text, action) => {
      const element = make("button", { type: "button" }, text);
      element.addEventListener("click", action);
      return element;
    };
    const segment = (legend, choices, chosen, choose) => {
      const set = make("fieldset", { class: "flame-segment" }, make("legend", { class: "unseen" }, legend));
      const group = `flame-${[...document.querySelectorAll("figure.flame")].indexOf(figure)}-${legend}`;
      for (const [value, text] of choices) {
        const input = make("input", { type: "radio", name: group, value });
        input.checked = value === chosen;
        input.addEventListener("change", () => choose(value));
        set.append(make("label", {}, input, make("span", {}, text)));
      }
      return set;
    };
    const legend = make("p", { class: "flame-legend" });
    const showLegend = () => {
      const item = (mark, text) => make("span", {}, make("i", { class: "flame-" + mark }), text);
      const items = state.view === "change"
        ? ["Width: share " + data.names[1] + ". Colour and points: change of the share.", item("less", "less than " + data.names[0]), item("same", "as much"), item("more", "more")]
        : [item("user", "user"), item("kernel", "kernel"), item("server", "thread"), item("folded", "rare frames together")];
      legend.replaceChildren(...items);
    };
    const tools = make("div", { class: "flame-tools" });
    if (compares) {
      const choices = [["change", "Difference"], ["last", data.names[1]], ["first", data.names[0]]];
      tools.append(segment("View", choices, state.view, (view) => { state.view = view; showLegend(); draw(); find(); }));
    }
    tools.append(
      segment("Root", [["top", "Root on top"], ["bottom", "at the bottom"]], "top", (at) => { state.up = at === "bottom"; draw(); }),
      make("span", { class: "flame-search" }, search, make("label", {}, regex, " regex"), found),
    );
    box.append(tools, legend, crumbs, make("div", { class: "flame-canvas" }, canvas, tip), status);

    // Drawing.
    const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    const mixed = (from, to, part) => `rgb(${from.map((value, n) => Math.round(value + part * (to[n] - value))).join(" ")})`;
    const readColors = () => {
      const style = getComputedStyle(canvas);
      const value = (name) => style.getPropertyValue("--flame-" + name).trim();
      for (const name of ["user", "user-2", "kernel", "kernel-2", "server", "other", "folded", "cut", "all", "same", "more", "less", "found"]) colors[name] = channels(value(name));
      for (const name of ["ink", "ring", "back"]) colors[name] = value(name);
      pen.font = style.font;
    };
    const shade = frames.map(([text]) => {
      let hash = 7;
      for (let at = 0; at < text.length; at++) hash = (hash * 31 + text.charCodeAt(at)) | 0;
      return ((hash >>> 8) & 255) / 255;
    });
    const fill = (i) => {
      if (state.find && state.find.hits[frame[i]]) return mixed(colors.found, colors.found, 0);
      if (state.view === "change") {
        const part = tint(i);
        return mixed(colors.same, part < 0 ? colors.less : colors.more, Math.abs(part));
      }
      const base = kind(i);
      return mixed(colors[base], colors[base + "-2"] || colors[base], shade[frame[i]]);
    };

    // The zoomed node: the deepest one of the history that the shown side has.
    const zoomed = () => {
      let at = state.zoom[state.zoom.length - 1];
      while (at > 0 && shown().values[at] === 0) at = parent[at];
      return at;
    };
    const layout = () => {
      const { values, start } = shown();
      const root = zoomed();
      const scale = values[root] > 0 ? width / values[root] : 0;
      drawn = [];
      hidden = 0;
      for (let at = root; at !== 0; ) {
        at = parent[at];
        drawn.unshift({ i: at, x: 0, w: width, above: true });
      }
      for (let i = root; i < end[root]; ) {
        const w = values[i] * scale;
        if (w >= THIN) {
          drawn.push({ i, x: (start[i] - start[root]) * scale, w, above: false });
          i++;
        } else {
          if (values[i] > 0) hidden += end[i] - i;
          i = end[i];
        }
      }
      byRow = [];
      for (const rect of drawn) (byRow[depth[rect.i]] ||= []).push(rect);
      rows = Math.max(rows, byRow.length);
    };
    const top = (i) => (state.up ? rows - 1 - depth[i] : depth[i]) * ROW;
    const draw = () => {
      width = canvas.parentElement.clientWidth;
      if (width === 0) return;
      layout();
      const height = rows * ROW + 1;
      const dense = Math.min(devicePixelRatio || 1, Math.sqrt(PIXELS_MAX / (width * height)), 16000 / height);
      canvas.style.height = height + "px";
      canvas.width = Math.round(width * dense);
      canvas.height = Math.round(height * dense);
      pen.setTransform(dense, 0, 0, dense, 0, 0);
      readColors();
      pen.textBaseline = "middle";
      const letter = pen.measureText("0").width;
      for (const { i, x, w, above } of drawn) {
        const y = top(i);
        const faded = above || (state.find && !state.find.hits[frame[i]]);
        pen.globalAlpha = faded ? 0.45 : 1;
        pen.fillStyle = fill(i);
        pen.fillRect(x, y, w > 2 ? w - 1 : w, ROW - 1);
        pen.globalAlpha = faded ? 0.75 : 1;
        const room = Math.floor((w - 8) / letter);
        if (room < 3) continue;
        pen.fillStyle = colors.ink;
        let text = name(i);
        const much = state.view === "change" && Math.abs(change(i)) >= NOTED_CHANGE ? "  " + points(change(i)) : "";
        if (text.length + much.length <= room) text += much;
        else if (text.length > room) text = text.slice(0, room - 1) + "…";
        pen.fillText(text, x + 4, y + ROW / 2, w - 5);
      }
      pen.globalAlpha = 1;
      const ring = (i, line) => {
        const rect = drawn.find((rect) => rect.i === i);
        if (!rect) return;
        pen.strokeStyle = colors.ring;
        pen.lineWidth = line;
        pen.strokeRect(rect.x + line / 2, top(i) + line / 2, Math.max(rect.w - 1 - line, 1), ROW - 1 - line);
      };
      if (state.hover >= 0) ring(state.hover, 1);
      if (document.activeElement === canvas) ring(state.focus, 2.5);
      showCrumbs();
      if (document.activeElement !== canvas) showCounts();
    };
    const showCounts = () => {
      status.textContent = `${grouped(drawn.length)} frames drawn` + (hidden ? `; ${grouped(hidden)} are too thin at this width: zoom in to see them.` : ".");
    };

    // What is known of a frame, a line each.
    const lines = (i) => {
      const [, image, number] = frames[frame[i]];
      const out = [[KIND_WORDS[number], image].filter(Boolean).join(", ")];
      const order = compares ? [data.last, 0] : [0];
      for (const n of order) {
        const side = sides[n];
        const own = i > 0 && side.own[i] > 0 ? `, ${percent(side.own[i] / side.total)} in itself` : "";
        const processors = side.perSample ? `, ${(side.values[i] * side.perSample).toPrecision(2)} CPUs` : "";
        out.push(`${compares ? data.names[n] + ": " : ""}${percent(side.share(i))}, ${grouped(side.values[i])} samples${own}${processors}`);
      }
      if (compares) {
        const ratio = sides[0].share(i) > 0 ? `, × ${(main().share(i) / sides[0].share(i)).toPrecision(2)}` : main().share(i) > 0 ? `, none ${data.names[0]}` : "";
        out.push(`change: ${points(change(i))} points${ratio}`);
      }
      return out.filter(Boolean);
    };
    const showTip = (i, x, y) => {
      tip.replaceChildren(make("b", {}, name(i)), ...lines(i).map((line) => make("span", {}, line)));
      tip.hidden = false;
      const left = Math.min(x + 14, width - tip.offsetWidth - 4);
      tip.style.left = Math.max(0, left) + "px";
      const under = y + 18, over = y - tip.offsetHeight - 8;
      tip.style.top = (under + tip.offsetHeight > canvas.clientHeight && over > 0 ? over : under) + "px";
    };
    const hideTip = () => { tip.hidden = true; };
    const announce = () => {
      const rect = drawn.find((rect) => rect.i === state.focus);
      status.textContent = `${name(state.focus)}: ${lines(state.focus).join("; ")}.`;
      if (rect) showTip(state.focus, rect.x, top(state.focus) + 4);
    };

    // Zoom.
    const isUnder = (i, above) => i > above && i < end[above];
    const zoomTo = (i) => {
      state.zoom = [...state.zoom.filter((at) => isUnder(i, at)), i];
      state.focus = i;
      draw();
    };
    const back = () => {
      if (state.zoom.length === 1) return false;
      state.focus = state.zoom.pop();
      draw();
      return true;
    };
    // Made anew only when they change: a button that is replaced under the pointer gets no click.
    let crumbsOf = "";
    const showCrumbs = () => {
      const key = state.zoom + state.view;
      if (key === crumbsOf) return;
      crumbsOf = key;
      const steps = state.zoom.slice(0, -1).map((at) => button(name(at), () => { zoomTo(at); }));
      const here = state.zoom[state.zoom.length - 1];
      crumbs.replaceChildren();
      if (here === 0) return;
      crumbs.append(button("← Back", back), ...steps.flatMap((step) => [step, " › "]), make("b", {}, name(here)), ` ${percent(shown().share(here))}`);
    };

    // Search.
    const find = () => {
      const text = search.value;
      found.textContent = "";
      search.removeAttribute("aria-invalid");
      state.find = null;
      if (text !== "") {
        let matches;
        try {
          const pattern = regex.checked ? new RegExp(text, "i") : null;
          const plain = text.toLowerCase();
          matches = (candidate) => (pattern ? pattern.test(candidate) : candidate.toLowerCase().includes(plain));
        } catch {
          found.textContent = "not a regular expression";
          search.setAttribute("aria-invalid", "true");
          draw();
          return;
        }
        const hits = Uint8Array.from(frames, ([text, , number]) => (KINDS[number] !== "all" && KINDS[number] !== "folded" && matches(text) ? 1 : 0));
        // A match inside a match is already counted.
        const sums = sides.map((side) => {
          let sum = 0;
          for (let i = 0; i < data.count; i = hits[frame[i]] ? end[i] : i + 1) if (hits[frame[i]]) sum += side.values[i];
          return side.total > 0 ? sum / side.total : 0;
        });
        state.find = { hits };
        const functions = hits.reduce((sum, hit) => sum + hit, 0);
        found.textContent = functions === 0 ? "no match" : `${compares ? `${data.names[1]} ${percent(sums[1])}, ${data.names[0]} ${percent(sums[0])}` : percent(sums[0])} in ${grouped(functions)} function${functions === 1 ? "" : "s"}`;
      }
      draw();
    };
    search.addEventListener("input", find);
    regex.addEventListener("change", find);
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      search.value = "";
      find();
      canvas.focus();
      event.preventDefault();
    });

    // Pointer and keyboard.
    const hit = (event) => {
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left;
      const line = Math.floor((event.clientY - box.top) / ROW);
      const row = byRow[state.up ? rows - 1 - line : line] || [];
      return row.find((rect) => x >= rect.x && x < rect.x + rect.w);
    };
    canvas.addEventListener("pointermove", (event) => {
      const rect = hit(event);
      const box = canvas.getBoundingClientRect();
      if (rect) showTip(rect.i, event.clientX - box.left, event.clientY - box.top);
      else hideTip();
      canvas.style.cursor = rect ? "pointer" : "default";
      if (state.hover === (rect ? rect.i : -1)) return;
      state.hover = rect ? rect.i : -1;
      draw();
    });
    canvas.addEventListener("pointerleave", () => { state.hover = -1; hideTip(); draw(); });
    canvas.addEventListener("click", (event) => {
      const rect = hit(event);
      if (rect && rect.i !== zoomed()) zoomTo(rect.i);
    });
    const step = (key) => {
      const at = byRow[depth[state.focus]] || [];
      const place = at.findIndex((rect) => rect.i === state.focus);
      if (key === "ArrowLeft" || key === "ArrowRight") return at[place + (key === "ArrowLeft" ? -1 : 1)]?.i;
      if ((key === "ArrowUp") !== state.up) return state.focus === 0 ? undefined : parent[state.focus];
      return (byRow[depth[state.focus] + 1] || []).find((rect) => parent[rect.i] === state.focus)?.i;
    };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key.startsWith("Arrow") || event.key === "Home") {
        if (!drawn.some((rect) => rect.i === state.focus)) state.focus = zoomed();
        const next = event.key === "Home" ? 0 : step(event.key);
        if (next !== undefined) state.focus = next;
      } else if (event.key === "Enter") {
        zoomTo(state.focus);
      } else if (event.key === "Escape" || event.key === "Backspace") {
        back();
      } else {
        return;
      }
      event.preventDefault();
      draw();
      announce();
    });
    canvas.addEventListener("focus", () => { draw(); if (canvas.matches(":focus-visible")) announce(); });
    canvas.addEventListener("blur", () => { hideTip(); draw(); });

    const chosen = make("p", { class: "flame-chosen", role: "status" });
    box.prepend(chosen);
    document.addEventListener("seconds", ({ detail }) => {
      const is = data.choose(detail);
      chosen.textContent = is ? `${data.names[data.last]}: only ${detail.words}` : detail ? `No samples in ${detail.words}: the whole is shown.` : "";
      if (state.view === "first" && is) return;
      draw();
      find();
    });

    figure.classList.add("live");
    showLegend();
    new ResizeObserver(() => { if (canvas.parentElement.clientWidth !== width) { rows = 0; draw(); } }).observe(canvas.parentElement);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", draw);
    return search;
  };

  const searches = [...document.querySelectorAll("figure.flame")].map(graph);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || !searches.length) return;
    if (event.target.matches("input, textarea, select")) return;
    searches[0].focus();
    searches[0].scrollIntoView({ block: "nearest" });
    event.preventDefault();
  });
})();
