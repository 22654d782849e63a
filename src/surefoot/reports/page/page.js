"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children); // strings become text, never markup
    return element;
  }

  // --- tables: sort by a column, keep the rows that contain all words -------------------------

  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function keyOf(cell) {
    if (cell.dataset.v === undefined) return cell.textContent.trim();
    return cell.dataset.v === "" ? null : Number(cell.dataset.v.replace("inf", "Infinity"));
  }

  function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b);
  }

  function sort(table, head, column) {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of all("thead th", table)) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [keyOf(row.cells[column]), row]);
    keyed.sort(([a], [b]) => {
      // What has no number stands last, whichever way the others go.
      if (a === null || b === null) return (a === null) - (b === null);
      return up ? compare(a, b) : compare(b, a);
    });
    body.append(...keyed.map(([, row]) => row));
  }

  for (const table of all("table.sortable")) {
    all("thead th", table).forEach((head, column) => {
      head.firstElementChild.addEventListener("click", () => sort(table, head, column));
    });
  }

  function filter(input) {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...$(input.dataset.table).tBodies[0].rows];
    let kept = 0;
    for (const row of rows) {
      row.words ??= row.textContent.toLowerCase();
      row.hidden = !words.every((word) => row.words.includes(word));
      kept += !row.hidden;
    }
    const total = rows.length.toLocaleString("en");
    input.nextElementSibling.textContent =
      kept === rows.length ? `${total} rows` : `${kept.toLocaleString("en")} of ${total} rows`;
    for (const chip of all(".chips button")) {
      if (input.dataset.table === "verdicts") {
        chip.setAttribute("aria-pressed", String(input.value === chip.dataset.filter));
      }
    }
  }

  // --- few columns at first, cards on a phone --------------------------------------------------

  for (const table of all("table.sortable")) {
    table.classList.add("short");
    const titles = all("thead th", table).map((head) => head.textContent.trim());
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, k) => { if (k) cell.dataset.title = titles[k]; });
    }
  }
  for (const button of all("button.columns")) {
    button.addEventListener("click", () => {
      const short = $(button.dataset.table).classList.toggle("short");
      button.setAttribute("aria-pressed", String(!short));
    });
  }

  for (const box of all(".filter, .chips")) box.hidden = false;
  for (const input of all(".filter input")) input.addEventListener("input", () => filter(input));
  for (const chip of all(".chips button")) {
    chip.addEventListener("click", () => {
      const input = $("filter-verdicts");
      input.value = chip.getAttribute("aria-pressed") === "true" ? "" : chip.dataset.filter;
      filter(input);
    });
  }

  // --- figures ---------------------------------------------------------------------------------

  async function unpacked(id) {
    const bytes = Uint8Array.from(atob($(id).textContent), (letter) => letter.charCodeAt(0));
    const plainBytes = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plainBytes).text();
  }

  async function start() {
    const library = make("script");
    library.textContent = await unpacked("library"); // runs by its hash in the page's policy
    document.head.append(library);
    show(JSON.parse(await unpacked("data")));
    document.documentElement.dataset.ready = "";
  }

  if (typeof DecompressionStream === "undefined") {
    $("figures")?.append(make("p", {}, "The figures need a browser of 2023 or later; the tables have all their numbers."));
  } else {
    start();
  }

  function show(data) {
  const dark = matchMedia("screen and (prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  let printing = false;
  let problem = data.problems[0];
  const figures = [];

  // Plotly reads a little HTML in every text: what a specification calls things is no HTML.
  const plain = (text) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  // Long names would push the numbers out of a hover label.
  const short = (text) => plain(text.length > 60 ? `${text.slice(0, 59)}…` : text);
  const isDark = () => dark.matches && !printing;
  const ink = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const colourOf = (i) => data.looks[i][isDark() ? "dark" : "light"];

  function faded(colour, opacity) {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
    return `rgba(${r},${g},${b},${opacity})`;
  }

  // What is shown is remembered for each problem: another one has other algorithms.
  for (const each of data.problems) {
    each.defaults = new Set(each.curves.slice(0, data.shown).map((curve) => curve.i));
    each.on = new Set(each.defaults);
  }

  const line = (curve, extra = {}) => ({
    color: colourOf(curve.i), dash: data.looks[curve.i].dash, width: 2, ...extra,
  });
  const dots = (curve, extra = {}) => ({
    color: colourOf(curve.i), symbol: data.looks[curve.i].symbol, size: 8, ...extra,
  });
  const base = (curve, extra) => ({
    type: "scatter",
    name: short(data.names[curve.i]),
    legendgroup: String(curve.i),
    meta: curve.i,
    visible: problem.on.has(curve.i) ? true : "legendonly",
    ...extra,
  });
  const HEAD = "<b>%{fullData.name}</b><br>";
  const TAIL = "<extra></extra>";

  const hasBound = (bound) => bound.some((value) => value !== null);

  /** A bound: dotted, with nothing but a short bar where there is a single horizon. */
  function boundTrace(curve, x, y) {
    const single = x.length === 1;
    const claimed = curve.claimed.every(Boolean);
    return base(curve, {
      name: `${short(data.names[curve.i])}: ${claimed ? "bound" : "bound, no longer claimed"}`,
      opacity: claimed ? 1 : 0.45,
      x, y,
      mode: single ? "markers" : "lines",
      line: line(curve, { dash: "dot", width: 1.5 }),
      marker: { symbol: "line-ew-open", size: 18, color: colourOf(curve.i), line: { width: 2 } },
      showlegend: false,
      bound: true,
      hovertemplate: `${HEAD}%{x:,}: at most %{y:,.4~g}${TAIL}`,
    });
  }

  function byHorizon(curve, y, std, extra = {}) {
    const some = std.some((value) => value > 0);
    return base(curve, {
      x: curve.T, y,
      mode: "lines+markers",
      line: line(curve),
      marker: dots(curve),
      error_y: { type: "data", array: std.map((v) => v ?? 0), visible: some, thickness: 1.2, width: 4 },
      customdata: curve.T.map((_, k) => [std[k] ?? 0, curve.trials[k]]),
      hovertemplate: `${HEAD}T = %{x:,}: %{y:,.4~g}${some ? " ± %{customdata[0]:,.2~g}" : ""}` +
        `<br>%{customdata[1]} trials${TAIL}`,
      ...extra,
    });
  }

  // Whole numbers at the ticks, not the last digits that Plotly would put between powers of ten.
  const LOGARITHMIC = { type: "log", tickformat: ",~g" };

  /** The span of what is drawn. */
  function span(traces) {
    let [low, high] = [Infinity, -Infinity];
    for (const trace of traces) {
      if (trace.visible !== true) continue;
      trace.y.forEach((value, k) => {
        if (value === null) return;
        const spread = trace.error_y?.visible ? trace.error_y.array[k] : 0;
        low = Math.min(low, value - spread);
        high = Math.max(high, value + spread);
      });
    }
    return low <= high ? [low, high] : [0, 1];
  }

  function linear(traces) {
    const [low, high] = span(traces);
    const from = Math.min(0, low);
    const to = Math.max(0, high);
    const room = 0.06 * (to - from || 1);
    return { type: "linear", range: [from < 0 ? from - room : -0.4 * room, to + room] };
  }

  function logarithmic(traces) {
    const values = traces
      .filter((trace) => trace.visible === true)
      .flatMap((trace) => trace.y)
      .filter((value) => value > 0)
      .map(Math.log10);
    const [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
    const room = 0.08 * (high - low || 1);
    return { ...LOGARITHMIC, dtick: high - low < 1.6 ? "D2" : 1, range: [low - room, high + room] };
  }

  function horizonAxis() {
    const T = problem.curves.flatMap((curve) => curve.T);
    const wide = Math.max(...T) > 30 * Math.min(...T);
    return { title: { text: "horizon T" }, ...(wide ? { ...LOGARITHMIC, dtick: 1 } : { rangemode: "tozero" }) };
  }

  const LOG = { name: "log", label: "log scale", check: true };
  const BOUNDS = { name: "bounds", label: "bounds", check: true };
  const DECADES = 30;

  /** Whether the ends of what is drawn are positive and so far apart that one scale hides some. */
  function apart(traces) {
    const ends = traces.filter((trace) => trace.visible === true).map((trace) => trace.y.at(-1))
      .filter((value) => value !== null && value !== undefined);
    return ends.length > 0 && Math.min(...ends) > 0 && Math.max(...ends) > DECADES * Math.min(...ends);
  }

  /** The axis that was asked for, or else the one that shows all curves. */
  function scaled(options, traces) {
    options.log ??= null;
    const log = options.log ?? apart(traces);
    return { log, ...(log ? logarithmic(traces) : linear(traces)) };
  }
  const NEAR = { name: "near", label: "close up", check: true };

  /** Traces and axes of numbers by horizon, with bounds, on the scale that was chosen. */
  function horizonPlot(options, numbers, title) {
    const traces = [];
    for (const curve of problem.curves) {
      const found = numbers(curve);
      if (!found) continue;
      traces.push(byHorizon(curve, found.y, found.std));
      if (options.bounds && hasBound(found.bound)) traces.push(boundTrace(curve, curve.T, found.bound));
    }
    const { log, ...axis } = scaled(options, traces);
    return {
      traces,
      layout: { xaxis: horizonAxis(), yaxis: { title: { text: title }, ...axis } },
      log,
      bounds: traces.some((trace) => trace.bound),
    };
  }

  const ABOUT_BOUNDS = " Dotted: what the theorem allows, faint where a premise broke.";

  const FIGURES = [
    {
      id: "regret",
      title: "Regret against the horizon",
      options: [LOG, BOUNDS],
      build(options) {
        const plot = horizonPlot(options, (c) => ({ y: c.regret, std: c.std, bound: c.bound }), "regret");
        plot.caption = "Mean over the trials; bars are one standard deviation." + (plot.bounds ? ABOUT_BOUNDS : "");
        return plot;
      },
    },
    {
      id: "violation",
      title: "Violation against the horizon",
      options: [{ name: "measure", label: "measure", values: data.measures }, LOG, BOUNDS],
      build(options) {
        const label = data.measures.find(([name]) => name === options.measure)[1];
        const plot = horizonPlot(options, (c) => c.violation[options.measure], plain(label.split(":")[0]));
        const bars = options.measure === "worst" ? "" : " Mean over the trials; bars are one standard deviation.";
        plot.caption = `${label[0].toUpperCase()}${label.slice(1)}. Counted in every round, whatever was recorded.${bars}` +
          (plot.bounds ? ABOUT_BOUNDS : "");
        return plot;
      },
    },
    {
      id: "path",
      title: "The constraint, round by round",
      empty: "No paths were kept for this problem: set recording.every in the specification.",
      build() {
        const traces = [];
        const depth = problem.on.size > 4 ? 0.09 : 0.18; // many bands lie on each other
        for (const curve of problem.curves.filter((c) => c.path)) {
          const { t, mean, low, high } = curve.path;
          traces.push(
            base(curve, { x: [...t, ...[...t].reverse()], y: [...high, ...[...low].reverse()], mode: "lines",
              fill: "toself", fillcolor: faded(colourOf(curve.i), depth), line: { width: 0 },
              showlegend: false, hoverinfo: "skip" }),
            base(curve, { x: t, y: mean, mode: "lines", line: line(curve, { width: 1.6 }),
              customdata: t.map((_, k) => [low[k], high[k]]),
              hovertemplate: `${HEAD}round %{x:,}: g = %{y:,.4~g}<br>trials from %{customdata[0]:,.4~g} to %{customdata[1]:,.4~g}${TAIL}` }),
          );
        }
        return {
          traces,
          layout: {
            xaxis: { title: { text: "round t" }, rangemode: "tozero" },
            yaxis: { title: { text: "g(x<sub>t</sub>)" } },
            shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: 0, y1: 0, line: { color: ink("zero"), width: 1.5 } }],
          },
          caption: "Mean over the trials. The band reaches from the smallest value to the largest of any trial, rounds between those kept included in the largest. Above the line at 0 the constraint is violated.",
        };
      },
    },
    {
      id: "plane",
      title: "Actions in the plane",
      options: [NEAR],
      empty: "No actions in two dimensions were kept for this problem: set recording.actions in the specification.",
      build(options) {
        const curves = problem.curves.filter((c) => c.plane);
        const traces = [];
        if (problem.boundary && curves.length) {
          const closed = [...problem.boundary, problem.boundary[0]];
          traces.push({ type: "scatter", name: "feasible set", x: closed.map((p) => p[0]), y: closed.map((p) => p[1]),
            mode: "lines", fill: "toself", fillcolor: ink("fill"), line: { color: ink("soft"), width: 1.2 }, hoverinfo: "skip" });
        }
        for (const curve of curves) {
          const { t, x, y } = curve.plane;
          const last = t.length - 1;
          traces.push(base(curve, { x, y, mode: "lines+markers", line: line(curve, { width: 1 }),
            marker: dots(curve, { size: t.map((_, k) => (k === last ? 11 : 4)), opacity: t.map((_, k) => (k === last ? 1 : 0.75)), line: { width: 0 } }),
            customdata: t, hovertemplate: `${HEAD}round %{customdata:,}<br>(%{x:,.4~g}, %{y:,.4~g})${TAIL}` }));
        }
        if (problem.best && curves.length) {
          traces.push({ type: "scatter", name: "best fixed action", x: [problem.best[0]], y: [problem.best[1]], mode: "markers",
            marker: { symbol: "star", size: 14, color: ink("ink"), line: { color: ink("ground"), width: 1 } },
            hovertemplate: `${HEAD}(%{x:,.4~g}, %{y:,.4~g})${TAIL}` });
        }
        const seen = traces.filter((trace) => trace.visible === true || trace.name === "best fixed action");
        const about = (axis) => {
          const values = seen.flatMap((trace) => trace[axis]);
          const [low, high] = [Math.min(...values), Math.max(...values)];
          const room = 0.1 * (high - low || 1);
          return options.near && values.length ? { range: [low - room, high + room] } : {};
        };
        return {
          traces,
          layout: { xaxis: { title: { text: "x<sub>1</sub>" }, zeroline: false, ...about("x") },
            yaxis: { title: { text: "x<sub>2</sub>" }, scaleanchor: "x", zeroline: false, ...about("y") } },
          caption: "The first trial, at the rounds that were kept; the last action is drawn larger. Shaded: the feasible set; star: the best fixed action of that trial.",
        };
      },
    },
    {
      id: "along",
      title: "Regret along the run",
      options: [LOG, BOUNDS],
      empty: "Regret after each round was not kept for this problem.",
      build(options) {
        const traces = [];
        for (const curve of problem.curves.filter((c) => c.path?.regret)) {
          const { t, regret, spread, bound } = curve.path;
          traces.push(base(curve, { x: t, y: regret, mode: "lines", line: line(curve), customdata: spread,
            hovertemplate: `${HEAD}round %{x:,}: %{y:,.4~g} ± %{customdata:,.2~g}${TAIL}` }));
          if (options.bounds && bound && hasBound(bound)) traces.push(boundTrace(curve, t, bound));
        }
        const { log, ...axis } = scaled(options, traces);
        return {
          traces,
          log,
          layout: { xaxis: { title: { text: "round t" }, rangemode: "tozero" },
            yaxis: { title: { text: "regret after t rounds" }, ...axis } },
          caption: "Mean over the trials, each against its best fixed action of the rounds so far." +
            (traces.some((trace) => trace.bound) ? ABOUT_BOUNDS : ""),
        };
      },
    },
    {
      id: "rates",
      title: "Rates: regret on two logarithmic scales",
      empty: "A rate needs three horizons and a positive regret at each.",
      build() {
        const traces = [];
        for (const curve of problem.curves.filter((c) => c.rate)) {
          const [slope, low, high, scale] = curve.rate;
          const ends = [Math.min(...curve.T), Math.max(...curve.T)];
          traces.push(
            byHorizon(curve, curve.regret, curve.std, { mode: "markers" }),
            base(curve, { x: ends, y: ends.map((T) => scale * T ** slope), mode: "lines", line: line(curve, { width: 1.5 }),
              showlegend: false, hovertemplate: `${HEAD}T to the power ${slope.toFixed(3)}<br>95 %: ${low.toFixed(3)} to ${high.toFixed(3)}${TAIL}` }),
          );
        }
        return {
          traces,
          layout: {
            xaxis: { title: { text: "horizon T" }, ...LOGARITHMIC, dtick: "D2" },
            yaxis: { title: { text: "regret" }, ...logarithmic(traces) },
          },
          caption: "Points: means over the trials. Lines: the fitted power of T; its exponent and interval are in the label of the line and in the table of rates.",
        };
      },
    },
  ];

  const ICON = { width: 24, height: 24, path: "M11 3h2v9l3-3 1.4 1.4L12 16l-5.4-5.6L8 9l3 3zM4 18h16v2H4z" };

  /** A figure saved from the page has a legend of its own: the page's list is not in the picture. */
  function save(figure) {
    const { traces, layout } = figure.drawn;
    const shown = traces.filter((trace) => trace.visible === undefined || trace.visible === true);
    const named = { ...layout, showlegend: true, title: { text: `${figure.title}: ${short(problem.name)}` },
      margin: { l: 60, r: 20, t: 50, b: 50 }, paper_bgcolor: ink("ground"), legend: { orientation: "h", y: -0.2 } };
    Plotly.downloadImage({ data: shown, layout: named },
      { format: "svg", width: 800, height: 560, filename: `${figure.id}` });
  }

  function themed(layout) {
    const axis = { gridcolor: ink("grid"), zerolinecolor: ink("line"), linecolor: ink("line"), automargin: true, exponentformat: "power", minexponent: 5, separatethousands: true };
    return {
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink("ink") },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 54, r: 12, t: 26, b: 44 },
      hovermode: "closest",
      hoverlabel: { bgcolor: ink("ground"), bordercolor: ink("soft"), font: { color: ink("ink"), size: 12 }, align: "left", namelength: -1 },
      showlegend: false,
      dragmode: touch ? false : "zoom", // a finger that scrolls must not zoom
      modebar: { bgcolor: "rgba(0,0,0,0)", color: ink("soft"), activecolor: ink("link") },
      ...layout,
      xaxis: { ...axis, ...layout.xaxis },
      yaxis: { ...axis, ...layout.yaxis },
    };
  }

  function draw(figure) {
    const plot = figure.build(figure.chosen);
    const some = plot.traces.some((trace) => trace.meta !== undefined);
    figure.note.textContent = some ? plot.caption : (figure.empty ?? "Nothing was played to the end on this problem.");
    figure.plot.hidden = !some;
    figure.controls.hidden = !some || !figure.options;
    if (!some) {
      Plotly.purge(figure.plot);
      return;
    }
    if (plot.log !== undefined) $(`${figure.id}-log`).checked = plot.log;
    const layout = themed(plot.layout);
    figure.drawn = { traces: plot.traces, layout };
    figure.plot.setAttribute("aria-label", `${figure.title}, ${problem.name}`);
    Plotly.react(figure.plot, plot.traces, layout, {
      responsive: true,
      displaylogo: false,
      plotlyServerURL: "",
      // Named one by one: what Plotly would add, such as sharing on its servers, has no place here.
      modeBarButtons: [[
        "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d",
        { name: "save", title: "Save as a picture", icon: ICON, click: () => save(figure) },
      ]],
    });
  }

  const drawAll = () => figures.forEach(draw);

  function choose(figure, option) {
    const id = `${figure.id}-${option.name}`;
    if (option.check) {
      const box = make("input", { type: "checkbox", id });
      box.addEventListener("change", () => { figure.chosen[option.name] = box.checked; draw(figure); });
      return [make("label", { for: id }, box, option.label)];
    }
    const select = make("select", { id, "aria-label": option.label });
    for (const [value, text] of option.values) select.append(make("option", { value }, text.split(":")[0]));
    select.addEventListener("change", () => { figure.chosen[option.name] = select.value; draw(figure); });
    return [select];
  }

  function setUp() {
    for (const description of FIGURES) {
      const figure = { ...description, chosen: {} };
      for (const option of figure.options ?? []) {
        // The scale is chosen by what is drawn until somebody chooses.
        figure.chosen[option.name] = option === LOG ? null : option.check ? false : option.values[0][0];
      }
      figure.plot = make("div", { class: "plot", id: `plot-${figure.id}`, role: "group" });
      figure.note = make("figcaption");
      figure.controls = make("p", { class: "choice" }, ...(figure.options ?? []).flatMap((option) => choose(figure, option)));
      $("figures").append(make("figure", { id: `figure-${figure.id}` },
        make("h3", {}, figure.title), figure.controls, figure.plot, figure.note));
      figures.push(figure);
    }
  }

  // --- the list of algorithms, one legend for all figures --------------------------------------

  const DASHES = { solid: "", dashdot: "7 3 2 3", longdash: "9 3", longdashdot: "9 3 2 3" };
  const SHAPES = {
    circle: "M20 8m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", square: "M16.5 4.5h7v7h-7z", "triangle-up": "M20 3l4.6 8.5h-9.2z",
    diamond: "M20 3l5 5-5 5-5-5z", "triangle-down": "M20 13l4.6-8.5h-9.2z", cross: "M18.5 3.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    x: "M17.2 3.8L20 6.6l2.8-2.8 1.4 1.4L21.4 8l2.8 2.8-1.4 1.4L20 9.4l-2.8 2.8-1.4-1.4L18.6 8l-2.8-2.8z",
    star: "M20 2.5l1.6 3.7 4 .3-3 2.7.9 3.9L20 11l-3.5 2.1.9-3.9-3-2.7 4-.3z",
  };

  function swatch(i) {
    const look = data.looks[i];
    const draw = (tag, attributes) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      return element;
    };
    const svg = draw("svg", { width: 40, height: 16, viewBox: "0 0 40 16", "aria-hidden": "true" });
    svg.append(draw("path", { d: "M0 8h40", stroke: colourOf(i), "stroke-width": 2, "stroke-dasharray": DASHES[look.dash] ?? "" }),
      draw("path", { d: SHAPES[look.symbol] ?? SHAPES.circle, fill: colourOf(i) }));
    return svg;
  }

  function tally() {
    const [shown, there] = [problem.on.size, problem.curves.length];
    $("legend-box").firstElementChild.textContent = `Algorithms (${shown} of ${there} shown)`;
  }

  function list() {
    tally();
    $("legend").replaceChildren(...problem.curves.map((curve) => {
      const button = make("button", { type: "button", "aria-pressed": String(problem.on.has(curve.i)), "data-algorithm": curve.i },
        swatch(curve.i), make("span", {}, data.names[curve.i]));
      button.addEventListener("click", () => {
        if (!problem.on.delete(curve.i)) problem.on.add(curve.i);
        button.setAttribute("aria-pressed", String(problem.on.has(curve.i)));
        tally();
        drawAll();
      });
      return make("li", {}, button);
    }));
    if (!problem.curves.length) $("legend").append(make("li", {}, "Nothing was played to the end."));
  }

  function shortcuts() {
    const show = (label, which) => {
      const button = make("button", { type: "button" }, label);
      button.addEventListener("click", () => { problem.on = new Set(which()); list(); drawAll(); });
      return button;
    };
    $("legend-all").append(
      show("All", () => problem.curves.map((curve) => curve.i)),
      show("None", () => []),
      show("As at first", () => problem.defaults),
    );
  }

  if (!problem) {
    $("figures").append(make("p", {}, "There is nothing to draw yet."));
    for (const box of all(".side")) box.hidden = true;
    return;
  }
  setUp();
  shortcuts();
  list();
  if (matchMedia("(max-width: 62rem)").matches && problem.curves.length > data.shown) $("legend-box").open = false;
  drawAll();
  $("problem").addEventListener("change", (event) => {
    problem = data.problems[Number(event.target.value)];
    list();
    drawAll();
  });
  const repaint = () => { list(); drawAll(); };
  dark.addEventListener("change", repaint);

  // On paper: light, and with nothing folded away.
  let folded = [];
  addEventListener("beforeprint", () => {
    printing = true;
    folded = all("details:not([open])");
    for (const each of folded) each.open = true;
    repaint();
  });
  addEventListener("afterprint", () => {
    printing = false;
    for (const each of folded) each.open = false;
    repaint();
  });
  }
})();
