"""Marks for training frameworks, each in a module of its own that is loaded by name.

They were written for the versions that each one names, and tested with stand-ins of them.
"""
