use http::{HeaderName, HeaderValue};
use metrics_exporter_prometheus::PrometheusBuilder;

use super::*;

const NOW: Timestamp = Timestamp(1_800_000_000_000);
const ONE: InstallationId = InstallationId(1);
const RESET: i64 = 1_800_000_000 + 1800;

fn said(limit: i64, remaining: i64, reset: i64) -> HeaderMap {
    let numbers = [("limit", limit), ("remaining", remaining), ("reset", reset)];
    numbers
        .iter()
        .map(|(name, number)| {
            let name: HeaderName = format!("x-ratelimit-{name}").parse().unwrap();
            (name, HeaderValue::from(*number))
        })
        .collect()
}

fn left(remaining: i64) -> Budgets {
    let budgets = Budgets::default();
    budgets.note(ONE, &said(5000, remaining, RESET), NOW);
    budgets
}

/// Milliseconds that a request has to wait, or 0.
fn wait(budgets: &Budgets, purpose: Purpose, now: Timestamp) -> i64 {
    match budgets.admit(ONE, purpose, Effect::Read, now) {
        Ok(()) => 0,
        Err(ForgeError::Later {
            after_ms: Some(wait), ..
        }) => wait,
        Err(other) => panic!("{other:?}"),
    }
}

const ALL: [Purpose; 3] = [Purpose::Listing, Purpose::Reviewing, Purpose::Concluding];

#[test]
fn what_can_wait_waits_first_and_the_last_part_is_kept_for_conclusions() {
    let until_reset = 1_801_000;
    for (remaining, begins, waits) in [
        (1251, true, [0, 0, 0]),
        (1250, true, [until_reset, 0, 0]),
        (501, true, [until_reset, 0, 0]),
        (500, false, [until_reset, 0, 0]),
        (250, false, [until_reset, until_reset, 0]),
        (1, false, [until_reset, until_reset, 0]),
        (0, false, [until_reset; 3]),
    ] {
        let budgets = left(remaining);
        assert_eq!(ALL.map(|p| wait(&budgets, p, NOW)), waits, "{remaining} left");
        let begun = budgets.wait_to_begin(ONE, NOW).is_none();
        assert_eq!(begun, begins, "{remaining} left");
    }
}

#[test]
fn a_new_hour_is_a_new_budget_and_another_installation_has_its_own() {
    let budgets = left(0);
    assert!(wait(&budgets, Purpose::Concluding, NOW.plus_ms(1_800_000)) > 0);
    assert_eq!(wait(&budgets, Purpose::Listing, NOW.plus_ms(1_801_000)), 0);
    let other = InstallationId(2);
    budgets.admit(other, Purpose::Listing, Effect::Read, NOW).unwrap();
    assert_eq!(budgets.wait_to_begin(other, NOW), None);
}

#[test]
fn answers_that_overtake_each_other_leave_the_least() {
    let budgets = left(10);
    budgets.note(ONE, &said(5000, 4000, RESET), NOW);
    assert!(
        wait(&budgets, Purpose::Reviewing, NOW) > 0,
        "sent before, came after"
    );
    budgets.note(ONE, &said(5000, 4000, RESET - 3600), NOW);
    assert!(wait(&budgets, Purpose::Reviewing, NOW) > 0, "of the hour before");
    budgets.note(ONE, &said(5000, 4999, RESET + 3600), NOW);
    assert_eq!(wait(&budgets, Purpose::Reviewing, NOW), 0);
}

#[test]
fn without_a_word_of_the_forge_or_with_an_odd_one_nothing_is_put_off() {
    let budgets = Budgets::default();
    let odd = |name: &'static str, value: &'static str| {
        let mut headers = said(5000, 0, RESET);
        headers.insert(name, HeaderValue::from_static(value));
        headers
    };
    budgets.note(ONE, &HeaderMap::new(), NOW);
    budgets.note(ONE, &odd("x-ratelimit-remaining", "none"), NOW);
    budgets.note(ONE, &odd("x-ratelimit-limit", "-5"), NOW);
    budgets.note(ONE, &odd("x-ratelimit-reset", "tomorrow"), NOW);
    // Another resource's hour is not ours.
    budgets.note(ONE, &odd("x-ratelimit-resource", "search"), NOW);
    assert_eq!(ALL.map(|p| wait(&budgets, p, NOW)), [0; 3]);
}

