"""A plant in C: set points and readings in their units, the bits of the kernel."""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from tests.controller.plants import C, hall, pressure_at, pumps

from surefoot import kernel
from surefoot.controller import Controller
from surefoot.controller.export import plant_header
from surefoot.core.errors import InvalidValueError
from surefoot.problems.plant import ActuatorDescription, Scaling
from surefoot.problems.plant.player import player_of

built = pytest.mark.skipif(kernel.compiled() is None, reason="the kernel was not built")
with_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

PROGRAM = """
#include <stdio.h>
#include "pump.h"
#define IS_OWN (t % 9 == 8 && t % 7 != 5)
int main(void)
{
    static double state[PUMP_STATE], work[PUMP_SCRATCH];
    double set_points[PUMP_D];
    pump_info info;
    if (pump_plant_init(state, set_points) != PUMP_OK) { return 1; }
    for (int t = 0; t < 40; t++) {
        double readings[PUMP_LIMITS], given[PUMP_D], played[PUMP_D];
        printf("%a\\n", set_points[0]);
        READ
        given[0] = GIVEN;
        played[0] = set_points[0] + SHIFT;
        const double *seen = t % 7 == 5 ? NULL : readings;
        if (t == 13) { readings[0] = NAN; }
        int status = pump_plant_step(state, seen, given, SLOPES IS_OWN ? played : NULL,
                                     work, &info, set_points);
        if (status != (t == 13 ? PUMP_RANGE : PUMP_OK)) { return 10 + t; }
    }
    return 0;
}
"""


def run(folder, plant, **words):
    """Compile a program with the header of a plant, run it, and return its set points."""
    (folder / "pump.h").write_text(plant_header(plant, name="pump"))
    text = PROGRAM
    for word, part in words.items():
        text = text.replace(word, part)
    (folder / "main.c").write_text(text)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-O1"]
    command = ["gcc", *flags, "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "main"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    return [float.fromhex(line) for line in done.stdout.split()]


def play(plant, limits, given, own, slopes=None):
    """Play the same in Python, with the kernel."""
    scaling = Scaling(plant)
    player = player_of(plant, scaling, one_limit=True, start_stands=False)
    loop = Controller(player, scaling.start)
    points = []
    for t in range(40):
        x = scaling.to_set_points(loop.ask())
        points.append(float(x[0]))
        is_own = t % 9 == 8 and t % 7 != 5
        used = x + own if is_own else x
        played = {"action": scaling.to_action(used)} if is_own else {}
        if t == 13:
            continue
        if t % 7 == 5:
            loop.tell(missing=True, **played)
            continue
        excess = scaling.to_excess(limits(used[0]))
        given_as = scaling.to_action if plant.role == "filter" else scaling.to_gradient
        first = "proposal" if plant.role == "filter" else "cost_gradient"
        told = {first: given_as([given])}
        if slopes is not None:
            near = int(excess.argmax())
            told["constraint_subgradient"] = scaling.to_slopes(near, slopes[near])
        loop.tell(constraint_value=float(excess.max()), **told, **played)
    return points


@built
@with_compiler
def test_pumps_in_c_have_the_set_points_of_python(tmp_path):
    reading = "readings[0] = 3.1 - 0.1 * (50.0 - (IS_OWN ? set_points[0] + SHIFT : set_points[0]));"
    mine = run(tmp_path, pumps(), READ=reading, GIVEN="25.0", SLOPES="", SHIFT="0.25")
    assert mine == play(pumps(), lambda speed: [pressure_at(speed)], 25.0, 0.25)
    assert min(mine) < 45.0
    assert min(map(pressure_at, mine)) >= 2.5


@built
@with_compiler
def test_two_limits_and_slopes_in_c(tmp_path):
    flow = replace(
        pumps().limits[0],
        name="flow",
        unit="m3/h",
        bound=90.0,
        sense="at_most",
        start_margin=C(3.0),
        meter_error=C(0.1),
        steepness={"speed": C(1.6)},
    )
    pressure = replace(pumps().limits[0], bound=0.5, start_margin=C(2.0))
    speed = ActuatorDescription("speed", "Hz", 25.0, 60.0, start=50.0)
    plant = replace(
        pumps(), role="learner", has_slopes=True, actuators=(speed,), limits=(pressure, flow)
    )
    used = "(IS_OWN ? set_points[0] + SHIFT : set_points[0])"
    reading = (
        f"readings[0] = 3.1 - 0.1 * (50.0 - {used}); readings[1] = 86.0 + 1.5 * ({used} - 50.0); "
        "const double slopes[2] = {0.1, 1.5};"
    )
    mine = run(tmp_path, plant, READ=reading, GIVEN="-1.0", SLOPES="slopes,", SHIFT="-0.25")
    other = play(
        plant,
        lambda x: [3.1 - 0.1 * (50.0 - x), 86.0 + 1.5 * (x - 50.0)],
        -1.0,
        -0.25,
        slopes=[[0.1], [1.5]],
    )
    assert mine == pytest.approx(other, abs=1e-9)  # a round without a reading is a step in C
    assert 51.0 < max(mine) <= 50.0 + 4.0 / 1.5


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        (hall(), "contexts"),
        (
            replace(pumps(), actuators=(replace(pumps().actuators[0], ramp=1.0),)),
            "without a ramp",
        ),
        (replace(pumps(), members={"p1": pumps()}), "name one of its members"),
    ],
)
def test_what_c_lacks_is_named(plant, words):
    with pytest.raises(InvalidValueError, match=words):
        plant_header(plant)


@built
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_a_plant_is_c_plus_plus_too(tmp_path):
    for plant in (pumps(), replace(pumps(), role="learner", has_slopes=True)):
        (tmp_path / "pump.h").write_text(plant_header(plant, name="pump"))
        (tmp_path / "main.cpp").write_text('#include "pump.h"\nint main() { return 0; }\n')
        for standard in ("-std=gnu++17", "-std=c++20"):
            command = ["g++", standard, "-Wall", "-Werror", "-ffp-contract=off", "main.cpp"]
            subprocess.run([*command, "-o", "main", "-lm"], cwd=tmp_path, check=True)


def test_names_of_a_plant_cannot_end_a_comment():
    unit = replace(pumps().actuators[0], unit="*/ int x; /*")
    text = plant_header(replace(pumps(), actuators=(unit,)))
    assert "*/ int x" not in text
    assert "x; /*" not in text  # of which compilers warn
    assert np.size(text) == 1
