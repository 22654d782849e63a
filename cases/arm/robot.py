r"""A robot arm in MuJoCo that holds a payload: its torques, and a proved bound on their curvature.

The torque that holds a posture q is :math:`\tau_i = \partial U/\partial q_i` with
:math:`U = \sum_b m_bg\,z_b(q)`, the sum over the bodies b that hang on the arm, z_b the height of
the centre c_b of mass b. Number the joints from the base; a_k is the axis of joint k, o_k a point
on it.

**Lemma.** *Let k be the outermost of the joints i, j, k. Then*

.. math::
    |\partial_i\partial_j\partial_kU| \le B_k = g\sum_{b \text{ beyond } k}m_b\rho_{bk},

*with* :math:`\rho_{bk} \ge |a_k \times (c_b - o_k)|` *in every posture. Derivatives of any order
have the bound of their outermost joint. If one joint turns about the vertical, they are 0.*

*Proof.* Turning joint k moves a body beyond it by :math:`w = a_k \times (c_b - o_k)`, and none
else. Turning a joint j that is not beyond k turns w rigidly about a_j:
:math:`\partial_jw = a_j \times w`, which is not longer than w; for j = k the same. So
:math:`\partial_i\partial_j\partial_kz_b = e_z^\top(a_i \times (a_j \times w))` up to the order
of i and j, at most :math:`|w| \le \rho_{bk}`, and so for every further joint. The torque of a
vertical joint is 0 in every posture, and turning it changes no height. ∎

:math:`\rho_{bk}` is found by going from b inwards: lengths between joints add up (the triangle
inequality), and of the last piece, which is rigid in the frame of k, only the part across the axis
counts. So the Hessian of :math:`\tau_i` has entries of at most :math:`B_{\max(i,j,k)}`, and its
norm is at most that of the matrix of these bounds: :math:`\beta_i`. First derivatives of
:math:`\tau_i` have the same bounds, so that a test move of h raises it by at most
:math:`h\max_jB_{\max(i,j)}`; and slopes by differences over :math:`\pm h` are off by at most
:math:`\tfrac{h^2}6B_{\max(i,j)}` in entry j.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gymnasium
import mujoco
import numpy as np

from surefoot.core.types import Array

__all__ = ["HEAVIEST", "LIMITS", "Arm"]

GRAVITY = 9.81
JOINTS = 7
HEAVIEST, FARTHEST = 2.0, 0.05
"""What is known of the payload: at most so many kg, so far from the middle of the hand (m)."""
LIMITS = {1: 16.0, 2: 5.0, 3: 6.0, 4: 1.2, 5: 1.5}
"""Torques in N m: shoulder lift, upper arm roll, elbow, forearm roll, wrist flex."""
TEST = 1e-4
"""How far the arm moves a joint to both sides to feel how its torques change (rad)."""


@dataclass
class Arm:
    """The seven-joint arm of gymnasium's Pusher, under gravity, with something in its hand.

    Args:
        payload: in kg.
        offset: its place in the hand, from the middle (m).
    """

    payload: float
    offset: Array

    def __post_init__(self) -> None:
        folder = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
        model = mujoco.MjModel.from_xml_path(str(folder / "pusher_v5.xml"))
        model.opt.gravity[:] = (0.0, 0.0, -GRAVITY)
        self._model, self._data = model, mujoco.MjData(model)
        self.low, self.high = model.jnt_range[:JOINTS].T.copy()
        self._hand = model.body("tips_arm").id
        self.beta, self.slope_error, self.test_rise = self._bound()
        own, middle = model.body_mass[self._hand], model.body_ipos[self._hand].copy()
        both = own + self.payload
        model.body_mass[self._hand] = both
        model.body_ipos[self._hand] = middle + self.payload / both * self.offset

    def _distance(self, body: int, joint: int) -> float | None:
        """Return what the distance of a body's centre from a joint's axis does not exceed."""
        model, piece, total = self._model, self._model.body_ipos[body], 0.0
        while body != model.jnt_bodyid[joint]:
            if body == 0:
                return None  # not beyond the joint
            if model.body_jntnum[body]:
                total += float(np.linalg.norm(piece))
                piece = np.zeros(3)
            piece = piece + model.body_pos[body]
            body = model.body_parentid[body]
        return float(total + np.linalg.norm(np.cross(model.jnt_axis[joint], piece)))

    def _bound(self) -> tuple[tuple[float, ...], float, Array]:
        """Return each row's curvature, the error of slopes, what tests raise: see the lemma."""
        model, B = self._model, np.zeros(JOINTS)
        for k in range(JOINTS):
            for body in range(1, model.nbody):
                if (rho := self._distance(body, k)) is not None:
                    B[k] += GRAVITY * model.body_mass[body] * rho
                    if body == self._hand:
                        B[k] += GRAVITY * HEAVIEST * (rho + FARTHEST)
        inner = np.maximum.outer(np.arange(1, JOINTS), np.arange(1, JOINTS))  # all but the vertical
        bounds = [B[np.maximum(i, inner)] / limit for i, limit in LIMITS.items()]
        beta = [float(np.linalg.norm(bound, 2)) for bound in bounds]
        slope = max(float(np.linalg.norm(np.diag(bound))) for bound in bounds)
        rise = [TEST * bound.max() for bound in bounds]
        return (*beta, *beta), slope * TEST**2 / 6, np.array([*rise, *rise])

    def feel(self, posture: Array) -> Array:
        """Return the rows g: each limited torque over its limit, both ways, less 1."""
        self._data.qpos[:JOINTS] = posture
        self._data.qvel[:] = 0.0
        mujoco.mj_forward(self._model, self._data)
        limits = np.array(list(LIMITS.values()))
        torque = self._data.qfrc_bias[list(LIMITS)] / limits
        return np.concatenate([torque - 1, -torque - 1])

    def differentiate(self, posture: Array) -> Array:
        """Return the slopes of the rows, by small moves of every joint to both sides."""
        steps = TEST * np.eye(JOINTS)
        rises = [self.feel(posture + step) - self.feel(posture - step) for step in steps]
        return np.array(rises).T / (2 * TEST)
