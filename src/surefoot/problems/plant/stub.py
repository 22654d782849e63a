from dataclasses import asdict
from surefoot.problems.plant.description import *


def plant_data(p):
    d = asdict(p)
    [d.pop(k) for k in ("name", "service", "journal", "members")]
    import json

    return json.loads(json.dumps(d))


def plant_from_data(d):
    C = lambda c: None if c is None else PlantConstant(**c)
    M = lambda m: None if m is None else {k: C(v) for k, v in m.items()}
    lim = []
    for l in d["limits"]:
        l = dict(l)
        l["meter_error"] = C(l["meter_error"])
        l["start_margin"] = C(l["start_margin"])
        l["changes"] = C(l["changes"])
        l["steepness"] = M(l["steepness"])
        l["curvature"] = M(l["curvature"])
        l["rise"] = {
            k: RiseDescription(C(v["per"]), v["adds"], v["worse"]) for k, v in l["rise"].items()
        }
        lim.append(LimitDescription(**l))
    return PlantDescription(
        name="",
        round_minutes=d["round_minutes"],
        actuators=tuple(ActuatorDescription(**a) for a in d["actuators"]),
        limits=tuple(lim),
        contexts=tuple(ContextDescription(**c) for c in d["contexts"]),
        role=d["role"],
        has_slopes=d["has_slopes"],
        policy=PolicyDescription(**d["policy"]),
    )


def difference_of(a, b):
    def flat(d, p=""):
        if isinstance(d, dict):
            for k, v in d.items():
                yield from flat(v, f"{p}.{k}" if p else k)
        elif isinstance(d, list):
            for i, v in enumerate(d):
                yield from flat(v, f"{p}.{v['name'] if isinstance(v, dict) else i}")
        else:
            yield p, d

    x, y = dict(flat(plant_data(a))), dict(flat(plant_data(b)))
    return [(k, x.get(k), y.get(k)) for k in {**x, **y} if x.get(k) != y.get(k)]


def read_plant(path):
    raise NotImplementedError
