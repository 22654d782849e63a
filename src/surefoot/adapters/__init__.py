"""Surefoot in the tools people already use: one module per host, each with an extra of its name.

================================  ==============================================================
module                            what it offers
================================  ==============================================================
``surefoot.adapters.gymnasium``   ``SafeAction``, a wrapper around an environment
``surefoot.adapters.torch``       ``KeepFeasible``, an optimiser around an optimiser
``surefoot.adapters.optax``       ``keep_feasible``, a transformation around another
``surefoot.adapters.sklearn``     ``SafeClassifier`` and ``SafeRegressor``, linear models
``surefoot.adapters.river``       the same as streaming models
``surefoot.adapters.cvxpy``       ``from_cvxpy``, constraints as they are written there
``surefoot.adapters.scipy``       ``from_scipy``, the same for SciPy's three classes
``surefoot.adapters.pandapower``  ``SafeSetPoints``, a controller of static generators
``surefoot.adapters.xopt``        ``CertifiedGenerator``, whose candidates are feasible
================================  ==============================================================

Import the module that you need: nothing is imported here, so that no host is a dependency of
another. What is certified comes from :mod:`surefoot.rules` and :mod:`surefoot.knowledge`; the
adapters carry numbers to and fro, in the host's precision.
"""
