"""Write the constants of the kernel into the C text and the Python text: `make constants`.

The table is ``src/surefoot/kernel/constants.toml``. Nothing imports this file at run time.
"""

import textwrap
import tomllib
from pathlib import Path

HOME = Path(__file__).parents[2] / "src" / "surefoot"
TABLE = HOME / "kernel" / "constants.toml"
HEADER = HOME / "kernel" / "c" / "constants.h"
MODULE = HOME / "core" / "kernel_constants.py"


def read_table():
    """Return the rows of the table by section: the name, the value, and what it is."""
    sections = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {
        section: [(name, row["value"], row["about"]) for name, row in rows.items()]
        for section, rows in sections.items()
    }


def write_header(sections):
    """Return the C text of the constants."""
    lines = [
        "/* The constants that C and Python share; constants.toml says what each is, and",
        " * `make constants` writes this file from there. */",
    ]
    for section, rows in sections.items():
        lines += ["", f"/* {section} */"]
        for name, value, _ in rows:
            lines.append(f"#define SF_{name} {_number(value, '{{{}}}')}")
    return "\n".join([*lines, ""])


def write_module(sections):
    """Return the Python text of the constants."""
    lines = ['"""Constants that the C text shares; `make constants` writes them from its table."""']
    for section, rows in sections.items():
        lines += ["", f"# --- {section} ".ljust(100, "-"), ""]
        for name, value, about in rows:
            lines += [f"{name} = {_number(value, '({})')}", *_docstring(about)]
    return "\n".join([*lines, ""])


def _number(value, several):
    """Return a number, or several of them, as both languages read it."""
    if isinstance(value, list):
        return several.format(", ".join(_number(one, several) for one in value))
    return repr(value).replace("e+", "e").replace("e-0", "e-")


def _docstring(about):
    """Return the lines of a sentence below its constant."""
    if len(about) <= 94:
        return [f'"""{about}"""']
    first, *others = textwrap.wrap(about, 96)
    return [f'"""{first}', *others, '"""']


def main():
    """Write both texts."""
    sections = read_table()
    HEADER.write_text(write_header(sections), encoding="utf-8")
    MODULE.write_text(write_module(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
