"""The cases played: tables and figures of docs/cases.md."""
