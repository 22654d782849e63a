"""The tests; a package, so that no other of this name is found in its place."""
