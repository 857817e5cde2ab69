"""pytscope's place for analyses and rules that compare ranks; none is written yet."""
