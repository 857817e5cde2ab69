"""Sources that come with pytscope, one a file."""
