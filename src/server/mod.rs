//! HTTP in: webhooks, health, metrics.
