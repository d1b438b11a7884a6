"""An InfluxDB and a Grafana of the user's own: started with `regatta up`, ended with `regatta down`."""
