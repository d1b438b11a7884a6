"""Dashboards for Grafana as code. `python -m dashboards` writes the JSON that Grafana reads; see dashboards/README.md."""
