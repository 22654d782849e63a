# A script for a process of its own; collecting doctests would import it here.
collect_ignore = ["_kill.py"]
