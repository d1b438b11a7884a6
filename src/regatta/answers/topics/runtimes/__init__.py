"""Each runtime relative to the first one, for the dashboards, regardless of the baseline of the experiment."""
