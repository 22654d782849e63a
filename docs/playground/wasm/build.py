"""Compile the kernel's leader and follower for the playground: ``make playground``.

It needs clang and lld. What it writes is kept beside the page, and the tests compare its numbers
with the kernel's, bit for bit.
"""

import base64
import subprocess
import tempfile
import textwrap
from pathlib import Path

HERE = Path(__file__).parent
KERNEL = HERE.parents[2] / "src" / "surefoot" / "kernel" / "c"
FLAGS = ("--target=wasm32", "-Oz", "-nostdlib", "-ffp-contract=off", "-mbulk-memory")
HEAD = """/* Leader and follower of the kernel, by `make playground` from wasm/leader.c. */
"use strict";

const SurefootLeader = `
{text}
`;

if (typeof module !== "undefined") module.exports = SurefootLeader;
"""


def main() -> None:
    """Compile it, and write it as text that the page can read without a request."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "leader.wasm"
        link = ("-Wl,--no-entry", "-Wl,--strip-all", f"-I{HERE}", f"-I{KERNEL}", "-o", str(out))
        subprocess.run(("clang", *FLAGS, str(HERE / "leader.c"), *link), check=True)
        text = base64.b64encode(out.read_bytes()).decode()
    wrapped = "\n".join(textwrap.wrap(text, 100))
    (HERE.parent / "leader.js").write_text(HEAD.format(text=wrapped), encoding="utf-8")


if __name__ == "__main__":
    main()
