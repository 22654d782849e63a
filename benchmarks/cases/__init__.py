"""The cases of :mod:`surefoot.problems.cases` played: tables and figures of docs/cases.md."""
