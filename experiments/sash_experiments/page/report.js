"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const NS = "http://www.w3.org/2000/svg";
  const LEFT = 76, TOP = 14, LABEL_STEP = 15;
  let W = 760, H = 400, BOTTOM = 58, RIGHT = 30;
  const DASHES = ["", "7 3", "2 3", "9 3 2 3"];

  const make = (name, attributes = {}, text = "") => {
    const made = name === "svg" || SHAPES.has(name) ? document.createElementNS(NS, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  };
  const SHAPES = new Set(["g", "path", "line", "text", "title"]);
  // A shape for each series, so that colour alone tells nothing apart: circle, square, triangle, diamond, cross, and so on.
  const MARKERS = ["M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", "M-3.6 -3.6h7.2v7.2h-7.2z", "M0 -4.8L4.6 3.4H-4.6z", "M0 -5L4.4 0L0 5L-4.4 0z",
    "M-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z", "M0 4.8L4.6 -3.4H-4.6z", "M-4.2 -4.2L0 -1.6L4.2 -4.2L1.6 0L4.2 4.2L0 1.6L-4.2 4.2L-1.6 0z",
    "M-4.4 -4.4h8.8L-4.4 4.4h8.8z"];
  const marker = (i, x, y) => make("path", { class: "marker", d: MARKERS[i % 8], transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
    ...(i >= 8 ? { style: "fill:var(--card)", "stroke-width": 1.5 } : {}) });
  const told = (number) => {
    if (number === 0) return "0";
    const size = Math.abs(number);
    if (size >= 1e9) return +(number / 1e9).toPrecision(3) + "G";
    if (size >= 1e6) return +(number / 1e6).toPrecision(3) + "M";
    if (size >= 1e3) return +(number / 1e3).toPrecision(3) + "k";
    return String(+number.toPrecision(3));
  };
  const raised = (number) => [...String(number)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
  const powers = (text) => text.replace(/\b(2|10)\^(\d+)/g, (_, base, digits) => base + raised(digits));
  const power = (number) => (number >= 8 && Number.isInteger(Math.log2(number)) ? "2" + raised(Math.log2(number)) : told(number));

  // A filter over claims, and over the experiments of the paper that is chosen.
  const rows = [...document.querySelectorAll(".claims tbody tr")];
  const sections = [...document.querySelectorAll(".experiment")];
  const filter = () => {
    const words = at("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const paper = at("paper").value, verdict = at("verdict").value;
    let shown = 0;
    for (const row of rows) {
      const text = (row.textContent + " " + row.dataset.paper).toLowerCase();
      row.hidden = Boolean((paper && row.dataset.paper !== paper) || (verdict && row.dataset.verdict !== verdict) ||
        !words.every((word) => text.includes(word)));
      shown += !row.hidden;
    }
    for (const section of sections) section.hidden = Boolean(paper && section.dataset.paper !== paper);
    at("shown").textContent = `${shown} of ${rows.length} claims`;
  };
  for (const id of ["words", "paper", "verdict"]) for (const event of ["input", "change"]) at(id).addEventListener(event, filter);
  filter();

  // The contents show which part is being read.
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const id of links.keys()) if (at(id)) watcher.observe(at(id));

  // Dark or light: what the system says, until someone chooses.
  const dark = () => (document.documentElement.dataset.theme ||
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { at("theme").textContent = dark() ? "Light" : "Dark"; at("theme").setAttribute("aria-pressed", dark()); };
  at("theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; label(); });
  label();

  // Scales: a value to a pixel, and the ticks between.
  const scale = (values, log, low, high, whole = false) => {
    let [least, most] = [Math.min(...values), Math.max(...values)];
    if (log) {
      least = Math.max(least, 1e-12);
      if (whole) { // from a labelled tick to a labelled tick
        const steps = Math.log10(most / least) < 1.3 ? [1, 2, 5] : [1], around = [];
        for (let e = Math.floor(Math.log10(least)) - 1; e <= Math.ceil(Math.log10(most)) + 1; e++) for (const m of steps) around.push(m * 10 ** e);
        least = around.filter((tick) => tick <= least * 1.001).pop();
        most = around.find((tick) => tick >= most * 0.999 && tick > least);
      }
      const a = Math.log10(least), b = Math.log10(most) + (most > least ? 0 : 1);
      const ticks = [];
      for (let e = Math.floor(a); e <= Math.ceil(b); e++) for (const m of b - a < 1.6 ? [1, 2, 5] : [1]) {
        const tick = m * 10 ** e;
        if (tick >= least * 0.999 && tick <= most * 1.001) ticks.push(tick);
      }
      return { to: (v) => low + ((Math.log10(Math.max(v, least)) - a) / (b - a)) * (high - low), ticks };
    }
    if (whole) least = Math.min(least, 0);
    const step = 10 ** Math.floor(Math.log10((most - least || 1) / 4)), by = [1, 2, 5, 10].find((k) => (most - least || 1) / (k * step) <= 6) * step;
    if (whole) { least = Math.floor(least / by) * by; most = Math.ceil(most / by - 1e-9) * by; }
    const span = most - least || 1, ticks = [];
    for (let tick = Math.ceil(least / by) * by; tick <= most + by * 1e-6; tick += by) ticks.push(+tick.toPrecision(12));
    return { to: (v) => low + ((v - least) / span) * (high - low), ticks };
  };

  const thinned = (ticks, to, room) => {
    const kept = [];
    for (const tick of ticks) if (!kept.length || Math.abs(to(tick) - to(kept[kept.length - 1])) >= room) kept.push(tick);
    return kept;
  };

  const draw = (holder, plot) => {
    const state = { panel: 0, hidden: new Set(), yLog: null, place: null };
    const render = (focus) => {
      holder.replaceChildren();
      W = Math.max(300, Math.min(940, holder.clientWidth || 760)); H = W < 520 ? 300 : 400;
      const panel = plot.panels[state.panel];
      const yLog = state.yLog ?? panel.yLog;
      const names = Object.keys(panel.series), shown = names.filter((name) => !state.hidden.has(name));
      const points = shown.flatMap((name) => panel.series[name]);
      const bar = make("div", { class: "bar" });
      if (plot.panels.length > 1) {
        const choose = make("select", { "aria-label": "part of the figure" });
        plot.panels.forEach((each, i) => choose.append(make("option", { value: i, ...(i === state.panel ? { selected: "" } : {}) }, powers(each.name))));
        choose.addEventListener("change", () => { Object.assign(state, { panel: +choose.value, place: null, yLog: null }); render("select"); });
        bar.append(choose);
      }
      const logs = make("button", { type: "button", "data-log": "" }, yLog ? "linear scale" : "logarithmic scale");
      logs.addEventListener("click", () => { state.yLog = !yLog; render("[data-log]"); });
      bar.append(logs);
      names.forEach((name, i) => {
        const key = make("button", { type: "button", "aria-pressed": !state.hidden.has(name), "data-series": name });
        const mark = make("svg", { viewBox: "0 0 26 12", width: 26, height: 12, "aria-hidden": "true", style: `stroke:var(--s${i % 8});fill:var(--s${i % 8})` });
        mark.append(make("path", { d: "M1 6H25", fill: "none", "stroke-width": 2, "stroke-dasharray": DASHES[Math.floor(i / 8) % 4] }), marker(i, 13, 6));
        key.append(mark, name);
        key.addEventListener("click", () => {
          state.hidden.has(name) ? state.hidden.delete(name) : state.hidden.add(name);
          render(`[data-series="${CSS.escape(name)}"]`);
        });
        bar.append(key);
      });
      holder.append(bar);
      const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", tabindex: 0,
        "aria-label": `${powers(panel.name)}: ${panel.unit} by ${panel.x}. Arrow keys read the values.` });
      const readout = make("p", { class: "readout", "aria-live": "polite" }, "Point at the plot, or focus it and use the arrow keys.");
      holder.append(svg, readout);
      if (points.length) chart(svg, readout, panel, shown, names, points, yLog, state);
      if (focus) holder.querySelector(focus)?.focus();
    };
    render();
    let width = holder.clientWidth;
    addEventListener("resize", () => { if (holder.clientWidth !== width) { width = holder.clientWidth; render(); } });
  };

  // Heights for labels, in the order of their lines, so far apart that all are legible.
  const spread = (ends) => {
    ends.sort((a, b) => a.from[1] - b.from[1]);
    let below = TOP - LABEL_STEP;
    for (const end of ends) below = end.y = Math.max(end.from[1], below + LABEL_STEP);
    let above = H - BOTTOM + LABEL_STEP;
    for (const end of [...ends].reverse()) above = end.y = Math.min(end.y, above - LABEL_STEP);
  };

  const caption = ({ name, i }, x, y) => make("text", { class: "label", x, y: y + 4, style: `fill:var(--s${i % 8})` },
    name.length > 23 ? name.slice(0, 22) + "…" : name);

  const chart = (svg, readout, panel, shown, names, points, yLog, state) => {
    const xs = [...new Set(points.map((point) => point[0]))].sort((a, b) => a - b);
    const categories = panel.labels !== null;
    // Names stand at the ends of their lines where there is room for them.
    const labelled = !categories && W >= 520;
    RIGHT = labelled ? Math.min(210, 26 + 8 * Math.max(...shown.map((name) => name.length))) : 30;
    const slanted = categories && panel.labels.some((label) => label.length * 7.5 > (W - LEFT - RIGHT) / panel.labels.length);
    BOTTOM = slanted ? 118 : 58;
    const x = categories ? { to: (v) => LEFT + ((v + 0.5) / panel.labels.length) * (W - LEFT - RIGHT), ticks: xs } : scale(xs, panel.xLog, LEFT, W - RIGHT);
    const y = scale(points.map((point) => point[1]).filter((v) => !yLog || v > 0), yLog, H - BOTTOM, TOP, true);
    for (const tick of thinned(y.ticks, y.to, 22)) {
      svg.append(make("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: y.to(tick), y2: y.to(tick) }),
        make("text", { x: LEFT - 8, y: y.to(tick) + 4, "text-anchor": "end" }, told(tick)));
    }
    const doubling = panel.xLog && xs.every((v) => Number.isInteger(Math.log2(v)));
    const ticks = thinned(categories || doubling || xs.length <= 12 ? xs : x.ticks, x.to, slanted ? 14 : categories ? 30 : 48);
    for (const tick of ticks) {
      const text = categories ? panel.labels[tick] : doubling ? power(tick) : told(tick);
      const place = slanted ? { transform: `translate(${x.to(tick) + 4} ${H - BOTTOM + 16}) rotate(-38)`, "text-anchor": "end" } :
        { x: x.to(tick), y: H - BOTTOM + 22, "text-anchor": "middle" };
      svg.append(make("text", place, text.length > 18 ? text.slice(0, 17) + "…" : text));
    }
    svg.append(make("text", { x: (LEFT + W - RIGHT) / 2, y: H - 8, "text-anchor": "middle" }, panel.x),
      make("text", { x: 0, y: 0, transform: `translate(16 ${(TOP + H - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle" }, panel.unit));
    const ends = [];
    for (const name of shown) {
      const i = names.indexOf(name), kept = panel.series[name].filter((point) => !yLog || point[1] > 0);
      const group = make("g", { style: `stroke:var(--s${i % 8});fill:var(--s${i % 8})`, "data-line": name });
      group.append(make("title", {}, name));
      if (!categories) group.append(make("path", { fill: "none", "stroke-width": 2, "stroke-dasharray": DASHES[Math.floor(i / 8) % 4],
        d: kept.map(([a, b], n) => `${n ? "L" : "M"}${x.to(a).toFixed(1)} ${y.to(b).toFixed(1)}`).join("") }));
      if (kept.length <= 40) for (const [a, b] of kept) group.append(marker(i, x.to(a), y.to(b)));
      svg.append(group);
      if (!labelled || !kept.length) continue;
      const end = { name, i, from: [x.to(kept.at(-1)[0]), y.to(kept.at(-1)[1])] };
      if (W - RIGHT - end.from[0] < 8 * name.length) ends.push(end);
      else svg.append(caption(end, end.from[0] + 9, end.from[1]));
    }
    spread(ends);
    for (const { name, i, from, y: height } of ends) {
      svg.append(make("path", { class: "leader", fill: "none", style: `stroke:var(--s${i % 8})`,
        d: `M${from[0] + 5} ${from[1].toFixed(1)}L${W - RIGHT + 10} ${height.toFixed(1)}` }),
      caption({ name, i }, W - RIGHT + 13, height));
    }
    const cursor = make("line", { class: "cursor", y1: TOP, y2: H - BOTTOM, x1: -9, x2: -9 });
    svg.append(cursor);
    const read = (place) => {
      state.place = Math.max(0, Math.min(xs.length - 1, place));
      const value = xs[state.place];
      cursor.setAttribute("x1", x.to(value)); cursor.setAttribute("x2", x.to(value));
      const here = categories ? panel.labels[value] : doubling ? power(value) : told(value);
      readout.replaceChildren(make("b", {}, `${panel.x} ${here}: `));
      const found = shown.flatMap((name) => panel.series[name].filter((point) => point[0] === value).map((point) => [name, point[1]]));
      found.sort((a, b) => b[1] - a[1]);
      readout.append(found.map(([name, number]) => `${name} ${told(number)}`).join(", ") + ` (${panel.unit})`);
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(), pixel = ((event.clientX - box.left) / box.width) * W;
      read(xs.reduce((best, value, i) => (Math.abs(x.to(value) - pixel) < Math.abs(x.to(xs[best]) - pixel) ? i : best), 0));
    });
    svg.addEventListener("keydown", (event) => {
      const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
      if (!(event.key in moves)) return;
      event.preventDefault();
      read(state.place === null ? (event.key === "End" ? xs.length - 1 : 0) : state.place + moves[event.key]);
    });
    if (state.place !== null) read(state.place);
  };

  for (const holder of document.querySelectorAll(".plot")) draw(holder, data[holder.dataset.experiment]);
})();
