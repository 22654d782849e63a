"""The compiled step, and the text on PyPI; everything else is in pyproject.toml."""

import re
import sys
from hashlib import sha256
from pathlib import Path

from setuptools import Extension, setup

ROOT = Path(__file__).parent


def readme() -> str:
    """Return the README for a place where relative links and pictures lead nowhere."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    # A picture goes with its caption, the paragraph in italics below it.
    text = re.sub(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*(\*[^*]+\*\n+)?", "", text)
    text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
    return re.sub(r"\$([^$\n]+)\$", r"`\1`", text)


# Never fused and never reordered: the bits are those of the text, whatever the compiler. Nobody
# asks for errno or traps, which would keep roots and maxima from being found four at once.
GCC = ["-std=c99", "-O3", "-ffp-contract=off", "-fno-wrapv"]
GCC += ["-fno-math-errno", "-fno-trapping-math"]
SOURCES = sorted(ROOT.glob("src/surefoot/kernel/**/*.[ch]"))
# The library compares it with the C beside it: a kernel of another text does not play.
TEXT = sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()
KERNEL = [
    Extension(
        f"surefoot.kernel.{name}",
        [f"src/surefoot/kernel/{name}.c", f"src/surefoot/kernel/{name}_wide.c"],
        depends=["setup.py", *(str(path.relative_to(ROOT)) for path in SOURCES)],
        define_macros=[("SUREFOOT_TEXT", f'"{TEXT}"')],
        extra_compile_args=["/fp:precise"] if sys.platform == "win32" else GCC,
        py_limited_api=True,
        optional=True,  # without a compiler Python plays
    )
    for name in ("_step", "_games")
]

setup(
    ext_modules=KERNEL,
    long_description=readme(),
    long_description_content_type="text/markdown",
    options={"bdist_wheel": {"py_limited_api": "cp311"}, "build_ext": {"parallel": len(KERNEL)}},
)
