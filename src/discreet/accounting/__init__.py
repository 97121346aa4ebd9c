"""What many releases cost together: certified composition, planning, and a filter for
adaptive queries.
"""
