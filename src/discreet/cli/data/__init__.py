"""Made-up tables for `discreet demo`; `make.py` writes them."""
