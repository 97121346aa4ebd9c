"""Random bits and the exact draws of numbers that are made of them."""
