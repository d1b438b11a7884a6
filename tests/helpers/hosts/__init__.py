"""Hosts that tests make: images, containers, a Slurm cluster, certificates."""