#[test]
fn no_clock_parks_work_for_good() {
    // The forge's clock is a day ahead of ours.
    let budgets = Budgets::default();
    budgets.note(ONE, &said(5000, 0, RESET + 86_400), NOW);
    assert_eq!(wait(&budgets, Purpose::Concluding, NOW), 3_600_000);
    assert_eq!(wait(&budgets, Purpose::Concluding, NOW.plus_ms(3_600_000)), 0);
    // Or a day behind: it will say so itself.
    budgets.note(ONE, &said(5000, 0, RESET - 86_400), NOW.plus_ms(3_600_000));
    assert_eq!(wait(&budgets, Purpose::Concluding, NOW.plus_ms(3_600_000)), 0);
    // Ours is set back by a day after the forge was heard.
    let budgets = left(0);
    budgets.pause(ONE, false, 600_000, NOW);
    assert_eq!(wait(&budgets, Purpose::Concluding, NOW.plus_ms(-86_400_000)), 0);
    // And an absurd number is no overflow.
    budgets.note(ONE, &said(i64::MAX, 0, i64::MAX), NOW);
    budgets.pause(ONE, false, i64::MAX, NOW);
    assert_eq!(wait(&budgets, Purpose::Listing, NOW), 3_600_000);
    assert_eq!(wait(&budgets, Purpose::Listing, Timestamp(i64::MIN)), 0);
    assert_eq!(wait(&budgets, Purpose::Listing, Timestamp(i64::MAX)), 0);
}

#[test]
fn a_pause_is_kept_by_all_and_the_longer_one_counts() {
    let budgets = Budgets::default();
    budgets.pause(ONE, false, 30_000, NOW);
    budgets.pause(ONE, false, 10_000, NOW);
    assert_eq!(ALL.map(|p| wait(&budgets, p, NOW)), [30_000; 3]);
    assert_eq!(budgets.wait_to_begin(ONE, NOW), Some(30_000));
    assert_eq!(wait(&budgets, Purpose::Reviewing, NOW.plus_ms(30_000)), 0);
}

#[test]
fn a_pause_of_writing_lets_reading_go_on() {
    let budgets = Budgets::default();
    budgets.pause(ONE, true, 30_000, NOW);
    assert_eq!(wait(&budgets, Purpose::Concluding, NOW), 0, "a read");
    budgets
        .admit(ONE, Purpose::Concluding, Effect::Write, NOW)
        .unwrap_err();
    assert_eq!(budgets.wait_to_begin(ONE, NOW), None);
}

#[test]
fn the_page_shows_a_bounded_number_of_installations_and_the_poorest_of_the_rest() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let page = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        let budgets = Budgets::default();
        for id in 1..=1000 {
            budgets.note(InstallationId(id), &said(5000, 5000 - id, RESET), NOW);
        }
        budgets.note(InstallationId(200), &said(5000, 4321, RESET), NOW);
        let mut odd = said(30, 7, RESET);
        for n in 0..1000 {
            let name = format!("made-up-{n}");
            odd.insert("x-ratelimit-resource", name.parse().unwrap());
            budgets.note(ONE, &odd, NOW);
        }
    });
    let text = page.render();
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(lines("jury_forge_rate_remaining{"), LABELLED + 2);
    for line in [
        "jury_forge_rate_remaining{installation=\"1\",resource=\"core\"} 4999",
        "jury_forge_rate_remaining{installation=\"other\",resource=\"core\"} 4000",
        "jury_forge_rate_limit{installation=\"1\",resource=\"other\"} 30",
        "jury_forge_rate_reset_seconds{installation=\"64\",resource=\"core\"} 1800001800",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}
