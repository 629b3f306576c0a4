"""Which random tests run: the same every time, so that a run says something about a change.

`HYPOTHESIS_PROFILE=explore` draws new ones each time; what fails then is kept in `.hypothesis` and comes first again.
"""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
