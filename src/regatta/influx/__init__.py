"""Results in InfluxDB: a projection of the journal, which can be made again from it."""
