"""What to draw: mechanisms that state their privacy loss beside the code that samples."""
