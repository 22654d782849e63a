"""Every combination of parts, in a live loop against an adversary, judged in exact rationals.

What plays is generated from what the parts declare (:mod:`tests.composition.parts`): every kind of
knowledge with every error, set and context that it takes, every proposer, every wrapper around them
and every pair of wrappers, on both engines. A part that is new joins by existing: where it has a
parameter that nobody has a value for, a test says so. Orders come in random sequences
(:mod:`tests.composition.orders`), readings are as wrong as they may be, mostly low, and drift is at
its bound (:mod:`tests.composition.worlds`).

A combination plays, or is unsupported: the library says so in one sentence of its own.

``python -m tests.composition`` plays all of it; the tests play a sample with a fixed seed.
"""
