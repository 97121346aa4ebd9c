"""Reports: every person randomizes their own value, and only the noise of many together
averages out.
"""
