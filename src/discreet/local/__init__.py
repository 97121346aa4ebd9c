"""Reports: every person randomises their own value, and only the noise of many together
averages out.
"""
