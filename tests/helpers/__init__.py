"""What tests share: servers, made-up experiments, tiers, and how processes share the tests."""
