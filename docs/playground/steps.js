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
  const KEPT = 32; // rounds of other contexts, beside the first and the last
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
      const between = (1 - share) * value + share * seen.last_value;
      const back = `${general(1 - share)} of the way back to round ${round}`;
      const so = share < 1 ? `; so at most ${general(between)} at ${back}` : "";
      const both = `${then} and ${general(seen.last_value)} now${so}`;
      const atMost =
        `g is at most ${general(value)} where round ${round} was and ` +
        `${general(seen.last_value)} here, for values off by up to ${general(valueError, 6)}${so}`;
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

  // --- a constant that nobody knows: rule U ----------------------------------------------------------

  const sumOf = (weights, values) => weights.reduce((sum, w, i) => sum + w * values[i], 0);
  const products = (rows, v) => rows.map((row) => sumOf(row, v));

  /** The weights of the vertex that reaches furthest: one ball, or two with no slack left. */
  function furthest(reach, slack) {
    const pick = (some, of) => some.reduce((best, i) => (of(i) > of(best) ? i : best), some[0]);
    const all = slack.map((_, i) => i);
    let [i, j] = [-1, pick(all, (k) => reach[k])];
    if (slack[j] >= 0) return slack.map((_, k) => (k === j ? 1 : 0));
    const [inside, outside] = [all.filter((k) => slack[k] >= 0), all.filter((k) => slack[k] < 0)];
    const slope = (k, to) => (reach[k] - reach[to]) / (slack[k] - slack[to]);
    for (let before = -1; before !== j; ) {
      before = j;
      i = pick(inside, (k) => slope(k, before));
      j = pick(outside, (k) => -slope(k, i));
    }
    const share = (slack[i] / (slack[i] - slack[j])) * (1 - 80 * UNIT);
    return slack.map((_, k) => (k === j ? share : k === i ? 1 - share : 0));
  }

  /** The shares, of any sign, of the least in the plane of points; or of one along the fall. */
  function leastIn(points, radii, share) {
    if (share.length === 1) return [1];
    const ways = points.slice(1).map((p) => minus(p, points[0]));
    const more = radii.slice(1).map((r) => r - radii[0]);
    const [x, y] = [ways.map((way) => way[0]), ways.map((way) => way[1])];
    const [xx, xy, yy] = [sumOf(x, x), sumOf(x, y), sumOf(y, y)];
    const [det, small] = [xx * yy - xy * xy, 1e-11 * Math.sqrt(xx + yy)];
    const flat = ways.length === 1 || det <= (1e-11 * (xx + yy)) ** 2;
    const spread = xx + yy || 1; // 0 of balls around one point: only their radii differ
    const inverse = ways.map(([p, q]) =>
      flat ? [p / spread, q / spread] : [(yy * p - xy * q) / det, (xx * q - xy * p) / det],
    );
    const a = combine(more, inverse);
    const left = more.map((v, k) => v - dot(ways[k], a));
    const isLeft = (flat || ways.length > 2) && left.some((v) => Math.abs(v) > small);
    const whole = (others) => [-others.reduce((sum, v) => sum + v, 0), ...others];
    if (dot(a, a) < 1 && !isLeft) {
      const across = minus(points[0], combine(products(inverse, points[0]), ways));
      const end = along([-points[0][0], -points[0][1]], norm(across) / Math.sqrt(1 - dot(a, a)), a);
      const others = whole(products(inverse, end));
      return [1 + others[0], ...others.slice(1)];
    }
    const change = whole(isLeft ? left : products(inverse, a));
    const ends = share.map((v, k) => (change[k] < 0 ? v / -change[k] : Infinity));
    return share.map((v, k) => v + 2 * Math.min(...ends) * change[k]);
  }

  /** The weights of the ball nearest to w, of the means of balls that have a slack of at least 0. */
  function meanBall(w, centres, radii, slack) {
    const off = centres.map((x) => minus(x, w));
    const gaps = off.map((v, i) => norm(v) - radii[i]);
    const close = 10 * UNIT * Math.max(...gaps.map(Math.abs));
    const open = gaps.map((gap, i) => (slack[i] >= 0 ? gap : Infinity));
    const first = open.indexOf(Math.min(...open));
    let [vertices, share] = [[radii.map((_, i) => (i === first ? 1 : 0))], [1]];
    let [best, before] = [vertices[0], Infinity];
    for (let k = 0; k < 200; k++) {
      const weights = radii.map((_, i) => vertices.reduce((sum, v, m) => sum + share[m] * v[i], 0));
      const here = combine(weights, off);
      const far = norm(here);
      const gap = far - sumOf(weights, radii);
      if (gap < before) best = weights;
      if (gap <= close || gap >= before) break;
      before = gap;
      const reach = off.map((v, i) => radii[i] - dot(v, here) / far);
      const vertex = furthest(reach, slack);
      if (sumOf(vertex, reach) + gap <= close) break;
      [vertices, share] = [[...vertices, vertex], [...share, 0]];
      for (;;) {
        const points = vertices.map((v) => combine(v, off));
        const found = leastIn(points, products(vertices, radii), share);
        const ratio = found.map((v, i) => (v <= 0 ? share[i] / Math.max(share[i] - v, 1e-300) : Infinity));
        const least = Math.min(...ratio);
        if (least === Infinity) {
          share = found;
          break;
        }
        const gone = ratio.indexOf(least);
        share = share.map((v, i) => (i === gone ? 0 : v + least * (found[i] - v)));
        vertices = vertices.filter((_, i) => share[i] > 0);
        share = share.filter((v) => v > 0);
      }
    }
    const total = best.reduce((sum, v) => sum + v, 0);
    return best.map((v) => v / total);
  }

  /** Means of the actions that a hull remembers, whose values have a mean of at most 0. */
  class MeanRegion {
    constructor(known, memory) {
      const { part, start, used } = memory;
      const last = { x: part.last, value: part.last_value, round: part.rounds };
      const anchor = { x: part.anchor, value: part.anchor_value, round: part.anchor_round };
      const all = [...part.ladder.filter(Boolean), start, anchor, last];
      const kept = new Map(all.map((action) => [action.round, action]));
      this.actions = [...kept.values()].sort((a, b) => a.round - b.round);
      const deepest = anchor.value < last.value ? anchor : last;
      this.steepness = Math.min(used, -deepest.value / (1024 * 2 * UNIT * known.reach));
      this.rounding = 16 * 10 * UNIT * Math.max(...this.actions.map(({ x }) => norm(x)));
      this.margin = 3 * this.steepness * this.rounding;
      const values = this.actions.map(({ value }) => value);
      const bottom = values.indexOf(Math.min(...values));
      const back = (this.margin / -values[bottom]) * (1 + 8 * UNIT);
      const deep = this.actions[bottom].x;
      Object.assign(this, { known, values, bottom, back });
      this.centres = this.actions.map(({ x }) => along(times(1 - back, x), back, deep));
      this.contradictions = [];
    }

    mean(w) {
      const [none, slack] = [this.values.map(() => 0), this.values.map((v) => -v)];
      const shares = meanBall(w, this.centres, none, slack);
      return { shares, point: combine(shares, this.centres) };
    }

    nearest(w) {
      const { point } = this.mean(w);
      return norm(minus(w, point)) <= 0.5 * this.rounding ? w : point;
    }

    get outline() {
      const all = this.centres.map((x, i) => ({ x, value: this.values[i] }));
      const [inside, outside] = [all.filter((a) => a.value <= 0), all.filter((a) => a.value > 0)];
      const between = (a, b) => along(a.x, a.value / (a.value - b.value), minus(b.x, a.x));
      const ends = inside.flatMap((a) => outside.map((b) => ({ x: between(a, b) })));
      return supportOf([...inside, ...ends].map(({ x }) => ({ x, radius: 0 })));
    }

    certificate(point, t) {
      const { shares } = this.mean(point);
      const each = shares.map((v, i) => (1 - this.back) * v + (i === this.bottom ? this.back : 0));
      const most = each.reduce((sum, weight, i) => sum + weight * this.actions[i].value, 0);
      const bound = Math.min(most + this.margin, 0);
      const parts = each.flatMap((weight, i) =>
        weight ? [`${general(weight)} of round ${this.actions[i].round}`] : [],
      );
      const { valueError } = this.known;
      const errors = valueError ? `, for values off by up to ${general(valueError, 6)}` : "";
      const text =
        `round ${t}: the action is ${parts.join(" + ")}${errors}, and g is convex; ` +
        `the next g is at most ${general(bound)}`;
      return { bound, text };
    }
  }

  /** Nobody knows G_g: theta times what was proved of it is used, and few rounds are outside. */
  class EstimatedHull {
    constructor(theta, reach, valueError = 0) {
      Object.assign(this, { theta, reach, valueError });
    }

    init(x) {
      const part = new LipschitzHull(1, this.reach).init(x);
      return { rounds: 0, part, first: 0, proved: 0, used: 0, outside: 0, back: false };
    }

    region(memory) {
      if (memory.back) return new MeanRegion(this, memory);
      const guess = new LipschitzHull(memory.used, this.reach, this.valueError);
      const hull = new HullRegion(guess, memory.part);
      return new EstimatedRegion(this, memory, hull);
    }

    see(memory, x, g, s) {
      const [upper, lower] = [g + this.valueError, g - this.valueError];
      const room = this.reach - norm(x) + 16 * 10 * UNIT * this.reach;
      const fromBall = upper < 0 ? -upper / room : 0;
      let proved = Math.max(memory.proved, norm(s), fromBall);
      const isOutside = memory.first > 0 && lower > 0;
      let { outside } = memory;
      if (isOutside && !memory.back) {
        const { share, value } = this.region(memory).hull.ball(x);
        const slack = -((1 - share) * value + share * memory.part.last_value);
        proved = Math.max(proved, memory.used * (1 + lower / slack));
        outside += 1;
      }
      const used = this.theta * proved;
      const [part] = new LipschitzHull(used, this.reach).see(memory.part, x, upper, s);
      const first = memory.first || proved;
      const start = memory.start ?? { x, value: upper, round: 1 };
      const rounds = memory.rounds + 1;
      const after = { rounds, part, start, first, proved, used, outside, back: isOutside };
      return [after, this.region(after)];
    }

    /** What is known of G_g by now, in one sentence. */
    estimate({ proved, used, outside }) {
      const rounds = outside === 1 ? "1 round" : `${outside} rounds`;
      const told = outside ? `${rounds} outside so far, at most 2 more` : "at most 2 more rounds outside";
      const hidden = this.valueError ? ` by more than ${general(2 * this.valueError)}` : "";
      return (
        `G_g unknown: ${general(proved)} is proved, ${general(used)} is used; ${told}${hidden} ` +
        `if G_g <= ${general(used * this.theta ** 2)}`
      );
    }
  }

  /** What is certified if G_g is at most what is used for it. */
  class EstimatedRegion {
    constructor(known, memory, hull) {
      Object.assign(this, { known, memory, hull, contradictions: [] });
    }

    holds(w) {
      return this.hull.holds(w);
    }

    nearest(w) {
      return this.hull.nearest(w);
    }

    get middle() {
      return this.hull.middle;
    }

    certificate(point, t) {
      const { bound, text } = this.hull.certificate(point, t);
      const why = text.slice(text.indexOf(": ") + 2);
      const known = this.hull.ball(point).far === 0 ? `; at most ${general(bound)} in any case` : "";
      return { bound, text: `round ${t}: if G_g <= ${general(this.memory.used)}, ${why}${known}` };
    }
  }

  // --- a context that is known before acting ---------------------------------------------------------

  /** The boundary of the convex hull of balls: in each direction the point that is furthest. */
  function supportOf(balls, rays = 360) {
    return Array.from({ length: rays }, (_, i) => {
      const way = [Math.cos((2 * Math.PI * i) / rays), Math.sin((2 * Math.PI * i) / rays)];
      const reach = balls.map(({ x, radius }) => dot(x, way) + radius);
      const { x, radius } = balls[reach.indexOf(Math.max(...reach))];
      return along(x, radius, way);
    });
  }

  const roundUp = (a) => a + 2 ** -52 * Math.abs(a);

  /** The convex hull of balls in a context. */
  class ContextRegion {
    constructor(known, memory) {
      const { seen, context } = memory;
      Object.assign(this, { known, context, x: seen.at(-1).x, contradictions: [] });
      const start = { x: seen[0].x, value: known.startBound, place: context, round: 0 };
      this.seen = [...seen, start];
      this.values = this.seen.map(({ value, place }) => {
        const rise = roundUp(context - place);
        return rise === 0 ? value : roundUp(value + rise);
      });
      this.centres = this.seen.map(({ x }) => x);
      const alone = this.seen.map((_, i) => this.seen.map((_, k) => (i === k ? 1 : 0)));
      this.radii = alone.map((weights) => this.room(weights));
      this.radius = this.radii[seen.length - 1];
      this.depth = Math.max(...this.radii);
      this.deepest = alone[this.radii.indexOf(this.depth)];
      this.found = [this.deepest, alone[seen.length - 1]].filter((weights) => this.room(weights) >= 0);
    }

    level(weights) {
      return sumOf(weights, this.values);
    }

    /** The radius of the ball around a mean, less what rounding takes. */
    room(weights) {
      const { G_g, reach, lost } = this.known;
      const level = this.level(weights);
      const size = sumOf(weights, this.values.map(Math.abs)) + Math.abs(level);
      const several = 4 * (weights.length + 4) * UNIT;
      return -level / G_g - (lost + several * (reach + size / G_g));
    }

    ball(w) {
      const measured = () =>
        this.found.map((weights) => {
          const offset = minus(w, combine(weights, this.centres));
          const [far, room] = [norm(offset), this.room(weights)];
          return { weights, offset, far, room, gap: far - room };
        });
      const balls = measured();
      const least = Math.min(...balls.map(({ gap }) => gap));
      const nearest = balls.find(({ gap }) => gap === least);
      if (nearest.far <= nearest.room + this.known.rounding) return nearest;
      const [first, ...others] = this.found;
      this.found = [first, ...others.slice(-7), this.weightsTo(w)];
      this.found = this.found.filter((weights) => this.room(weights) >= 0);
      return measured().at(-1);
    }

    weightsTo(w) {
      const weights = meanBall(w, this.centres, this.radii, this.radii);
      const room = this.room(weights);
      if (!(room < 0)) return weights;
      const back = Math.min(1, (2 * -room) / (this.depth - room));
      return weights.map((v, i) => (1 - back) * v + back * this.deepest[i]);
    }

    nearest(w) {
      if (norm(minus(w, this.x)) <= this.radius) return w;
      const { weights, offset, far, room } = this.ball(w);
      if (far <= room + this.known.rounding) return w;
      return along(combine(weights, this.centres), room / far, offset);
    }

    bound(point) {
      const { weights, far } = this.ball(point);
      return this.level(weights) + this.known.G_g * far;
    }

    /** Balls with room, and the points between them and the others where none is left. */
    get outline() {
      const balls = this.centres.map((x, i) => ({ x, radius: this.radii[i] }));
      const [roomy, shut] = [balls.filter((b) => b.radius > 0), balls.filter((b) => b.radius <= 0)];
      const between = (a, b) => along(a.x, a.radius / (a.radius - b.radius), minus(b.x, a.x));
      const ends = roomy.flatMap((a) => shut.map((b) => ({ x: between(a, b), radius: 0 })));
      return supportOf([...roomy, ...ends]);
    }

    certificate(point, t) {
      const { weights, far, room } = this.ball(point);
      const { G_g, noise, valueError } = this.known;
      const level = this.level(weights);
      const bound = Math.min(level + G_g * far + noise, 0);
      const parts = weights.flatMap((weight, i) => {
        const { round } = this.seen[i];
        return weight ? [`${general(weight)} of ${round ? `round ${round}` : "the start"}`] : [];
      });
      const errors = valueError ? `, for values off by up to ${general(valueError, 6)}` : "";
      const text =
        `round ${t}: in the context ${general(this.context, 4)} g is at most ${general(level)} at ` +
        `${parts.join(" + ")}${errors}, and rises by at most G_g = ${general(G_g, 6)} per unit of ` +
        `length: ${general(room)} is certified, ${general(far)} was taken; ` +
        `the next g is at most ${general(bound)}`;
      return { bound, text };
    }
  }

  /** No slope is longer than G_g, and what a context adds to g is known: rounds of all contexts. */
  class ContextHull {
    constructor(G_g, reach, startBound, valueError = 0) {
      Object.assign(this, new LipschitzHull(G_g, reach, valueError), { reach, startBound });
    }

    init(context) {
      return { rounds: 0, context, seen: [] };
    }

    announce(memory, context) {
      return { ...memory, context };
    }

    region(memory) {
      return new ContextRegion(this, memory);
    }

    see(memory, x, g, s) {
      const { context } = memory;
      let upper = g + this.valueError;
      if (memory.rounds === 0 && !(upper + this.lost * this.G_g < 0)) throw new Refused(START);
      const bound = memory.rounds > 0 ? this.region(memory).bound(x) : Infinity;
      if (this.valueError && bound <= 0) upper = Math.min(upper, bound + this.noise);
      const rounds = memory.rounds + 1;
      let seen = [...memory.seen, { x, value: upper, place: context, round: rounds }];
      if (seen.length > KEPT + 2) {
        const missed = this.leastMissed(seen);
        seen = seen.filter((_, i) => i !== missed);
      }
      const after = { rounds, context, seen };
      const contradictions = this.contradictions(rounds, bound, g, s);
      return [after, Object.assign(this.region(after), { contradictions })];
    }

    /** What one has seen that is impossible if the constants are right; one sentence each. */
    contradictions(t, bound, g, s) {
      const found = [];
      if (norm(s) > this.G_g * (1 + 1e-12)) {
        found.push(`round ${t}: |s| = ${general(norm(s), 6)} exceeds G_g = ${general(this.G_g, 6)}`);
      }
      if (g - this.valueError > bound + 4 * this.noise) {
        const why = causes(`G_g = ${general(this.G_g, 6)} or the context is wrong`, this.valueError);
        found.push(`round ${t}: g = ${general(g, 6)} is above its bound ${general(bound)}: ${why}`);
      }
      return found;
    }

    /** Which round, neither the first nor the last, the others replace best. */
    leastMissed(seen) {
      const lost = seen.map((b, j) => {
        const there = seen.map((a, i) => {
          if (i === j) return Infinity;
          return a.value + roundUp(b.place - a.place) + this.G_g * norm(minus(a.x, b.x));
        });
        return Math.min(...there) - b.value;
      });
      return 1 + lost.slice(1, -1).indexOf(Math.min(...lost.slice(1, -1)));
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

    /** The polygon of g + c <= 0: every edge moves inwards, and may vanish. */
    tightened(c) {
      const made = new Polygon(this.corners);
      made.rows = this.rows.map(({ n, b }) => ({ n, b: b - c }));
      for (const { n, b } of made.rows) {
        made.corners = made.corners.flatMap((p, i, all) => {
          const q = all[(i + 1) % all.length];
          const [here, there] = [dot(n, p) - b, dot(n, q) - b];
          const crossing = here * there < 0 ? [along(p, here / (here - there), minus(q, p))] : [];
          return here <= 0 ? [p, ...crossing] : crossing;
        });
      }
      return made;
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
    constructor(centre, a, b, angle, scale = Math.min(a, b)) {
      Object.assign(this, { centre, a, b, angle, scale });
      this.G_g = scale / Math.min(a, b);
      this.curvature = scale / Math.min(a, b) ** 2;
    }

    /** The ellipse of g + c <= 0: it shrinks. */
    tightened(c) {
      const share = 1 - (2 * c) / this.scale;
      const [a, b] = [this.a, this.b].map((axis) => Math.sqrt(share) * axis);
      return new Ellipse(this.centre, a, b, this.angle, share * this.scale);
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
    ...{ ContextHull, CurvatureRows, Ellipse, EstimatedHull, LeaderFollower, LipschitzBall },
    ...{ LipschitzHull, Polygon, Refused },
    ...{ admit, along, dot, dpp, general, lbSgd, minus, norm, pfs, plus, ready, same, times },
  };
})();

if (typeof module !== "undefined") module.exports = Surefoot;
