// Reads cases as JSON from standard input, takes each step with the page's functions, writes JSON.
const S = require(process.argv[2]);

const knowledge = {
  ball: ({ G_g, reach, valueError }) => new S.LipschitzBall(G_g, reach, valueError),
  hull: ({ G_g, reach, valueError }) => new S.LipschitzHull(G_g, reach, valueError),
  curvature: ({ beta, reach, valueError }) => new S.CurvatureRows([beta], reach, valueError),
  rows: ({ beta, reach, valueError }) => new S.CurvatureRows(beta, reach, valueError),
};

const takes = {
  filter({ kind, constants }, { state, told, g, s, t }) {
    const [after, region] = S.admit(knowledge[kind](constants), state, told, g, s);
    const { bound, text } = region.certificate(after.x, t);
    return { x: after.x, bound, text, contradictions: region.contradictions };
  },
  estimated({ constants }, { state, told, g, s, t }) {
    const known = new S.EstimatedHull(constants.theta, constants.reach, constants.valueError);
    const [after, region] = S.admit(known, state, told, g, s);
    const { bound, text } = region.certificate(after.x, t);
    return { x: after.x, bound, text, estimate: known.estimate(after.memory), outline: region.outline };
  },
  context({ constants }, { memory, x, told, g, s, place, t }) {
    const { G_g, reach, startBound, valueError } = constants;
    const known = new S.ContextHull(G_g, reach, startBound, valueError);
    const [after, { contradictions }] = known.see(memory, x, g, s);
    const region = known.region(known.announce(after, place));
    const next = region.nearest(told);
    return { x: next, ...region.certificate(next, t), contradictions, outline: region.outline };
  },
  tightened({ corners, ellipse, c }, { told }) {
    const whole = corners ? new S.Polygon(corners) : new S.Ellipse(...ellipse);
    const shape = whole.tightened(c);
    const x = shape.project(told);
    return { x, value: shape.value(x), before: whole.value(told), after: shape.value(told) };
  },
  pfs: ({ constants }, { state, told, g, s }) => ({ x: S.pfs(constants, state.x, told, g, s) }),
  dpp: ({ constants }, { state, told, g, s }) => S.dpp(constants, state, told, g, s),
  lbSgd: ({ constants }, { state, told, g, s }) => ({ x: S.lbSgd(constants, state.x, told, g, s) }),
  project({ corners, ellipse }, { told }) {
    const shape = corners ? new S.Polygon(corners) : new S.Ellipse(...ellipse);
    const x = shape.project(told);
    return { x, value: shape.value(x), ...shape.largest(told) };
  },
  general: (_, { value, digits }) => ({ text: S.general(value, digits) }),
};

function lead({ constants, start, rounds }) {
  const player = new S.LeaderFollower(constants);
  player.init(start);
  return rounds.map(({ told, g, s }) => player.step(told, g, s));
}

const game = JSON.parse(require("fs").readFileSync(0, "utf8"));
S.ready.then(() => {
  const take = (round) => takes[game.take](game, round);
  const found = game.take === "leader" ? lead(game) : game.rounds.map(take);
  process.stdout.write(JSON.stringify(found));
});
