"""The commands of the group Predict: one file per command, as in `regatta.cli`."""
