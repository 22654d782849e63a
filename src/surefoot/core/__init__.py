"""The words of the library: feedback, step, constants with origins, arrays, errors."""
