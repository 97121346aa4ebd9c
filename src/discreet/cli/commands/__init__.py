"""The commands, one in each file: options in, one call, words or JSON out."""
