"""A user's InfluxDB and Grafana: started by `regatta up`, stopped by `regatta down`."""
