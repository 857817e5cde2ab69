"""What stands out in the series of a run, and what of it goes together: plain numpy."""
