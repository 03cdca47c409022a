"""The targets of a kernel's text, a file each: C on a CPU, CUDA."""
