"""Plant files of the page, and plants drawn at random."""

from dataclasses import replace

from hypothesis import strategies as st

from surefoot.problems.plant import (
    ActuatorDescription,
    ContextDescription,
    LimitDescription,
    PlantConstant,
    PlantDescription,
    PolicyDescription,
    RiseDescription,
    ServiceDescription,
)

HALL = """\
surefoot = 1                       # version of this grammar
name = "hall 3"
round = "15 min"
journal = "hall3.jsonl"            # relative to this file
role = "filter"

[actuator.fan1]
unit = "%"
range = [30, 100]
start = 100                        # the safe set point
ramp = 5                           # at most so much per minute
step = 1                           # set points are whole multiples

[actuator.chiller]
unit = "%"
range = [30, 100]
start = 100

[context.outside]
unit = "degC"
range = [-20, 40]

[context.it_load]
unit = "MW"
range = [0.4, 1.3]

[limit.hot_spot]
unit = "degC"
at_most = 27.0
meter_error = 0.2
start_margin = 2.9
steepness = { fan1 = { value = 0.0228, origin = "estimated", why = "row 412" }, chiller = 0.065 }
rise = { outside = 0.24, it_load = { per = 16.1, worse = "up" } }

[policy]
on_contradiction = "recover"
recoveries = 3

[service]
listen = "/run/surefoot/hall3.sock"
metrics = "127.0.0.1:9464"
deadline = "20 min"
heartbeat = "10 s"
rotate = "64 MB"
"""

PARK = """\
surefoot = 1
name = "car park"
round = "10 s"
role = "learner"
journal = "park.jsonl"
[actuator.west]
unit = "A"
range = [6, 32]
off = 0
start = 0
[actuator.east]
unit = "A"
range = [6, 32]
off = 0
start = 0
[context.base_load]
unit = "A"
range = [0, 320]
[limit.feeder]
unit = "A"
at_most = 400
meter_error = 2
start_margin = 80
steepness = { west = 1, east = 1 }
rise = { base_load = { adds = 1 } }
"""

PUMP = """\
surefoot = 1
name = "booster station"
round = "1 min"
journal = "booster.jsonl"
[actuator.speed]
unit = "Hz"
range = [25, 50]
start = 50
[limit.pressure]
unit = "bar"
at_least = 2.5
meter_error = 0.02
start_margin = 0.5
steepness = { speed = 0.12 }
convex = true
changes = 0.001
"""

FLEET = (
    PUMP
    + """\
[member.p1]
[member.p2]
start = { speed = 45 }
limit.pressure.steepness.speed = { value = 0.09, origin = "estimated", why = "its own log" }
"""
)

# --- drawn at random ------------------------------------------------------------------------------

_WHY = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=12)
_UNITS = st.sampled_from(["%", "Hz", "degC", "kW", "l/min", "#", '"', "€"])
_NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
_NODES = st.sampled_from([None, "ns=2;s=hall.fan1", 'i=5 "é"'])
_ANY = st.floats(-1e6, 1e6).map(lambda number: number if abs(number) > 1e-6 else 0.0)
_POSITIVE = st.floats(1e-6, 1e6)
_NOT_NEGATIVE = st.just(0.0) | _POSITIVE


def _constants(numbers=_NOT_NEGATIVE):
    origins = st.sampled_from(["proved", "given", "estimated"])
    return st.builds(PlantConstant, numbers, origins, _WHY)


@st.composite
def _actuators(draw, name):
    unit, kind = draw(_UNITS), draw(st.sampled_from(["any", "step", "off"]))
    low = draw(_POSITIVE if kind == "off" else _ANY)
    width = draw(_POSITIVE)
    step = None
    if kind == "step":
        step = draw(st.sampled_from([0.1, 0.25, 1.0, 7.0]))
        first, count = draw(st.integers(-1000, 1000)), draw(st.integers(1, 1000))
        low, high = first * step, (first + count) * step
        start = draw(st.integers(first, first + count)) * step
    else:
        high = low + width
        start = draw(st.sampled_from([low, high] + [0.0] * (kind == "off")))
    node = draw(st.sampled_from([None, f"ns=2;s={name}"]))
    return ActuatorDescription(
        name, unit, low, high, start, None, step, can_be_off=kind == "off", node=node
    )


