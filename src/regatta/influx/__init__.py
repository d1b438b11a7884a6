"""Results in InfluxDB: a projection of the journal that can be rebuilt from it."""
