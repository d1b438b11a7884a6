"""Each runtime relative to the first one, for the dashboards, whatever the baseline of the experiment is."""
