# mypy: disable-error-code="no-untyped-def,no-untyped-call,no-any-return,var-annotated,union-attr"
# mypy: disable-error-code="assignment,redundant-expr"
r"""Check a journal: was every action certified before it was played? It trusts nobody.

Run as ``surefoot check FILE``, or by itself, ``python check.py FILE``: it needs this file alone. It
computes in exact rationals, at the float64 actions themselves, from what was read and the constants
in the header. With up_i the least of the reading with its errors and of what was proved before of
the same action, aged by the drift v for k rounds, an action p is certified by one of

======  ===========================================================================================
stay    p is the last action, bit for bit, and up_t + v <= 0
hull    with a share l in [0, 1] and an anchor a:
        (1-l)(up_a + k_a v) + l(up_t + k v) + G_g |p - (1-l) x_a - l x_t| <= 0
        for a convex g; with l = 1 it is a ball, for any g; at the start a bound that the header
        knows for ever does not age
length  G_g(|p - q| + B) - rho <= 0: q is x_t drawn back to the half-space of its reading and to the
        domain, B bounds what is left of its distance to {g <= -rho}, round after round
curved  up_t + k v + s'(p - x_t) + tau |p - x_t| + beta/2 |p - x_t|^2 <= 0, for each row; where
        beta is relative, 2(e - 2)(L_0 + L_1 (|s| + tau)), for L_1 |p - x_t| <= 1
log     the mean of up_i over points of a log, and G_g |p - the mean of the points|, <= 0
places  the mean of up_i + w(c_i, c) over rounds, and G_g |p - the mean of their actions|, <= 0: w
        is what g can rise by from their contexts to that of p; for a g that is convex in x and c
        together, G_c |c - the mean of the c_i| instead; none was told after p was played
======  ===========================================================================================

*If it says "certified", the constants are right, readings err by at most what the header says, and
g at the start is below 0 by more than that, then g <= 0 in every certified round*
(docs/journal.md); of a limit on the average, the sum of the values read so far, in which case an
action is certified for what the rounds before have left instead of for 0. Sets, grids and ramps are
checked, too; orders of a controller know no ramp. Rounds of anchors, shares and weights are hints:
any that fulfil an inequality do. Roots are rounded up. What it cannot judge it calls "not checked",
with the rounds.
"""

import hashlib
import json
import math
import sys
from fractions import Fraction

ROUND = (
    "kind round time cost_gradient proposal constraint_value constraint_subgradient cost_value "
    "value_error within hint context played missing how why breaches next certificate digest"
)
CHECK = "kind noise domain delay copies late G_g beta rows start_bound ramp most L_0 L_1 context"
KEYS = {"round": ROUND, "check": CHECK, "context": "kind G_c"}
KEYS["errors"] = "value slope drift evaluation"
CONSTANT = {"rows": "beta", "relative": "L_0", "other": "noise"}
BENT = Fraction("1.43656365691809048")  # above 2(e - 2)


class WrongError(Exception):
    """The journal is not what it must be, in a sentence."""


class UnjudgedError(Exception):
    """An action that this file cannot judge, and why."""


def number(value, name, least=-math.inf, most=math.inf):
    """Return a finite number in an interval, exactly."""
    if type(value) not in (int, float) or not (math.isfinite(value) and least <= value <= most):
        raise WrongError(f"{name} must be a number from {least} to {most}, got {value!r}")
    return Fraction(value)


def vector(value, d, name):
    """Return a vector of finite numbers; zip would stop at the shorter list."""
    if not isinstance(value, list) or len(value) != d:
        raise WrongError(f"{name} must be a list of {d} numbers")
    return [number(part, name) for part in value]


def table(value, name):
    """Return a table without keys that are not known: one that is misspelt would mean 0."""
    if strangers := sorted(set(value) - set(KEYS[name].split())):
        raise WrongError(f"{name} has a key {strangers[0]!r} that is not known")
    return value


