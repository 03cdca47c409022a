"""Shardings: the texts of HLO and Shardy, meshes of devices, and which device holds which slice."""
