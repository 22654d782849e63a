"""Results as figures, tables and one page: saved results in, nothing played."""
