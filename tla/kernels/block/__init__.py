"""What a block has while it runs: lines of its source, tensor memory, mbarriers, turns, and who touches what."""
