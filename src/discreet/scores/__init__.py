"""What is best: scores of public candidates from aggregated tables, each with what one person can do to them."""
