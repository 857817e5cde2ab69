"""From a run and a registry to a report; pure functions over frozen values."""
