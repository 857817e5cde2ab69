"""What pytscope knows about PyTorch.

`adapter` waits for the accelerator and reads the process group on behalf of
`pytscope.Profiler`; `memory` samples device memory.
"""
