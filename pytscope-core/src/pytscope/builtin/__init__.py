"""pytscope's own analyzers, rules, reporters and sources, registered like any plugin's."""
