"""The auditor: takes any selection code and finds a violation with a certificate, or says
how hard it looked.

It comes after everything else: it uses mechanisms and sessions as their users do, and
nothing but the command line uses it.
"""
