/* The certified steps of Surefoot in the plane, and those of its rivals: functions of numbers.
 *
 * Each does what its namesake in Python does, with the same names; the tests compare them through
 * node. Leader and follower are the library's own C. A vector is an array of two numbers. Nothing
 * here knows the page.
 */
"use strict";

if (typeof module !== "undefined") globalThis.SurefootLeader = require("./leader.js");

const Surefoot = (() => {
  const UNIT = 2 ** -53;
  const RUNGS = 15;
  const CLOSE = 1e-7;
  const START = "the start must be strictly feasible, by more than the error of g";

  // --- vectors -----------------------------------------------------------------------------------

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
  const plus = (a, b) => [a[0] + b[0], a[1] + b[1]];
  const minus = (a, b) => [a[0] - b[0], a[1] - b[1]];
  const times = (k, a) => [k * a[0], k * a[1]];
  const along = (a, k, b) => [a[0] + k * b[0], a[1] + k * b[1]];
  const norm = (a) => Math.sqrt(dot(a, a));
  const within = (z, r) => (dot(z, z) <= r * r ? z : times(r / norm(z), z));
  const same = (a, b) => a[0] === b[0] && a[1] === b[1];
  const combine = (weights, rows) =>
    rows.reduce((sum, row, i) => along(sum, weights[i], row), [0, 0]);

  class Refused extends Error {}

  // --- what values and a bound on the subgradients certify: hulls of balls -------------------------

  /** The share of ball b in the ball of the hull of two that is nearest to w. */
  function shareOfTwoBalls(w, a, rA, b, rB) {
    const way = minus(b, a);
    const squared = dot(way, way);
    const less = rB - rA;
    const apart = squared - less * less;
    if (apart <= 0) return less > 0 ? 1 : 0;
    let off = minus(w, a);
    const q = dot(off, way);
    off = along(off, -q / squared, way);
    const share = (q + less * Math.sqrt((dot(off, off) * squared) / apart)) / squared;
    const top = rB >= 0 ? 1 : rA / -less;
    return share < 0 ? 0 : share > top ? top : share;
  }

  class HullRegion {
    constructor(known, memory, before, s, g = memory.last_value) {
      Object.assign(this, { known, memory, before, s, g });
      this.x = memory.last;
      this.anchor = memory.anchor;
      this.radius = known.radius(memory.last_value);
      this.anchorRadius = known.radius(memory.anchor_value);
      const rungs = memory.ladder.filter((rung) => rung && known.radius(rung.value) > 0);
      const deepest = { x: memory.anchor, value: memory.anchor_value, round: memory.anchor_round };
      this.balls = [deepest, ...rungs];
    }

    /** The ball nearest to a point, of the hulls of the last one with each of the others. */
    ball(w) {
      const found = this.balls.map(({ x, value, round }) => {
        const radius = this.known.radius(value);
        const share = shareOfTwoBalls(w, x, radius, this.x, this.radius);
        const centre = along(x, share, minus(this.x, x));
        const offset = minus(w, centre);
        const far = norm(offset);
        const room = Math.max(radius + share * (this.radius - radius), 0);
        return { share, centre, offset, far, room, value, round, gap: far - room };
      });
      // Where several are as near, the first that holds the point, or the first.
      const apart = this.balls.map(({ x }) => norm(minus(x, this.x)));
      const close = CLOSE * Math.max(norm(minus(w, this.x)), ...apart);
      const least = Math.min(...found.map(({ gap }) => gap));
      const near = found.filter(({ gap }) => gap <= least + close);
      const held = ({ far, room }) => least <= close && far <= room + this.known.rounding;
      return near.find(held) ?? near[0] ?? found[0];
    }

    holds(w) {
      const { far, room } = this.ball(w);
      return norm(minus(w, this.x)) <= this.radius || far <= room;
    }

    nearest(w) {
      if (norm(minus(w, this.x)) <= this.radius) return w;
      const { centre, offset, far, room } = this.ball(w);
      return far <= room ? w : along(centre, room / far, offset);
    }

    get middle() {
      return this.radius > this.anchorRadius ? this.x : this.anchor;
    }

    /** The bound on g at any point, and the ball that it is from. */
    most(point) {
      const ball = this.ball(point);
      const last = this.memory.last_value;
      const most = (1 - ball.share) * ball.value + ball.share * last + this.known.G_g * ball.far;
      return { ...ball, most };
    }

    certificate(point, t) {
      const { share, far, room, most, value, round } = this.most(point);
      const seen = this.memory;
      const { G_g, noise, valueError } = this.known;
      const bound = Math.min(most + noise, 0);
      const now = `g = ${general(seen.last_value)} now`;
      const then = `g = ${general(value)} in round ${round}`;
      const both = `${then} and ${general(seen.last_value)} now; from ${general(share)} of the way between them`;
      const atMost =
        `g is at most ${general(value)} where round ${round} was and ` +
        `${general(seen.last_value)} here, for values off by up to ${general(valueError, 6)}; ` +
        `from ${general(share)} of the way`;
      const exactly = share === 1 ? now : share === 0 ? then : both;
      return {
        bound,
        text:
          `round ${t}: ${valueError ? atMost : exactly}, and g rises by at most ` +
          `G_g = ${general(G_g, 6)} per unit of length: ${general(room)} is certified, ` +
          `${general(far)} was taken; the next g is at most ${general(bound)}`,
      };
    }

    /** What one has seen that is impossible if G_g is right; one sentence each. */
    get contradictions() {
      const { G_g, noise, valueError } = this.known;
      const found = [];
      const { before, x, g } = this;
      const least = g - valueError;
      const steep = norm(this.s);
      const t = this.memory.rounds;
      if (steep > G_g * (1 + 1e-12)) {
        found.push(`round ${t}: |s| = ${general(steep, 6)} exceeds G_g = ${general(G_g, 6)}`);
      }
      if (before.rounds === 0) return found;
      const limit = this.known.limit(before, x);
      if (least > limit + 4 * noise) {
        found.push(
          `round ${t}: g = ${general(g, 6)} is above its certified bound ${general(limit)}: ` +
            causes(`G_g = ${general(G_g, 6)} is too small`, valueError),
        );
      }
      const below = least + dot(this.s, minus(before.anchor, x)) - before.anchor_value;
      if (below > 4 * noise) {
        found.push(
          `round ${t}: the subgradient says that g in round ${before.anchor_round} was at least ` +
            `${general(below)} above what was seen: ` +
            causes("a slope errs by more than 0", valueError),
        );
      }
      return found;
    }
  }

  /** No subgradient of g is longer than G_g: hulls of the last ball and one before, of any depth. */
  class LipschitzHull {
    constructor(G_g, reach, valueError = 0) {
      this.G_g = G_g;
      this.valueError = valueError; // bound on the error of an observed g
      this.noise = 16 * 6 * (UNIT * reach * G_g);
      this.rounding = 4 * 10 * UNIT * reach;
      this.lost = (2 * this.noise) / G_g + 4 * this.rounding;
    }

    init(x) {
      const anchor = { anchor: x, anchor_value: 0, anchor_round: 0 };
      return { rounds: 0, ...anchor, last: x, last_value: 0, ladder: [] };
    }

    /** How far from an action everything is feasible. */
    radius(value) {
      return -value / this.G_g - this.lost;
    }

    /** What g of an action was certified to be at most before it was played. */
    limit(memory, x) {
      return new HullRegion(this, memory).most(x).most;
    }

    /** The upper bound on g at the action played: the reading's, or the one certified before. */
    upper(memory, x, g) {
      if (!Number.isFinite(g)) throw new Refused(`constraint_value must be finite, got ${g}`);
      const upper = g + this.valueError;
      if (memory.rounds === 0 && !(upper + this.lost * this.G_g < 0)) throw new Refused(START);
      if (memory.rounds === 0 || !this.valueError) return upper;
      const limit = this.limit(memory, x);
      if (norm(minus(x, memory.last)) === 0) return Math.min(upper, memory.last_value);
      return limit <= 0 ? Math.min(upper, limit + this.noise) : upper; // the bound is rounded
    }

    see(memory, x, g, s) {
      const upper = this.upper(memory, x, g);
      const rounds = memory.rounds + 1;
      let { anchor, anchor_value, anchor_round } = memory;
      if (memory.rounds === 0) {
        [anchor, anchor_value, anchor_round] = [x, upper, rounds];
      } else if (memory.last_value < memory.anchor_value) {
        [anchor, anchor_value, anchor_round] = [memory.last, memory.last_value, memory.rounds];
      }
      const ladder = [...memory.ladder];
      const [radius, deepest] = [this.radius(memory.last_value), this.radius(anchor_value)];
      if (memory.rounds > 0 && radius > 0 && deepest < 2 ** RUNGS * radius) {
        const rung = Math.max(Math.floor(Math.log2(deepest / radius)), 0);
        ladder[rung] = { x: memory.last, value: memory.last_value, round: memory.rounds };
      }
      const deep = { anchor, anchor_value, anchor_round };
      const after = { rounds, ...deep, last: x, last_value: upper, ladder };
      return [after, new HullRegion(this, after, memory, s, g)];
    }
  }

  /** The same without memory: the ball of the last action alone. */
  class LipschitzBall extends LipschitzHull {
    see(memory, x, g, s) {
      const upper = this.upper(memory, x, g);
      const rounds = memory.rounds + 1;
      const anchor = { anchor: x, anchor_value: upper, anchor_round: rounds };
      const after = { rounds, ...anchor, last: x, last_value: upper, ladder: [] };
      return [after, new HullRegion(this, after, memory, s, g)];
    }
  }

  // --- what a bound on the curvature certifies: a ball or half-space per row -----------------------

  function ontoCurvatureBall(v, up, s, squared, beta) {
    const over = up + dot(s, v) + 0.5 * beta * dot(v, v);
    const nu = Math.sqrt(Math.max(squared - 2 * beta * up, 0));
    const below = nu * (nu + norm(along(s, beta, v)));
    const weight = below > 0 ? (2 * Math.max(over, 0)) / below : 0;
    return times(1 / (1 + beta * weight), along(v, -weight, s));
  }

  /** Multipliers of balls and half-spaces, each in turn made the best for the others. */
  function ascend(v, up, s, beta, sweeps) {
    const m = up.length;
    const G = s.map((a) => s.map((b) => dot(a, b)));
    const p = s.map((a) => dot(a, v));
    const lam = up.map(() => 0);
    const vv = dot(v, v);
    for (let k = 0; k < sweeps; k++) {
      let changed = false;
      for (let i = 0; i < m; i++) {
        const old = lam[i];
        lam[i] = 0;
        const b = beta[i];
        let [c, ahead, square] = [1, p[i], vv];
        for (let j = 0; j < m; j++) {
          const w = lam[j];
          if (!w) continue;
          c += w * beta[j];
          ahead -= w * G[i][j];
          if (b) square -= w * (2 * p[j] - lam.reduce((sum, l, h) => sum + l * G[j][h], 0));
        }
        ahead /= c;
        square = Math.max(square, 0) / (c * c);
        const over = up[i] + ahead + 0.5 * b * square;
        if (over <= 0) {
          changed = changed || old !== 0;
          continue;
        }
        const nu = Math.sqrt(Math.max(G[i][i] - 2 * b * up[i], 0));
        const bent = Math.sqrt(Math.max(G[i][i] + 2 * b * ahead + b * b * square, 0));
        const below = nu * (nu + bent);
        lam[i] = below > 0 ? (c * 2 * over) / below : 0;
        changed = changed || Math.abs(lam[i] - old) > 4e-16 * Math.abs(lam[i]);
      }
      if (!changed) break;
    }
    return lam;
  }

  /** The largest share of q, at most 1, with every quadratic at most 0; else 0. */
  function largestShare(q, up, s, beta) {
    let least = 1;
    up.forEach((h, i) => {
      const [a, b] = [dot(s[i], q), 0.5 * beta[i] * dot(q, q)];
      const below = a + Math.sqrt(Math.max(a * a - 4 * b * h, 0));
      let share = below > 0 ? (-2 * h) / below : 1;
      if (h > 0) share = a + b + h <= 0 ? 1 : 0;
      least = Math.min(least, share);
    });
    return Math.max(least, 0);
  }

  class RowsRegion {
    constructor(known, memory, before) {
      const { x, g, s, low } = memory;
      Object.assign(this, { known, before, x, g, s, low });
      const M = known.reach;
      this.margin = this.g.map(
        (g, i) =>
          32 * 10 * UNIT * (Math.abs(g) + norm(this.s[i]) * M + known.beta[i] * M * M),
      );
    }

    /** The certified bound on each row at a point. */
    bounds(point, share = 0.5) {
      const v = minus(point, this.x);
      const square = dot(v, v);
      return this.g.map(
        (g, i) =>
          g + share * this.margin[i] + dot(this.s[i], v) + 0.5 * this.known.beta[i] * square,
      );
    }

    holds(point) {
      return this.bounds(point).every((bound) => bound <= 0);
    }

    nearest(w) {
      if (this.holds(w)) return w;
      const { beta } = this.known;
      const up = this.g.map((g, i) => g + this.margin[i]);
      if (up.length === 1) return this.nearestOfOne(w, up[0]);
      const v = minus(w, this.x);
      const lam = ascend(v, up, this.s, beta, 16);
      const total = lam.reduce((sum, l, i) => sum + l * beta[i], 0);
      const q = times(1 / (1 + total), minus(v, combine(lam, this.s)));
      const over = this.bounds(plus(this.x, q), 1).map((bound, i) => {
        const squared = dot(this.s[i], this.s[i]);
        return Math.max(bound, 0) / (squared > 0 ? squared : 1);
      });
      const again = plus(this.x, minus(q, combine(over, this.s)));
      if (this.holds(again)) return again;
      const first = plus(this.x, q);
      if (this.holds(first)) return first;
      const nearly = this.g.map((g, i) => g + 0.6 * this.margin[i]);
      const way = minus(first, this.x);
      const drawn = along(this.x, largestShare(way, nearly, this.s, beta), way);
      return this.holds(drawn) ? drawn : this.x;
    }

    nearestOfOne(w, up) {
      let found = w;
      for (let tries = 0; tries < 3; tries++) {
        const v = minus(found, this.x);
        const s = this.s[0];
        found = plus(this.x, ontoCurvatureBall(v, up, s, dot(s, s), this.known.beta[0]));
        if (this.holds(found)) return found;
      }
      return this.x;
    }

    get middle() {
      return this.x;
    }

    certificate(point, t) {
      const bounds = this.bounds(point);
      const row = bounds.indexOf(Math.max(...bounds));
      const name = bounds.length === 1 ? "g" : `g[${row}]`;
      const v = minus(point, this.x);
      const length = norm(v);
      const { valueError, beta } = this.known;
      const g = this.g[row];
      const seen = valueError
        ? `the next ${name} here is at most ${general(g)}, for values off by up to ${general(valueError, 6)}`
        : `${name} = ${general(g)}`;
      if (length === 0) {
        const text = `round ${t}: nothing moves, and ${seen}${valueError ? "" : " stays"}`;
        return { bound: valueError ? Math.min(g, 0) : g, text };
      }
      const bound = Math.min(bounds[row], 0);
      return {
        bound,
        text:
          `round ${t}: ${seen}${valueError ? "" : " was seen"}, and its curvature is at most ` +
          `${general(beta[row], 6)}: ${general(g)} + (${general(dot(this.s[row], v))}) along the ` +
          `slope + ${general(0.5 * beta[row] * length ** 2)} for the ${general(length)} moved; ` +
          `the next ${name} is at most ${general(bound)}`,
      };
    }

    get contradictions() {
      if (this.read) return this.read.contradictions; // of what was read, and is not kept
      const before = this.before;
      if (before.rounds === 0) return [];
      const v = minus(this.x, before.x);
      const squared = dot(v, v);
      if (!(squared > 0)) return [];
      const old = new RowsRegion(this.known, before, before);
      const t = before.rounds + 1;
      // Outside of the feasible set the curvature may be any.
      if (this.g.some((v) => v > 0) && !old.holds(this.x)) return [];
      const found = [];
      this.g.forEach((g, i) => {
        const rise = this.low[i] - before.g[i] - dot(before.s[i], v);
        const fall = before.low[i] - g + dot(this.s[i], v);
        const over = Math.max(rise, fall);
        const noise = this.margin[i] + old.margin[i];
        const half = 0.5 * this.known.beta[i] * squared;
        if (!(over > half + noise)) return;
        const name = this.g.length === 1 ? "g" : `g[${i}]`;
        found.push(
          `round ${t}: ${name} = ${general(g, 6)} is above its quadratic bound ` +
            `${general(g - (over - half), 6)}: the curvature is at least ` +
            `${general((2 * (over - noise)) / squared, 6)}, more than ` +
            causes(`beta = ${general(this.known.beta[i], 6)}`, this.known.valueError, `or ${name}`),
        );
      });
      return found;
    }
  }

  /** Row i of g curves upwards by at most beta[i]; g and s have one entry per row. */
  class CurvatureRows {
    constructor(beta, reach, valueError = 0) {
      Object.assign(this, { beta, reach, valueError });
    }

    init(x) {
      const none = this.beta.map(() => 0);
      return { rounds: 0, x, g: none, s: none.map(() => [0, 0]), low: none };
    }

    see(memory, x, g, s) {
      if (!g.every(Number.isFinite)) throw new Refused("constraint_value must be finite");
      let upper = g.map((v) => v + this.valueError);
      if (this.valueError && memory.rounds > 0) {
        // What was certified bounds g there as well as the readings do; where x stayed, exactly.
        const stayed = norm(minus(x, memory.x)) === 0;
        const certified = stayed ? memory.g : new RowsRegion(this, memory, memory).bounds(x);
        if (stayed || certified.every((v) => v <= 0)) {
          upper = upper.map((v, i) => Math.min(v, certified[i]));
        }
      }
      const low = g.map((v) => v - this.valueError);
      const after = { rounds: memory.rounds + 1, x, g: upper, s, low };
      const region = new RowsRegion(this, after, memory);
      if (memory.rounds === 0 && !upper.every((v, i) => v + region.margin[i] < 0)) {
        throw new Refused(START);
      }
      if (memory.rounds > 0 && upper.some((v) => v > 0)) {
        // From an action that may be outside nothing is certified: what was known before is kept.
        const kept = { ...memory, rounds: after.rounds };
        return [kept, Object.assign(new RowsRegion(this, kept, memory), { read: region })];
      }
      return [after, region];
    }
  }

  /** Take a proposal to the nearest certified action: RegionFilter.admit. */
  function admit(known, state, proposal, g, s) {
    const [memory, region] = known.see(state.memory, state.x, g, s);
    return [{ x: region.nearest(proposal), memory }, region];
  }

  // --- learners ------------------------------------------------------------------------------------

  function projectBall(p, radius) {
    const squared = dot(p, p);
    if (squared <= radius * radius) return p;
    return times((radius * (1 - 10 * UNIT)) / Math.sqrt(squared), p);
  }

  /** Polyak feasibility steps: PFS.update. */
  function pfs({ eta, rho, radius }, x, grad, g, s) {
    let y = along(x, -eta, grad);
    const excess = g + dot(s, minus(y, x)) + rho;
    if (excess > 0) y = along(y, -excess / dot(s, s), s);
    return projectBall(y, radius);
  }

  /** Drift plus penalty, a queue per row: DPP.update. */
  function dpp({ V, alpha, radius }, { x, queues }, grad, g, s) {
    const d = plus(times(V, grad), combine(queues, s));
    const next = projectBall(along(x, -1 / (2 * alpha), d), radius);
    const way = minus(next, x);
    return { x: next, queues: queues.map((q, i) => Math.max(q + g[i] + dot(s[i], way), 0)) };
  }

  /** Gradient steps on cost and logarithmic barrier: LBSGD.update. */
  function lbSgd({ weight, beta, costCurvature }, x, grad, g, s) {
    if (!g.every((v) => v < 0)) throw new Refused("a logarithmic barrier needs g below 0");
    const d = plus(grad, times(weight, combine(g.map((v) => 1 / -v), s)));
    const size = norm(d);
    if (!(size > 0)) return x;
    let [room, smooth] = [Infinity, 0];
    g.forEach((v, i) => {
      const steep = Math.abs(dot(s[i], d)) / size;
      room = Math.min(room, -v / (2 * steep + Math.sqrt(-v * beta)));
      smooth += beta / -v + 2 * (steep / v) ** 2;
    });
    const curved = costCurvature + 2 * weight * smooth;
    return along(x, -Math.min(room / size, 1 / curved), d);
  }

  // --- leader and follower: the kernel's own step, as WebAssembly ------------------------------------

  const bytes = Uint8Array.from(atob(SurefootLeader), (letter) => letter.charCodeAt(0));
  let kernel = null;
  const ready = WebAssembly.instantiate(bytes).then(({ instance }) => {
    kernel = instance.exports;
  });

  /** One at a time: a new one takes the place of the last. Wait for `ready` before the first. */
  class LeaderFollower {
    constructor({ G_g, radius, valueError = 0 }) {
      Object.assign(this, { G_g, radius, valueError });
    }

    init(x) {
      return this.action(kernel.start(this.G_g, this.radius, this.valueError, ...x));
    }

    step(grad, g, s) {
      return this.action(kernel.step(...grad, g, ...s));
    }

    action(status) {
      if (status) throw new Refused(status === 2 ? START : `a round is refused with status ${status}`);
      return { x: [...new Float64Array(kernel.memory.buffer, kernel.action(), 2)] };
    }
  }

  // --- the constraint of the page ------------------------------------------------------------------

  /** The convex hull of points, anticlockwise. */
  function hullOf(points) {
    const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
    const half = (list) =>
      list.reduce((line, p) => {
        while (line.length > 1 && turn(line.at(-2), line.at(-1), p) <= 0) line.pop();
        return [...line, p];
      }, []);
    return [...half(sorted).slice(0, -1), ...half(sorted.reverse()).slice(0, -1)];
  }

  /** A polygon: one row per edge, with a normal of length 1, so that the true G_g is 1. */
  class Polygon {
    constructor(corners) {
      this.corners = hullOf(corners);
      this.rows = this.corners.map((p, i) => {
        const q = this.corners[(i + 1) % this.corners.length];
        const n = times(1 / norm(minus(q, p)), [q[1] - p[1], p[0] - q[0]]);
        return { n, b: dot(n, p) };
      });
      this.G_g = 1;
      this.curvature = 0;
    }

    apart(x) {
      return { g: this.rows.map(({ n, b }) => dot(n, x) - b), s: this.rows.map(({ n }) => n) };
    }

    nearestPoint(w) {
      if (this.value(w) <= 0) return w;
      let best = null;
      this.corners.forEach((p, i) => {
        const way = minus(this.corners[(i + 1) % this.corners.length], p);
        const share = Math.min(Math.max(dot(minus(w, p), way) / dot(way, way), 0), 1);
        const point = along(p, share, way);
        if (best === null || norm(minus(point, w)) < norm(minus(best, w))) best = point;
      });
      return best;
    }

    get middle() {
      return times(1 / this.corners.length, this.corners.reduce(plus, [0, 0]));
    }
  }

  /** An ellipse around a centre: half a quadratic, scaled so that the true G_g is 1. */
  class Ellipse {
    constructor(centre, a, b, angle) {
      Object.assign(this, { centre, a, b, angle });
      this.scale = Math.min(a, b);
      this.G_g = 1;
      this.curvature = this.scale / Math.min(a, b) ** 2;
    }

    turned(v, sign) {
      const [c, s] = [Math.cos(this.angle), sign * Math.sin(this.angle)];
      return [c * v[0] - s * v[1], s * v[0] + c * v[1]];
    }

    apart(x) {
      const [u, v] = this.turned(minus(x, this.centre), -1);
      const g = 0.5 * this.scale * ((u / this.a) ** 2 + (v / this.b) ** 2 - 1);
      const slope = [(this.scale * u) / this.a ** 2, (this.scale * v) / this.b ** 2];
      return { g: [g], s: [this.turned(slope, 1)] };
    }

    /** The nearest point, by Newton's method on its multiplier. */
    nearestPoint(w) {
      if (this.value(w) <= 0) return w;
      const [u, v] = this.turned(minus(w, this.centre), -1);
      const [aa, bb] = [this.a ** 2, this.b ** 2];
      let m = 0; // below the root the function is convex and falls, so Newton's steps never overshoot
      for (let k = 0; k < 60; k++) {
        const [p, q] = [(this.a * u) / (aa + m), (this.b * v) / (bb + m)];
        const over = p * p + q * q - 1;
        if (!(over > 1e-15)) break;
        m += over / (2 * ((p * p) / (aa + m) + (q * q) / (bb + m)));
      }
      return plus(this.centre, this.turned([(aa * u) / (aa + m), (bb * v) / (bb + m)], 1));
    }

    get middle() {
      return this.centre;
    }
  }

  for (const Shape of [Polygon, Ellipse]) {
    Object.assign(Shape.prototype, {
      value(x) {
        return Math.max(...this.apart(x).g);
      },
      /** The largest value and its slope. */
      largest(x) {
        const { g, s } = this.apart(x);
        const i = g.indexOf(Math.max(...g));
        return { g: g[i], s: s[i] };
      },
      /** The nearest feasible point, moved inside where rounding put it outside. */
      project(w) {
        let point = this.nearestPoint(w);
        for (let share = 1e-16; this.value(point) > 0 && share < 1; share *= 4) {
          point = along(point, share, minus(this.middle, point));
        }
        return point;
      },
    });
  }

  // --- words ---------------------------------------------------------------------------------------

  /** Why something impossible may have been seen, the most likely reason first. */
  function causes(constant, valueError, shape = "g is not convex, or it") {
    const reading = `a reading errs by more than ${general(valueError, 6)}`;
    return `${constant}, ${reading}, ${shape} changed`;
  }

  /** A number as Python's format ".3g" has it. */
  function general(value, digits = 3) {
    if (!Number.isFinite(value)) return String(value);
    if (value === 0) return Object.is(value, -0) ? "-0" : "0";
    const [mantissa, power] = value.toExponential(digits - 1).split("e");
    const exponent = Number(power);
    if (exponent < -4 || exponent >= digits) {
      const sign = exponent < 0 ? "-" : "+";
      const trimmed = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
      return `${trimmed}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
    }
    const fixed = value.toFixed(Math.max(digits - 1 - exponent, 0));
    return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
  }

  return {
    ...{ CurvatureRows, Ellipse, LeaderFollower, LipschitzBall, LipschitzHull, Polygon, Refused },
    ...{ admit, along, dot, dpp, general, lbSgd, minus, norm, pfs, plus, ready, same, times },
  };
})();

if (typeof module !== "undefined") module.exports = Surefoot;
