"""The commands. Each reads its options, makes one call, and writes words or JSON."""
