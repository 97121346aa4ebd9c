"""Made-up score tables for `discreet demo`; `make.py` writes them."""
