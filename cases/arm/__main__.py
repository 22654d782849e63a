"""Play the case: ``python -m cases.arm``."""

from pathlib import Path

from cases.arm.play import paint, play
from cases.show import main

if __name__ == "__main__":
    main(Path(__file__).parent, play, paint)
