"""Rules that wrap another rule: they change the time or the form of its feedback."""
