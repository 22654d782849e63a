"""What is measured with PyTorch is looked at where that is installed."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("torch") else ["measure/multipliers.py"]
