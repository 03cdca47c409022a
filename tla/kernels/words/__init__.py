"""Words of a kernel's function: CuTe's algorithms, partitions, loads, orders, clusters, tensor memory."""
