"""The state of a block that runs: lines of its source, tensor memory, mbarriers, turns, and who
touches which element."""
