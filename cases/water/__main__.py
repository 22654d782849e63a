"""Play the case: ``python -m cases.water``."""

from pathlib import Path

from cases.show import main
from cases.water.play import paint, play

if __name__ == "__main__":
    main(Path(__file__).parent, play, paint)
