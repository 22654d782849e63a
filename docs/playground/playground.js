/* The page: shapes to drag, six certified regions, a race. The mathematics is in steps.js. */
"use strict";

(() => {
  const S = Surefoot;
  const RADIUS = 1.6; // of the ball that holds every action
  const ETA = 0.25; // of the step that a certified player would like to take
  const JITTER = 0.5; // how far the points that cost around the target are from it
  const TRAIL = 60;
  const RAYS = 360; // along which the boundary of a region is sought
  const HOTTEST = 0.1; // the most that the heat adds to g; the start stays inside

  const setting = {
    shape: "polygon",
    corners: [[-0.95, -0.55], [0.55, -0.9], [1.1, 0.05], [0.3, 0.85], [-0.8, 0.7]],
    ellipse: { centre: [0, 0], a: 1.1, b: 0.6, angle: 0.45 },
    target: [1.4, 0.3],
    slope: 1,
    bend: 0,
    rho: 0.05,
    noise: 0,
    theta: 2,
    heat: 0,
    lie: false,
    chosen: "hull",
  };

  const coolShape = () => {
    const { centre, a, b, angle } = setting.ellipse;
    return setting.shape === "polygon"
      ? new S.Polygon(setting.corners)
      : new S.Ellipse(centre, a, b, angle);
  };
  const shapeOf = () => coolShape().tightened(setting.heat);
  // A lie halves all that is assumed, so that every panel has the same one to tell. What is 0, as the
  // curvature of straight rows, stays true: `rests` is the number that a panel or player rests on.
  const assumedSlope = (shape) => shape.G_g * (setting.lie ? 0.5 : setting.slope);
  const assumedBend = (shape) => (setting.lie ? 0.5 * shape.curvature : shape.curvature + setting.bend);

  /** The same random numbers after every start: what differs is what was changed. */
  function randomNumbers(seed) {
    let a = seed;
    return () => {
      a = (a + 0x6d2b79f5) | 0;
      let t = Math.imul(a ^ (a >>> 15), 1 | a);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  // --- who plays -------------------------------------------------------------------------------------

  const KINDS = {
    ball: {
      title: "One ball",
      about: "last value, bound on the slope",
      rests: (shape) => shape.G_g,
      known: (shape) => new S.LipschitzBall(assumedSlope(shape), RADIUS, setting.noise),
    },
    hull: {
      title: "Memory",
      about: "hull with the deepest ball before",
      rests: (shape) => shape.G_g,
      known: (shape) => new S.LipschitzHull(assumedSlope(shape), RADIUS, setting.noise),
    },
    curvature: {
      title: "Curvature",
      about: "bound on how g bends",
      rests: (shape) => shape.curvature,
      absent: "The largest of several rows has corners: no curvature bounds it. See the rows apart, or choose the ellipse.",
      known: (shape) =>
        shape instanceof S.Ellipse &&
        new S.CurvatureRows([assumedBend(shape)], RADIUS, setting.noise),
    },
    rows: {
      title: "Rows",
      about: "every row seen, each with a curvature",
      rests: (shape) => shape.curvature,
      apart: true,
      known: (shape) =>
        new S.CurvatureRows(
          shape.apart(shape.middle).g.map(() => assumedBend(shape)),
          RADIUS,
          setting.noise,
        ),
    },
    unknown: {
      title: "G_g unknown",
      about: "θ times what was proved of it",
      rests: () => 0,
      eta: 1, // a small step would teach it the slopes before it can be outside
      known: () => new S.EstimatedHull(setting.theta, RADIUS, setting.noise),
    },
    weather: {
      title: "Weather",
      about: "what the heat adds to g",
      rests: (shape) => shape.G_g,
      known: () => {
        const cool = coolShape();
        const hottest = cool.value(cool.middle) + HOTTEST;
        return new S.ContextHull(assumedSlope(cool), RADIUS, hottest, setting.noise);
      },
    },
  };

  const PLAYERS = {
    leader: { title: "Surefoot", about: "bound on the slope", rests: (shape) => shape.G_g, colour: "blue" },
    projection: { title: "Projection", about: "the whole set", colour: "green" },
    dpp: { title: "Drift + penalty", about: "nothing", colour: "orange" },
    pfs: { title: "Plain PFS", about: "margin ρ", colour: "red" },
    lbSgd: { title: "LB-SGD", about: "curvature", rests: (shape) => shape.curvature, colour: "purple" },
  };

  let game;

  function startAgain() {
    const shape = shapeOf();
    const start = coolShape().middle; // the same in every heat
    game = { shape, t: 0, random: randomNumbers(7), points: [0, 0], squares: 0, panels: {}, race: {} };
    for (const [kind, { known: make }] of Object.entries(KINDS)) {
      const known = make(shape);
      const state = known && { x: start, memory: known.init(kind === "weather" ? setting.heat : start) };
      game.panels[kind] = { known, state, trail: [start], outside: 0, alarms: [], bound: null };
    }
    const leader = new S.LeaderFollower({
      G_g: assumedSlope(shape),
      radius: RADIUS,
      valueError: setting.noise,
    });
    const states = {
      leader: leader.init(start),
      dpp: { x: start, queues: shape.apart(start).g.map(() => 0) },
    };
    game.leader = leader;
    for (const name of Object.keys(PLAYERS)) {
      const state = states[name] ?? { x: start };
      game.race[name] = { state, trail: [start], outside: 0, worst: -Infinity, paid: 0 };
    }
    draw();
  }

  /** Another heat is another limit, and all begin again, but the one who knows what it adds to g. */
  function changeHeat() {
    const { weather } = game.panels;
    startAgain();
    if (!weather.region) return;
    const memory = weather.known.announce(weather.state.memory, setting.heat);
    const region = weather.known.region(memory);
    const x = region.nearest(weather.wanted);
    const cut = { ...weather.cut, g: weather.cut.g + setting.heat - weather.state.memory.context };
    Object.assign(weather, { region, cut, state: { x, memory }, trail: [cut.x, x] });
    Object.assign(weather, region.certificate(x, memory.rounds));
    game.panels.weather = weather;
    draw();
  }

  // --- a round ---------------------------------------------------------------------------------------

  function playRound() {
    const { random } = game;
    const angle = 2 * Math.PI * random();
    const away = JITTER * Math.sqrt(random());
    const point = S.plus(setting.target, [away * Math.cos(angle), away * Math.sin(angle)]);
    const error = setting.noise * (2 * random() - 1);
    game.t += 1;
    game.points = S.plus(game.points, point);
    game.squares += S.dot(point, point);
    for (const kind of Object.keys(KINDS)) playPanel(kind, point, error);
    for (const name of Object.keys(PLAYERS)) playRacer(name, point, error);
  }

  function playPanel(kind, point, error) {
    const panel = game.panels[kind];
    if (!panel.known || panel.refused) return;
    const { x } = panel.state;
    const { g: rows, s: slopes } = game.shape.apart(x);
    const { g, s } = game.shape.largest(x);
    const read = g + error;
    const most = read + setting.noise; // the margin is kept from what g may be
    const how = { eta: KINDS[kind].eta ?? ETA, rho: setting.rho, radius: RADIUS };
    const wanted = S.pfs(how, x, S.minus(x, point), most, s);
    panel.seen = g;
    panel.outside += g > 0;
    try {
      const several = KINDS[kind].apart;
      const [state, region] = several || kind === "curvature"
        ? S.admit(panel.known, panel.state, wanted, rows.map((v) => v + error), slopes)
        : S.admit(panel.known, panel.state, wanted, read, s);
      Object.assign(panel, { state, region, wanted, cut: { x, g: most, s } });
      Object.assign(panel, region.certificate(state.x, state.memory.rounds));
      if (!panel.alarms.length) panel.alarms = region.contradictions;
      remember(panel, state.x);
    } catch (error_) {
      if (!(error_ instanceof S.Refused)) throw error_;
      panel.refused = error_.message;
    }
  }

  function playRacer(name, point, error) {
    const racer = game.race[name];
    if (racer.refused) return;
    const { shape } = game;
    const { x } = racer.state;
    const grad = S.minus(x, point);
    const { g: rows, s: slopes } = shape.apart(x);
    const { g, s } = shape.largest(x);
    const read = rows.map((v) => v + error);
    racer.outside += g > 0;
    racer.worst = Math.max(racer.worst, g);
    racer.paid += 0.5 * S.dot(grad, grad);
    const beta = assumedBend(shape);
    const next = {
      leader: () => game.leader.step(grad, g + error, s),
      projection: () => ({ x: shape.project(S.along(x, -0.1, grad)) }),
      dpp: () => S.dpp({ V: 14, alpha: 200, radius: RADIUS }, racer.state, grad, read, slopes),
      pfs: () => ({ x: S.pfs({ eta: 0.1, rho: setting.rho, radius: RADIUS }, x, grad, g + error, s) }),
      lbSgd: () => ({ x: S.lbSgd({ weight: 0.02, beta, costCurvature: 1 }, x, grad, read, slopes) }),
    };
    try {
      racer.state = next[name]();
      remember(racer, racer.state.x);
    } catch (error_) {
      if (!(error_ instanceof S.Refused)) throw error_;
      racer.refused = error_.message;
    }
  }

  function remember(player, x) {
    player.trail.push(x);
    if (player.trail.length > TRAIL) player.trail.shift();
  }

  /** The cost of the best fixed feasible point in hindsight: the projection of the mean. */
  function leastCost() {
    const { t, points, squares, shape } = game;
    const best = shape.project(S.times(1 / t, points));
    return 0.5 * (t * S.dot(best, best) - 2 * S.dot(best, points) + squares);
  }

  // --- drawing ---------------------------------------------------------------------------------------

  const byId = (id) => document.getElementById(id);
  const NS = "http://www.w3.org/2000/svg";

  function element(name, attributes = {}, ...children) {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const screen = ([a, b]) => [a, -b];
  const pathOf = (points, closed = true) =>
    points.map((p, i) => `${i ? "L" : "M"}${screen(p).map((v) => v.toFixed(4)).join(" ")}`).join("") +
    (closed ? "Z" : "");
  const disc = (p, r, kind) => {
    const [cx, cy] = screen(p);
    return element("circle", { cx, cy, r, class: kind });
  };

  function outlineOf(shape) {
    if (shape instanceof S.Polygon) return shape.corners;
    return Array.from({ length: 96 }, (_, i) => {
      const angle = (2 * Math.PI * i) / 96;
      const v = shape.turned([shape.a * Math.cos(angle), shape.b * Math.sin(angle)], 1);
      return S.plus(shape.centre, v);
    });
  }

  /** The part of the plane that a panel shows: the shape, a third wider than high, and some air. */
  function viewOf(shape) {
    const outline = outlineOf(shape).map(screen);
    const [a, b] = [0, 1].map((i) => outline.map((p) => p[i]));
    const middle = [a, b].map((v) => 0.5 * (Math.min(...v) + Math.max(...v)));
    const half = [a, b].map((v) => 0.5 * (Math.max(...v) - Math.min(...v)));
    const high = 1.25 * Math.max(half[1], half[0] / 1.3);
    return [middle[0] - 1.3 * high, middle[1] - high, 2.6 * high, 2 * high].map((v) => v.toFixed(3)).join(" ");
  }

  /** The boundary of a convex region, found along rays from a point of it. */
  function boundaryOf(region) {
    if (region.outline) return region.outline;
    const from = region.middle;
    return Array.from({ length: RAYS }, (_, i) => {
      const ray = [Math.cos((2 * Math.PI * i) / RAYS), Math.sin((2 * Math.PI * i) / RAYS)];
      let [low, high] = [0, 4];
      for (let k = 0; k < 24; k++) {
        const middle = 0.5 * (low + high);
        if (region.holds(S.along(from, middle, ray))) low = middle;
        else high = middle;
      }
      return S.along(from, low, ray);
    });
  }

  /** The line on which the cut says that g is 0. */
  function cutLine({ x, g, s }) {
    const n = S.times(1 / S.norm(s), s);
    const foot = S.along(x, -g / S.norm(s), n);
    const far = [S.along(foot, 4, [-n[1], n[0]]), S.along(foot, -4, [-n[1], n[0]])];
    return element("path", { d: pathOf(far, false), class: "cut" });
  }

  /** A number for a small place: what is nothing but rounding is 0. */
  const short = (value) => (Math.abs(value) < 1e-9 ? "0" : S.general(value));

  const inWords = (text) => text.replaceAll("G_g", "G<sub>g</sub>");

  const panels = {};

  function makePanels() {
    for (const [kind, { title, about }] of Object.entries(KINDS)) {
      const figure = document.createElement("figure");
      figure.className = "panel";
      figure.innerHTML =
        `<button type="button"><strong>${inWords(title)}</strong><span>${about}</span></button>` +
        `<svg viewBox="-1.65 -1.65 3.3 3.3" role="img" aria-label="Region certified by: ${about}"></svg>` +
        "<dl><div><dt>next g ≤</dt><dd class='bound'>–</dd></div>" +
        "<div><dt>it is</dt><dd class='value'>–</dd></div>" +
        "<div><dt>outside</dt><dd class='outside'>0</dd></div></dl><p class='absent' hidden></p>";
      byId("panels").append(figure);
      const find = (selector) => figure.querySelector(selector);
      panels[kind] = { figure, button: find("button"), svg: find("svg"), numbers: find("dl") };
      Object.assign(panels[kind], { bound: find(".bound"), value: find(".value") });
      Object.assign(panels[kind], { outside: find(".outside"), absent: find(".absent") });
      find("button").addEventListener("click", () => {
        setting.chosen = kind;
        draw();
      });
    }
  }

  function drawPanel(kind) {
    const { figure, button, svg, numbers, bound, value, outside, absent } = panels[kind];
    const panel = game.panels[kind];
    const honest = setting.lie && panel.known && !KINDS[kind].rests(game.shape);
    button.querySelector("span").textContent = honest
      ? "rests on nothing that was halved"
      : KINDS[kind].about;
    const parts = [element("path", { d: pathOf(outlineOf(game.shape)), class: "set" })];
    figure.classList.toggle("chosen", setting.chosen === kind);
    figure.classList.toggle("alarmed", panel.alarms.length > 0);
    button.setAttribute("aria-pressed", String(setting.chosen === kind));
    absent.hidden = Boolean(panel.known) && !panel.refused;
    absent.textContent = panel.refused ?? KINDS[kind].absent ?? "";
    numbers.hidden = !panel.known;
    figure.classList.toggle("without", !panel.known);
    svg.setAttribute("viewBox", viewOf(game.shape));
    if (panel.known) {
      const { x } = panel.state;
      if (panel.region) {
        parts.push(element("path", { d: pathOf(boundaryOf(panel.region)), class: "region" }));
        if (S.norm(panel.cut.s) > 0) parts.push(cutLine(panel.cut));
      }
      parts.push(element("path", { d: pathOf(panel.trail, false), class: "trail" }));
      if (panel.region) {
        if (!S.same(panel.wanted, x)) {
          parts.push(element("path", { d: pathOf([x, panel.wanted], false), class: "wish" }));
          parts.push(disc(panel.wanted, 0.045, "wanted"));
        }
        parts.push(disc(panel.cut.x, 0.026, "last"));
      }
      const g = game.shape.value(x);
      parts.push(disc(x, 0.06, g > 0 ? "next out" : "next"));
      bound.textContent = panel.bound === null ? "–" : short(panel.bound);
      value.textContent = short(g);
      outside.textContent = panel.outside;
      outside.classList.toggle("bad", panel.outside > 0);
    }
    svg.replaceChildren(...parts);
  }

  function drawStage() {
    const players = Object.entries(PLAYERS).reverse(); // Surefoot on top
    layers.set.replaceChildren(element("path", { d: pathOf(outlineOf(game.shape)), class: "set" }));
    layers.players.replaceChildren(
      ...players.flatMap(([name, { colour, title }]) => {
        const { trail, state } = game.race[name];
        const line = element("path", { d: pathOf(trail, false), class: "trail" });
        line.style.stroke = `var(--${colour})`;
        const dot = disc(state.x, 0.05, "next");
        dot.style.fill = `var(--${colour})`;
        dot.append(element("title", {}, title));
        return [line, dot];
      }),
    );
    placeGrips();
  }

  function drawScore() {
    const least = game.t ? leastCost() : 0;
    const rows = Object.entries(PLAYERS).map(([name, { title, about, rests, colour }]) => {
      const { outside, worst, paid, refused } = game.race[name];
      const knows = setting.lie && rests?.(game.shape) ? `half the ${about}` : about;
      const regret = refused ? "stopped" : game.t ? (paid - least).toFixed(2) : "–";
      const bad = outside > 0 ? ' class="bad"' : "";
      return (
        `<tr><td><span class="key" style="background: var(--${colour})"></span>${title}</td>` +
        `<td class="about">${knows}</td><td${bad}>${outside}</td>` +
        `<td>${game.t ? S.general(worst, 2) : "–"}</td><td>${regret}</td></tr>`
      );
    });
    byId("score").innerHTML = rows.join("");
  }

  function drawWords() {
    const panel = game.panels[setting.chosen];
    const { title, absent } = KINDS[setting.chosen];
    byId("round").textContent = game.t;
    const name = setting.chosen === "unknown" ? "a guess" : `${title[0].toLowerCase()}${title.slice(1)}`;
    const denied = panel.alarms.length > 0;
    byId("certificate").classList.toggle("denied", denied);
    const claim = setting.chosen === "unknown" ? "should be inside" : "is safe";
    byId("why-title").textContent = denied
      ? `Claimed by ${name}, from a wrong constant`
      : `Why the next step ${claim}, by ${name}`;
    const words = !panel.known
      ? absent
      : panel.refused
        ? `Refused: ${panel.refused}.`
        : (panel.text ?? "Take a step, and here is the inequality that shows the next one to be inside.");
    const guess = setting.chosen === "unknown" && panel.region;
    const learned = guess ? `. ${panel.known.estimate(panel.state.memory)}.` : "";
    byId("why").innerHTML = inWords(words + learned);
    const alarmed = Object.entries(game.panels).find(([, { alarms }]) => alarms.length);
    const alarm = byId("alarm");
    if (alarm.hidden !== !alarmed) alarm.hidden = !alarmed;
    if (!alarmed) return;
    const said = alarmed[1].alarms[0];
    const advice = "A controller would stop here; the page goes on, so that you see why it should.";
    const html = `<strong>Alarm.</strong> ${inWords(said)}. ${advice}`;
    if (alarm.dataset.said !== said) {
      alarm.dataset.said = said;
      alarm.innerHTML = html;
    }
  }

  function draw() {
    for (const kind of Object.keys(KINDS)) drawPanel(kind);
    drawStage();
    drawScore();
    drawWords();
  }

  // --- handles ---------------------------------------------------------------------------------------

  const layers = {};
  const grips = [];

  function makeStage() {
    for (const name of ["set", "players", "grips"]) {
      layers[name] = element("g");
      byId("stage").append(layers[name]);
    }
  }

  const within = (p, radius) => {
    const size = S.norm(p);
    return size > radius ? S.times(radius / size, p) : p;
  };

  /** What can be dragged: where it is, and what happens when it is moved. */
  function handles() {
    const target = {
      label: "Target",
      kind: "target",
      at: () => setting.target,
      move: (p) => (setting.target = within(p, 1.6)),
      keeps: true,
    };
    if (setting.shape === "polygon") {
      const corner = (_, i) => ({
        label: `Corner ${i + 1}`,
        at: () => setting.corners[i],
        move: (p) => moveCorner(i, within(p, 1.5)),
      });
      return [...setting.corners.map(corner), target];
    }
    const e = setting.ellipse;
    const room = () => 1.5 - S.norm(e.centre);
    const axis = (turn) => [Math.cos(e.angle + turn), Math.sin(e.angle + turn)];
    const length = (p) => Math.min(Math.max(S.norm(S.minus(p, e.centre)), 0.25), room());
    return [
      {
        label: "Centre",
        at: () => e.centre,
        move: (p) => (e.centre = within(p, 1.5 - Math.max(e.a, e.b))),
      },
      {
        label: "First axis",
        at: () => S.along(e.centre, e.a, axis(0)),
        move: (p) => {
          e.a = length(p);
          e.angle = Math.atan2(p[1] - e.centre[1], p[0] - e.centre[0]);
        },
      },
      {
        label: "Second axis",
        at: () => S.along(e.centre, e.b, axis(Math.PI / 2)),
        move: (p) => (e.b = length(p)),
      },
      target,
    ];
  }

  /** A corner may go anywhere that leaves a polygon with room inside. */
  function moveCorner(i, p) {
    const corners = setting.corners.map((corner, k) => (k === i ? p : corner));
    const shape = new S.Polygon(corners);
    if (shape.corners.length > 2 && shape.value(shape.middle) < -0.12) setting.corners = corners;
  }

  function makeGrips() {
    layers.grips.replaceChildren();
    grips.length = 0;
    for (const handle of handles()) {
      const grip = element(
        "g",
        {
          class: `grip ${handle.kind ?? ""}`,
          tabindex: 0,
          role: "button",
          "aria-label": `${handle.label}: drag, or move with the arrow keys`,
        },
        element("circle", { r: 0.17, class: "touch" }),
        element("circle", { r: 0.055, class: "seen" }),
      );
      if (handle.kind) grip.append(element("path", { d: "M-.1 0H.1M0-.1V.1" }));
      grip.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        grip.focus({ preventScroll: true });
        grip.setPointerCapture(event.pointerId);
      });
      grip.addEventListener("pointermove", (event) => {
        if (grip.hasPointerCapture(event.pointerId)) moved(handle, pointOf(event));
      });
      grip.addEventListener("keydown", (event) => {
        const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
        const step = way[event.key];
        if (!step) return;
        event.preventDefault();
        moved(handle, S.along(handle.at(), event.shiftKey ? 0.1 : 0.03, step));
      });
      grips.push({ grip, handle });
      layers.grips.append(grip);
    }
  }

  function placeGrips() {
    for (const { grip, handle } of grips) {
      const [a, b] = screen(handle.at());
      grip.setAttribute("transform", `translate(${a.toFixed(4)} ${b.toFixed(4)})`);
    }
  }

  function moved(handle, point) {
    handle.move(point);
    if (handle.keeps) draw(); // costs may change; a limit that does is another game
    else startAgain();
  }

  function pointOf(event) {
    const stage = byId("stage");
    const at = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = at.matrixTransform(stage.getScreenCTM().inverse());
    return [x, -y];
  }

  // --- controls --------------------------------------------------------------------------------------

  let running = false;
  let due = 0;

  function tick(now) {
    if (!running) return;
    if (now >= due) {
      due = now + 70;
      playRound();
      draw();
    }
    requestAnimationFrame(tick);
  }

  function run(on) {
    running = on;
    byId("run").textContent = on ? "Pause" : "Run";
    byId("run").setAttribute("aria-pressed", String(on));
    if (on) requestAnimationFrame(tick);
  }

  function showSettings() {
    const shape = shapeOf();
    byId("slope-out").textContent = `${(setting.lie ? 0.5 : setting.slope).toFixed(1)} × true`;
    byId("bend-out").textContent = assumedBend(shape).toFixed(1);
    byId("rho-out").textContent = setting.rho.toFixed(2);
    byId("noise-out").textContent = `± ${setting.noise.toFixed(3)}`;
    byId("theta-out").textContent = `${setting.theta.toFixed(1)} ×`;
    byId("heat-out").textContent = `g + ${setting.heat.toFixed(2)}`;
    for (const name of ["slope", "bend"]) byId(name).disabled = setting.lie;
  }

  function listen() {
    byId("run").addEventListener("click", () => run(!running));
    byId("step").addEventListener("click", () => {
      run(false);
      playRound();
      draw();
    });
    byId("again").addEventListener("click", startAgain);
    for (const name of ["slope", "bend", "rho", "noise", "theta", "heat"]) {
      byId(name).addEventListener("input", (event) => {
        setting[name] = Number(event.target.value);
        showSettings();
        if (name === "rho") draw();
        else if (name === "heat") changeHeat();
        else startAgain();
      });
    }
    byId("lie").addEventListener("change", (event) => {
      setting.lie = event.target.checked;
      showSettings();
      startAgain();
    });
    for (const input of document.querySelectorAll("input[name=shape]")) {
      input.addEventListener("change", () => {
        setting.shape = input.value;
        showSettings();
        makeGrips();
        startAgain();
      });
    }
  }

  makePanels();
  makeStage();
  makeGrips();
  listen();
  showSettings();
  S.ready.then(() => {
    startAgain();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) run(true);
  });
})();
