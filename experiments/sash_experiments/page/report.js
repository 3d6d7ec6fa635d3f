"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const NS = "http://www.w3.org/2000/svg";
  const LEFT = 76, RIGHT = 30, TOP = 14;
  let W = 760, H = 400, BOTTOM = 58;
  const DASHES = ["", "7 3", "2 3", "9 3 2 3"];

  const make = (name, attributes = {}, text = "") => {
    const made = name === "svg" || SHAPES.has(name) ? document.createElementNS(NS, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  };
  const SHAPES = new Set(["g", "path", "line", "text", "circle", "title"]);
  const told = (number) => {
    if (number === 0) return "0";
    const size = Math.abs(number);
    if (size >= 1e9) return +(number / 1e9).toPrecision(3) + "G";
    if (size >= 1e6) return +(number / 1e6).toPrecision(3) + "M";
    if (size >= 1e4) return +(number / 1e3).toPrecision(3) + "k";
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

  // Dark or light: what the system says, until someone chooses.
  const dark = () => (document.documentElement.dataset.theme ||
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { at("theme").textContent = dark() ? "Light" : "Dark"; at("theme").setAttribute("aria-pressed", dark()); };
  at("theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; label(); });
  label();

  // Scales: a value to a pixel, and the ticks between.
  const scale = (values, log, low, high) => {
    let [least, most] = [Math.min(...values), Math.max(...values)];
    if (log) {
      least = Math.max(least, 1e-12);
      const a = Math.log10(least), b = Math.log10(most) + (most > least ? 0 : 1);
      const ticks = [];
      for (let e = Math.floor(a); e <= Math.ceil(b); e++) for (const m of b - a < 1.3 ? [1, 2, 5] : [1]) {
        const tick = m * 10 ** e;
        if (tick >= least * 0.999 && tick <= most * 1.001) ticks.push(tick);
      }
      return { to: (v) => low + ((Math.log10(Math.max(v, least)) - a) / (b - a)) * (high - low), ticks };
    }
    least = Math.min(least, 0);
    const span = most - least || 1, step = 10 ** Math.floor(Math.log10(span / 4)), by = [1, 2, 5, 10].find((k) => span / (k * step) <= 6) * step;
    const ticks = [];
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
        const mark = make("svg", { viewBox: "0 0 26 12", width: 26, height: 12, "aria-hidden": "true" });
        mark.append(make("path", { d: "M1 6H25", fill: "none", "stroke-width": 3, "stroke-dasharray": DASHES[Math.floor(i / 8) % 4], style: `stroke:var(--s${i % 8})` }));
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

  const chart = (svg, readout, panel, shown, names, points, yLog, state) => {
    const xs = [...new Set(points.map((point) => point[0]))].sort((a, b) => a - b);
    const categories = panel.labels !== null;
    const slanted = categories && panel.labels.some((label) => label.length * 7.5 > (W - LEFT - RIGHT) / panel.labels.length);
    BOTTOM = slanted ? 118 : 58;
    const x = categories ? { to: (v) => LEFT + ((v + 0.5) / panel.labels.length) * (W - LEFT - RIGHT), ticks: xs } : scale(xs, panel.xLog, LEFT, W - RIGHT);
    const y = scale(points.map((point) => point[1]).filter((v) => !yLog || v > 0), yLog, H - BOTTOM, TOP);
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
    for (const name of shown) {
      const i = names.indexOf(name), kept = panel.series[name].filter((point) => !yLog || point[1] > 0);
      const group = make("g", { style: `stroke:var(--s${i % 8});fill:var(--s${i % 8})`, "data-line": name });
      group.append(make("title", {}, name));
      if (!categories) group.append(make("path", { fill: "none", "stroke-width": 2, "stroke-dasharray": DASHES[Math.floor(i / 8) % 4],
        d: kept.map(([a, b], n) => `${n ? "L" : "M"}${x.to(a).toFixed(1)} ${y.to(b).toFixed(1)}`).join("") }));
      if (kept.length <= 40) for (const [a, b] of kept) group.append(make("circle", { cx: x.to(a), cy: y.to(b), r: categories ? 5 : 3.5,
        ...(i >= 8 ? { style: "fill:var(--card)", "stroke-width": 2 } : {}) }));
      svg.append(group);
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
