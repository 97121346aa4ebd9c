"""Pictures made with Matplotlib, which comes with the extra ``discreet[plot]`` and is
imported late.
"""
