"""Made-up tables for `discreet demo`; `make.py` and `make_reads.py` write them."""