@st.composite
def _contexts(draw, name):
    low = draw(_ANY)
    changes = draw(st.none() | _NOT_NEGATIVE)
    return ContextDescription(name, draw(_UNITS), low, low + draw(_POSITIVE), changes, draw(_NODES))


@st.composite
def _rises(draw):
    if draw(st.booleans()):
        return RiseDescription(adds=draw(_ANY))
    worse = draw(st.sampled_from([None, "up", "down"]))
    return RiseDescription(draw(_constants()), worse=worse)


@st.composite
def _limits(draw, name, actuators, contexts):
    error = draw(_constants(st.just(0.0) | st.floats(1e-6, 1.0)))
    margin = draw(_constants(st.floats(2.5, 1e3)))
    return LimitDescription(
        name=name,
        unit=draw(_UNITS),
        bound=draw(_ANY),
        sense=draw(st.sampled_from(["at_most", "at_least"])),
        meter_error=error,
        start_margin=margin,
        steepness={each.name: draw(_constants()) for each in actuators},
        rise={each.name: draw(_rises()) for each in contexts},
        changes=draw(st.none() | _constants()),
        node=draw(_NODES),
    )


@st.composite
def _services(draw, minutes):
    return ServiceDescription(
        listen=draw(st.sampled_from([None, "/run/a.sock", "./b"])),
        metrics=draw(st.sampled_from([None, "127.0.0.1:9464", "[::1]:80"])),
        token_file=draw(st.none() | st.just("token")),
        deadline=draw(st.none() | st.floats(1.0, 10.0).map(lambda times: minutes * times)),
        heartbeat=draw(st.floats(0.2, 3600.0)),
        rotate=draw(st.sampled_from([None, "64 MB"])),
        can_amend=draw(st.booleans()),
    )


@st.composite
def plants(draw, members=2):
    """Plants that a file may describe; of limits with a steepness."""
    names = draw(st.lists(_NAMES, min_size=7, max_size=7, unique=True))
    actuators = [draw(_actuators(n)) for n in names[: draw(st.integers(1, 2))]]
    contexts = [draw(_contexts(n)) for n in names[2 : 2 + draw(st.integers(0, 2))]]
    limits = [draw(_limits(n, actuators, contexts)) for n in names[4 : 4 + draw(st.integers(1, 2))]]
    minutes = draw(st.floats(1e-3, 1e4))
    plant = PlantDescription(
        name=draw(st.sampled_from(["hall", "a b", '"', "é"])),
        round_minutes=minutes,
        actuators=tuple(actuators),
        contexts=tuple(contexts),
        limits=tuple(limits),
        journal="a.jsonl",
        role=draw(st.sampled_from(["filter", "learner"])),
        has_slopes=draw(st.booleans()),
        service=draw(_services(minutes)),
    )
    plant = replace(plant, policy=draw(_policies(bool(plant.recoverable))))
    count = draw(st.integers(0, members))
    each = {f"m{i}": draw(_members(plant)) for i in range(count)}
    return replace(plant, members={n: m for n, m in each.items() if n not in names})


@st.composite
def _policies(draw, can_recover):
    words = ["retreat", "raise", "record"] + ["recover"] * can_recover
    return PolicyDescription(
        draw(st.sampled_from(words)),
        draw(st.integers(0, 20)),
        draw(st.sampled_from(["hold", "retreat"])),
    )


@st.composite
def _members(draw, plant):
    """A member that differs in a start, a context's range, a margin and a constant."""
    first, limit = plant.actuators[0], plant.limits[0]
    actuators = (
        replace(first, start=draw(st.sampled_from([first.low, first.high]))),
        *plant.actuators[1:],
    )
    contexts = tuple(
        replace(each, low=each.low - draw(st.integers(0, 1))) for each in plant.contexts
    )
    steepness = limit.steepness | {first.name: draw(_constants())}
    if plant.policy.on_contradiction == "recover":
        steepness[first.name] = replace(steepness[first.name], origin="estimated")
    margin = draw(_constants(st.floats(2.5, 1e3)))
    limit = replace(limit, steepness=steepness, start_margin=margin)
    limits = (replace(limit, node=limit.node and "ns=3;s=own"), *plant.limits[1:])
    return replace(plant, actuators=actuators, contexts=contexts, limits=limits)
