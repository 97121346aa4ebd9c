"""The questions that a session can ask. Each is checked in full before it costs anything, and answered only when it was paid."""
