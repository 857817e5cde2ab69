"""The plugin host: declared objects, hooks, discovery, the guard and the registry."""