def root_up(square):
    """Return a root, rounded up."""
    n, d = square.numerator, square.denominator
    shift = max(0, 120 - (n.bit_length() - d.bit_length()) // 2)
    return Fraction(math.isqrt((n << (2 * shift)) // d) + 1, 1 << shift) if n else Fraction(0)


def minus(a, b):
    """Return the difference of two vectors."""
    return [i - j for i, j in zip(a, b, strict=True)]


def grid(*vectors):
    """Return vectors as whole numbers over one denominator, which is far faster than fractions."""
    whole = math.lcm(*(part.denominator for v in vectors for part in v))
    return whole, [[i.numerator * (whole // i.denominator) for i in v] for v in vectors]


def dot(a, b):
    """Return the inner product."""
    whole, pair = grid(a, b)
    return Fraction(sum(i * j for i, j in zip(*pair, strict=True)), whole * whole)


def distance(a, b):
    """Return how far two points are apart, rounded up."""
    off = minus(a, b)
    return root_up(dot(off, off))


class Life:
    """What one player knows; after a resume with another, that one's."""

    def __init__(self, record):
        facts, errors = table(record.get("check"), "check"), table(record.get("errors"), "errors")
        self.kind = facts["kind"]
        constants = facts[CONSTANT.get(self.kind, "G_g")]
        if self.kind == "log":
            log, constants = record["player"]["knowledge"], constants or 0
            self.log = [[*pair] for pair in zip(log["points"], log["values"], strict=True)]
        constants = constants if isinstance(constants, list) else [constants] * facts.get("rows", 1)
        self.constants = [number(part, "a constant", 0) for part in constants]
        # A slope error of None is that of slopes that do not count.
        told = (errors["value"], errors["slope"] or 0, errors["drift"], facts["noise"])
        self.nu, self.tau, self.v, self.noise = (number(part, "an error", 0) for part in told)
        self.delay = int(number(facts["delay"], "delay", 0))  # none was read before it was played
        self.domain, self.late = facts["domain"], facts["late"]
        bound, start = facts.get("start_bound"), record["start"]
        self.start = vector(start, len(start), "start")
        self.start_bound = math.inf if bound is None else number(bound, "start_bound")
        self.turns = self.delay + 1 if facts["copies"] else 1
        self.slack, self.first, self.chain = 0, {}, None  # first: of each copy, its first reading
        self.L_1 = number(facts.get("L_1", 0), "L_1", 0)
        self.ramp, self.spent = facts.get("ramp"), 0  # the sum of g, of a limit on the average
        self.most = number(facts["most"], "most", 0) if self.kind == "average" else 0
        context = table(facts.get("context") or {}, "context")
        self.rises, self.G_c = context.get("kind"), number(context.get("G_c") or 0, "G_c", 0)

    def limit(self):
        """Return what the next g may be: 0, or what the rounds so far have left."""
        if self.spent is None or (self.most and self.delay):
            raise UnjudgedError("a sum of g with late readings, or without some, is not judged")
        return min(self.most, -self.spent)

    def rise(self, before, now):
        """Return what g can rise by from a context to another."""
        if self.rises in ("Additive", "ToldDrift"):
            return max(way := now[0] - before[0], -way if self.rises == "ToldDrift" else way)
        if self.rises == "one_sided":
            before = [min(pair) for pair in zip(before, now, strict=True)]
        return self.G_c * distance(now, before)

    def round_of(self, count, t):
        """Return the round of a reading, from the count of the copy that steps after round t."""
        ahead = self.delay if self.turns == 1 else 0  # one player, that counts what it has waited
        return self.first.get(t % self.turns, 1) + (count - 1) * self.turns + ahead


class Checker:
    """Follows a journal line by line.

    Attributes:
        t: the current round.
        action: the one at hand, for that round.
        actions: those that were played, by round.
        bounds: the least that is proved of g in a round at its action; one number per row.
        read: by round: action, the reading with its errors as upper bounds, slopes, lower bounds.
        places: the contexts of the rounds.
    """

    def __init__(self, header):
        self.d, self.t = len(header["start"]), 1
        self.start = self.action = vector(header["start"], self.d, "start")
        self.actions, self.read, self.certified, self.unjudged = {}, {}, 0, {}
        self.begin(header)

    def begin(self, record):
        """Take a player, and the context it begins in; what was proved by another is not by it."""
        self.life, self.bounds, self.places = Life(record), {}, {}
        if self.life.kind == "context":
            self.take_context(record["loop"]["state"]["memory"]["context"], self.t)

    def take_context(self, context, t):
        """Keep the context of a round; where it is not told yet, nothing is certified."""
        self.places.pop(t, None)
        self.unjudged.pop(t, None)
        if context is not None:
            self.places[t] = [number(part, "context") for part in context["place"]]

    def take(self, record):
        """Take the next record."""
        kind = record.get("kind")
        if kind == "round":
            self.take_round(table(record, "round"))
            if self.life.ramp is not None and (record["certificate"] or {}).get("class") in RAMPED:
                self.check_ramp(minus(self.action, self.actions[self.t - 1]))
        elif kind == "refused":
            self.bounds.pop(self.t, None)
        elif kind == "announce":
            self.take_context(record["context"], self.t)
            self.judge(record, self.action, None)
        elif kind in ("hold", "retreat", "resume"):
            if record.get("fresh"):
                self.begin(record)
            self.judge(record, self.action, self.bounds.pop(self.t, None))

    def take_round(self, record):
        """Take a round: what was read in it, and the next action."""
        t, life = self.t, self.life
        if record["round"] != t:
            raise WrongError(f"its record is missing, got that of {record['round']!r}")
        self.actions[t] = self.action
        if "played" in record:
            self.actions[t] = vector(record["played"], self.d, "played")
            self.bounds.pop(t, None)
            self.unjudged[t] = "another action was played than the one asked for"
        self.certified += t in self.bounds
        if record.get("constraint_value") is not None:
            self.take_reading(record, t - life.delay if life.late else t)
        if life.most and life.spent is not None:  # a round that nobody read counts as proved
            read = [raw - life.noise for raw in self.read[t][1]] if t in self.read else []
            read += self.bounds.get(t, [])
            life.spent = life.spent + min(read) if read else None
        self.t = t + 1
        aged = [up + life.v for up in self.bounds[t]] if t in self.bounds else None
        if life.kind == "context":
            self.take_context(record.get("context"), self.t)
            aged = None  # that of another context
        self.judge(record, self.actions[t], aged)

    def take_reading(self, record, i):
        """Keep what was read in round i, and the least of it and of what was proved before."""
        life, g = self.life, record["constraint_value"]
        g = [number(part, "constraint_value") for part in (g if isinstance(g, list) else [g])]
        if life.kind != "other" and len(g) != len(life.constants):
            raise WrongError("constraint_value must have an entry per constant")
        error = number(record.get("value_error", float(life.nu)), "value_error", 0) + life.noise
        raw, low = [part + error for part in g], [part - error for part in g]
        before = self.bounds.get(i, raw)
        if "how" not in record:  # a player that is halted has seen nothing
            life.slack = life.slack or -max(raw)
            life.first.setdefault((i + life.delay) % life.turns, i)
            if life.slack <= 0 and life.kind != "log":
                raise WrongError("the start is not strictly feasible")
        if any(a > b + life.slack / 2**30 for a, b in zip(low, before, strict=True)):
            raise WrongError("what was read contradicts what was certified: a constant is wrong")
        slopes = self.slopes(record.get("constraint_subgradient"))
        self.read[i] = (self.actions.get(i, self.start), raw, slopes, low)
        self.bounds[i] = [min(pair) for pair in zip(raw, before, strict=True)]

    def slopes(self, s):
        """Return the subgradients that were read, one per row; None where none was."""
        rows = s if isinstance(s, list) and s and isinstance(s[0], list) else [s]
        return None if s is None else [vector(r, self.d, "constraint_subgradient") for r in rows]

    def judge(self, record, x, aged):
        """Find why the next action of a record is certified for the current round.

        Args:
            record: which brings it.
            x: the action before it.
            aged: the bounds on g at x in the current round; None where there are none.
        """
        p, c = vector(record["next"], self.d, "next"), record["certificate"] or {}
        self.action, kind = p, c.get("class", "choice")
        try:
            bounds = aged if p == x and self.life.kind != "other" else None
            limit = self.life.limit()
            if bounds is None or max(bounds) > limit:
                if kind not in ALONE.get(self.life.kind, CERTIFY.keys() - ALONE["context"]):
                    raise UnjudgedError(f"the {kind} of this player is not judged")
                bounds = CERTIFY[kind](self, p, c, (x, aged))
            if max(bounds) > limit:
                raise WrongError(f"its action is not certified: g may be {float(max(bounds)):.3g}")
            self.bounds[self.t] = bounds
        except UnjudgedError as why:
            self.unjudged[self.t] = str(why)
        sets = (self.life.domain, None if "how" in record else record.get("within"))
        for known_set in filter(None, sets if c else ()):  # else it is no action yet
            self.check_set(known_set, p)

    def level(self, i):
        """Return the action of a reading, and the bounds on g there in the current round."""
        if i not in self.read:
            raise WrongError(f"round {i} was not read")
        (x, raw, _, _), life = self.read[i], self.life
        always = life.start_bound if x == life.start else math.inf
        return x, [min(up + (self.t - i) * life.v, always) for up in self.bounds.get(i, raw)]

    def last_read(self):
        """Return which readings the last step may rest on: the latest of the copy that took it.

        A round that is missing may hide one, and what somebody else played need not be used.
        """
        r, turns = self.t - 1 - self.life.delay, self.life.turns
        found = [i for i in range(r, r - 100 * turns, -turns) if i in self.read]
        if not found or (self.life.kind != "hull" and self.read[found[0]][2] is None):
            raise UnjudgedError("what it rests on was read too long ago, or without a slope")
        own = [k for k, i in enumerate(found, start=1) if i not in self.unjudged]
        return found[: max(own[0] if own else len(found), 3 if self.life.delay else 1)]

    def hull(self, p, share, anchor, here):
        """Return the bound by the hull of two balls."""
        (a, (up_a,)), (x, (up,)) = anchor, here
        (whole, rows), n, k = grid(p, a, x), share.numerator, share.denominator
        square = sum((k * i - (k - n) * j - n * q) ** 2 for i, j, q in zip(*rows, strict=True))
        rise = self.life.constants[0] * root_up(Fraction(square, (k * whole) ** 2))
        return [(1 - share) * up_a + share * up + rise]

    def check_hull(self, p, c, here):
        """Return the bound by the anchor and share of a certificate."""
        a = self.life.round_of(c["anchor_round"], self.t - 1)
        anchor, share = self.level(a), number(c["share"], "share", 0, 1)
        found = [self.level(i) for i in (a, *self.last_read())] + ([here] if here[1] else [])
        return min(self.hull(p, share, anchor, near) for near in found)

    def check_log(self, p, c, here):
        """Return the bound by the weights of points of a log."""
        life, (G,) = self.life, self.life.constants
        if not G:
            raise UnjudgedError("without G_g a log certifies up to rounding only")
        pairs = [life.log[int(number(i, "a point", 0))] for i in c["points"]["tuple"]]
        points = [vector(x, self.d, "a point") for x, _ in pairs]
        values = [[number(g, "a value") + life.nu + life.noise] for _, g in pairs]
        return [self.mean(c, values)[0] + G * distance(p, self.mean(c, points))]

    def mean(self, c, rows):
        """Return the mean of vectors by the weights of a certificate."""
        weights = [number(part, "a weight", 0) for part in c["weights"]["tuple"]]
        if len(weights) != len(rows) or not sum(weights):
            raise WrongError("there must be a weight per point")
        return [dot(weights, entries) / sum(weights) for entries in zip(*rows, strict=True)]

    def check_context(self, p, c, here):
        """Return the bound by the weights of rounds, in the context of the current one."""
        life, now, rows = self.life, self.places.get(self.t), []
        if now is None:
            raise WrongError("its context was not told")
        for count in c["rounds"]["tuple"]:  # 0 is what is known of the start in every context
            i = life.round_of(count, self.t - 1)
            x, (up,) = self.level(i) if count else (life.start, [life.start_bound])
            place = self.places[i] if count else now
            up += 0 if life.rises == "joint" else life.rise(place, now)
            rows.append((x, [up], place))
        points, levels, places = zip(*rows, strict=True)
        bound = self.mean(c, levels)[0] + life.constants[0] * distance(p, self.mean(c, points))
        off = distance(now, self.mean(c, places)) if life.rises == "joint" else 0
        return [bound + life.G_c * off]

    def check_way(self, p, c, here):
        """Return the bound on a controller's way back: at its anchor, or on the way there."""
        if c["anchor_round"] not in self.read:
            raise UnjudgedError("its way back leads to an action that was not read")
        anchor, is_curved = self.level(c["anchor_round"]), self.life.kind in ("rows", "relative")
        if anchor[0] == p:
            return anchor[1]
        if is_curved and max(bounds := self.check_curved(p, c, here)) <= 0:
            return bounds
        if is_curved or here[1] is None:
            raise UnjudgedError("a point of the way back is not judged without G_g and a bound")
        return self.hull(p, 1 - number(c["share"], "share", 0, 1), anchor, here)

    def check_curved(self, p, c, here):
        """Return the quadratic bounds, one per row."""
        found, life = [], self.life
        for r in self.last_read():
            (x, up), slopes, betas = self.level(r), self.read[r][2], life.constants
            step = minus(p, x)
            square = dot(step, step)
            bent = life.tau * root_up(square) if life.tau else 0
            if life.kind == "relative":
                steep = root_up(dot(slopes[0], slopes[0])) + life.tau
                betas = [BENT * (life.constants[0] + life.L_1 * steep)]
                if life.L_1**2 * square > 1:
                    raise WrongError("its action is further than 1/L_1 from the last")
            rows = list(zip(up, slopes, betas, strict=True))
            found.append([u + dot(s, step) + bent + beta / 2 * square for u, s, beta in rows])
            if any(step) and any(u >= 0 and not any((*s, bent, beta)) for u, s, beta in rows):
                found[-1] = [math.inf]  # nothing leads inwards from the limit itself
        return min(found, key=max)

    def check_length(self, p, c, here):
        """Return the bound by certified lengths: A bounds the distance to {g <= -rho}, chained."""
        life, G, rho = self.life, self.life.constants[0], number(c["rho"], "rho")
        if life.v or life.delay or life.domain["class"] not in ("Ball", "Box"):
            raise UnjudgedError("lengths under drift, with delay, or in other sets are not judged")
        last, (x_a, (up_a,)) = self.last_read()[0], self.level(min(self.read))
        (x, (up,)), (_, _, (s,), (low,)) = self.level(last), self.read[last]
        if c["rule"] == "pulled":  # as far back as it is
            way = minus(x_a, x)
            back = dot(way, minus(p, x)) / dot(way, way)
            return self.hull(p, 1 - min(max(back, 0), 1), (x_a, [up_a]), (x, [up]))
        if not 0 < rho <= -up_a:
            raise WrongError("rho must be above 0 and at most the slack of the start")
        A = max(up + rho, 0) / (up - up_a) * distance(x, x_a) if up > up_a else 0
        q, B, before = life.chain or (x, 0, 0)
        if rho <= before:
            A = min(A, max(distance(x, q) + B - (before - rho) / G, 0))
        q, B, over = x, (up + rho) / G, max(low + rho - life.tau * A, 0)
        if up > -rho:
            square = dot(s, s) or 1
            B = root_up(max(A * A - over * over / square, Fraction(0)))
            back = [a - over / square * b for a, b in zip(x, s, strict=True)]
            q, B = self.draw(life.domain, back, B)
        life.chain = (q, B, rho)
        return [G * (distance(p, q) + B) - rho]

    def draw(self, known_set, q, B):
        """Return a point drawn into a box or a ball, and B with what that loses by rounding."""
        if known_set["class"] == "Box":
            low, high = (vector(known_set[name], self.d, name) for name in ("lower", "upper"))
            return [min(max(a, b), c) for a, b, c in zip(q, low, high, strict=True)], B
        centre = vector(known_set["centre"] or [0] * self.d, self.d, "centre")
        size, length = number(known_set["radius"], "radius"), distance(q, centre)
        share = size / max(size, length)
        return [c + share * (a - c) for a, c in zip(q, centre, strict=True)], B + size / 2**100

    def check_set(self, known_set, p):
        """Check that an action is in a box or on a grid, or, up to rounding, in a ball."""
        if known_set.get("class") == "Grid":
            steps = [float(number(part, "step")) for part in known_set["step"]]
            steps = steps * self.d if len(steps) == 1 else steps
            if any(round(float(a) / h) * h != a for a, h in zip(p, steps, strict=True)):
                raise WrongError("its action is not on its grid")
            if (known_set := known_set["inside"]) is None:
                return
        if known_set.get("class") not in ("Box", "Ball"):
            self.unjudged[self.t] = "whether it is in its set is not judged"
            return
        off = distance(p, self.draw(known_set, p, 0)[0])
        if off > (0 if known_set["class"] == "Box" else Fraction(known_set["radius"]) / 2**40):
            raise WrongError("its action is not in its set")

    def check_ramp(self, step):
        """Check that a step is no longer than the ramp, up to rounding."""
        ramp, most = self.life.ramp, 1 + Fraction(1, 2**38)
        if isinstance(ramp, list):
            rows = zip(step, vector(ramp, self.d, "ramp"), strict=True)
            fits = all(abs(a) <= b * most for a, b in rows)
        else:
            fits = dot(step, step) <= (number(ramp, "ramp") * most) ** 2
        if not fits:
            raise WrongError("its action is further from the last than the ramp")


CERTIFY = {
    "HullCertificate": Checker.check_hull,
    "AverageCertificate": lambda self, p, c, here: self.check_hull(p, c["hull"], here),
    "LogCertificate": Checker.check_log,
    "ContextCertificate": Checker.check_context,
    "WayBack": Checker.check_way,
    "CurvatureCertificate": Checker.check_curved,
    "StepCertificate": Checker.check_length,
}
RAMPED = set(CERTIFY) - {"WayBack"}
ALONE = {"context": {"ContextCertificate"}, "other": set()}  # what certifies these kinds


def read_lines(path):
    """Yield the records of a journal, of all its files; every digest must be right."""
    digest, part, follows = "", 1, True
    while follows:
        name = path if part == 1 else f"{path}.{part}"
        with open(name, "rb") as file:  # noqa: PTH123
            lines = file.read().split(b"\n")
        if not lines[0].startswith(b'{"kind":"journal","format":1,'):
            raise WrongError(f"'{name}' is not a journal that this checker knows")
        for line in lines[:-1]:  # what has no end was never acknowledged
            digest = hashlib.sha256(digest.encode() + line[:-77]).hexdigest()
            if line[-77:] != b',"digest":"%s"}' % digest.encode():
                raise WrongError(f"a line of '{name}' is not what was written: {line[:40]!r}")
            yield (record := json.loads(line))
        follows, part = record.get("kind") == "continued", part + 1


def check(path: str) -> tuple[bool, list[str]]:
    """Return whether nothing is wrong with a journal, and what was found, in sentences."""
    checker = None
    try:
        lines = read_lines(path)
        if "fleet" in (header := next(lines)):
            return True, ["certified: no round", "not checked: a journal of a fleet"]
        checker = Checker(header)
        for record in lines:
            checker.take(record)
    except Exception as error:  # whoever writes a file can put anything into it
        at = "" if checker is None else f"round {checker.t}: "
        words = str(error) if isinstance(error, WrongError) else f"it cannot be read: {error!r}"
        return False, [f"NOT CERTIFIED: {at}{words}"]
    said = [f"certified: {checker.certified} of {checker.t - 1} rounds; the first is the start"]
    return True, said + [f"not checked: round {t}: {why}" for t, why in checker.unjudged.items()]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: check.py FILE")
    good, sentences = check(sys.argv[1])
    print("\n".join(sentences))
    sys.exit(0 if good else 1)
