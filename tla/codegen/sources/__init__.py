"""Layouts as source of the systems that they come from: CuTe C++, the CuTe DSL, CATLASS."""
