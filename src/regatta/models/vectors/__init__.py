"""Vectors of systems and applications: values, schema, files, the tables that name their primitives, and costs."""
