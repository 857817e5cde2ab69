"""Cannot be imported, as when a library of the system is missing."""

msg = "libacme.so.3: cannot open shared object file"
raise ImportError(msg)
