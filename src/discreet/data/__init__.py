"""Where scores come from: tables on any engine, read by one aggregation."""
