"""A case is looked at where what it needs is installed: no environment has everything."""

import importlib.util

NEEDS = {
    "arm": "mujoco",
    "beam": "cheetah",
    "grid": "pandapower",
    "measure/multipliers.py": "torch",
    "motor": "gym_electric_motor",
    "water": "wntr",
}
collect_ignore = [case for case, name in NEEDS.items() if importlib.util.find_spec(name) is None]
