"""The promise: how far one person can move the scores, and what a release costs."""
