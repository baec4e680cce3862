"""Take the picture of the first tutorial.

``python -m docs.tools.studio_still docs/images/tutorial-studio.webp``
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from sklearn.datasets import load_wine
from tests.studio.devtools import browser
from tests.studio.page import Person
from tests.studio.running import studio


def still(folder: Path) -> Image.Image:
    """Label twenty wines as the tutorial does and return a picture of the page."""
    wine = load_wine(as_frame=True)
    wine.data.to_csv(folder / "wine.csv", index=False)
    names = ["Barolo", "Grignolino", "Barbera"]
    with studio(folder / "wine.csv", "kind") as running, browser() as chromium:
        person = Person(chromium, running, width=1200, height=760)
        for count in range(1, 21):
            person.assign(names[wine.target[person.next()]])
            person.labelled(count)
        person.next()
        person.page.wait("new Promise(r => setTimeout(() => r(1), 1000))")
        return Image.open(io.BytesIO(person.page.picture())).convert("RGB")


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        still(Path(place)).save(sys.argv[1], quality=70, method=6)
