"""Models that run in PyTorch: their forward passes, on the device where the model is.

The engine makes the plan, rows, tables and charts, as for files. This package computes the work
items with a forward pass, and returns the same outcomes.
"""
