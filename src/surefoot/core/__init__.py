"""The base of the library: feedback, steps, constants with origins, arrays, errors."""
