"""The state of a block that runs: lines of its source, tensor memory, mbarriers, turns, who touches which element."""
