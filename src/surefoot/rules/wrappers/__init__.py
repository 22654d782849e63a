"""Rules around another rule: what changes time, and how what is read reaches the rule."""
