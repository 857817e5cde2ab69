"""Reading: runs as columns, and the sources that open them."""
