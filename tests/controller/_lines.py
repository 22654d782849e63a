"""The lines of a journal in a test's hands: read, changed by hand, forged."""

import json

from surefoot.controller.journal import seal


def records(path):
    """All records of a file."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def change(path, old, new):
    """Change some text of a journal, and nothing else."""
    data = path.read_bytes()
    assert data.count(old.encode()) >= 1
    path.write_bytes(data.replace(old.encode(), new.encode(), 1))


def forge(path, edit):
    """Change records and make every digest right again: what anybody can do who writes a file.

    Args:
        path: of the journal.
        edit: takes the list of records and changes it.
    """
    found = records(path)
    for record in found:
        del record["digest"]
    edit(found)
    digest, data = found[0].get("after", ""), b""
    for record in found:
        line, digest = seal(digest, record)
        data += line
    path.write_bytes(data)
