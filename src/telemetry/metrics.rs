//! The metrics, and the recorder behind `/metrics`.
//!
//! [`METRICS`] is the list of every metric that Jury writes: a layer that may not
//! name this folder writes the same name as a literal, and a metric that is not
//! listed has no description on the page.

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// What a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution.
    Histogram,
}

/// Every metric: name, kind, and what it counts, with its labels.
pub const METRICS: &[(&str, Kind, &str)] = &[
    (
        "jury_deliveries_total",
        Kind::Counter,
        "Webhook requests by outcome: stored, repeated, requeued, unsigned, bad_signature, too_large, not_json, bad_request, busy, slow, unavailable",
    ),
    (
        "jury_webhook_bytes_in_flight",
        Kind::Gauge,
        "Bytes of webhook bodies that are held in memory",
    ),
    ("jury_http_connections", Kind::Gauge, "Open connections"),
    (
        "jury_jobs_total",
        Kind::Counter,
        "Finished job attempts by kind and outcome: done, retried, dead",
    ),
    (
        "jury_deliveries",
        Kind::Gauge,
        "Deliveries that are not done, by state: queued, running, dead; counted once a minute",
    ),
    (
        "jury_jobs",
        Kind::Gauge,
        "Jobs that are not done, by kind and state: ready, running, dead; counted once a minute",
    ),
    (
        "jury_passes_total",
        Kind::Counter,
        "Ended passes by outcome: ship, hold, block, superseded, timed_out, broken",
    ),
    (
        "jury_pass_seconds",
        Kind::Histogram,
        "Time from the start of a pass to its end",
    ),
    (
        "jury_forge_requests_total",
        Kind::Counter,
        "Requests to the forge by method and status class: 2xx, 3xx, 4xx, 5xx, none",
    ),
    (
        "jury_forge_rate_limit",
        Kind::Gauge,
        "Requests an hour that the forge allows, by installation (the first 64 seen, and other: the poorest of the rest) and resource",
    ),
    (
        "jury_forge_rate_remaining",
        Kind::Gauge,
        "Requests that the forge leaves until the reset, by installation and resource",
    ),
    (
        "jury_forge_rate_reset_seconds",
        Kind::Gauge,
        "When the forge counts anew, in seconds since the epoch, by installation and resource",
    ),
    (
        "jury_forge_postponed_total",
        Kind::Counter,
        "Requests that were put off and not sent, by purpose (listing, reviewing, concluding) and why: budget, pause",
    ),
];

const PASS_SECONDS: &[f64] = &[0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];

/// Reads the metrics of the process.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

impl Metrics {
    /// Makes the recorder that every `metrics` macro of the process writes to.
    /// Fails when there is one already.
    pub fn install() -> Result<Self, BuildError> {
        let handle = builder()?.install_recorder()?;
        describe();
        Ok(Self(handle))
    }

    /// A recorder that nothing writes to, for a program that shows no metrics and
    /// for tests, of which many run in one process.
    pub fn detached() -> Self {
        Self(PrometheusBuilder::new().build_recorder().handle())
    }

    /// The text of `/metrics`.
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Folds samples away so that memory stays bounded when nobody reads the page;
    /// to be called every few seconds.
    pub fn upkeep(&self) {
        self.0.run_upkeep();
    }
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new().set_buckets_for_metric(Matcher::Full("jury_pass_seconds".into()), PASS_SECONDS)
}

fn describe() {
    for &(name, kind, text) in METRICS {
        match kind {
            Kind::Counter => metrics::describe_counter!(name, text),
            Kind::Gauge => metrics::describe_gauge!(name, text),
            Kind::Histogram => metrics::describe_histogram!(name, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_shown_with_its_description() {
        let recorder = builder().unwrap().build_recorder();
        let page = Metrics(recorder.handle());
        metrics::with_local_recorder(&recorder, || {
            describe();
            metrics::counter!("jury_deliveries_total", "outcome" => "stored").increment(2);
            metrics::histogram!("jury_pass_seconds").record(0.7);
        });
        page.upkeep();
        let text = page.render();
        assert!(
            text.contains("jury_deliveries_total{outcome=\"stored\"} 2"),
            "{text}"
        );
        assert!(
            text.contains("# HELP jury_deliveries_total Webhook requests by outcome"),
            "{text}"
        );
        assert!(text.contains("jury_pass_seconds_bucket{le=\"1\"} 1"), "{text}");
    }

    #[test]
    fn every_metric_that_the_source_writes_is_listed() {
        let mut open = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut seen = 0;
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(
                    std::fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let makers = ["counter", "gauge", "histogram"].map(|maker| format!("{maker}!("));
            for after in makers.iter().flat_map(|maker| text.split(maker.as_str()).skip(1)) {
                let Some(name) = after
                    .trim_start()
                    .strip_prefix('"')
                    .and_then(|rest| rest.split('"').next())
                else {
                    continue;
                };
                seen += 1;
                assert!(
                    METRICS.iter().any(|(known, ..)| *known == name),
                    "{} writes {name}, which telemetry::metrics::METRICS does not list",
                    path.display()
                );
            }
        }
        assert!(seen > 0, "no metric was found: the scan is broken");
    }
}
