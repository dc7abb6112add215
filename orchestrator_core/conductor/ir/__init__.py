"""The flat typed graph that rewrites read and make: values, nodes, and graphs of loop bodies."""
