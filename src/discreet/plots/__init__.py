"""Pictures, with matplotlib, which comes with the extra ``discreet[plot]`` and is imported late."""
