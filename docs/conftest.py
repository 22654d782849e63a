"""Leave the site's own code out of the doctests: it needs Sphinx, which `make docs` installs."""

collect_ignore_glob = ["conf.py", "_site/*", "generated/*"]
