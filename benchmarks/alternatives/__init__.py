"""What people would use instead, on the same tasks: one module per rival, docs/alternatives.md."""
