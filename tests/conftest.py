import os

from hypothesis import settings

settings.register_profile("ci", max_examples=300, deadline=None)
settings.register_profile("night", max_examples=100_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
