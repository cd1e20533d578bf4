//! SARIF 2.1.0 (OASIS), as far as a review needs it.
//!
//! The level of a result is its own, else that of the invocation's override, else its
//! rule's default, else `warning` (§3.27.10); a `kind` other than `fail` that names no
//! level weighs nothing (§3.27.9). A result is suppressed when all its suppressions are
//! accepted (§3.27.23). A run without results, or one that says of itself that it did
//! not succeed, proves nothing. Code flows, graphs and contents are skipped unread.

mod model;

use std::collections::HashMap;

use crate::domain::review::finding::Confidence;

use super::{
    Level, MAX_ABOUT, MAX_MESSAGE, Place, ReportError, ToolReport, ToolResult, json_fault,
    lenient::{Int, List, Object, Text, read},
    link,
    paths::uri_readings,
    plain,
    region::{ColumnUnit, Edit, Region},
    rule_id, tool_name,
};

use model::{
    ArtifactLocation, Component, Configuration, Log, Message, Outcome, PhysicalLocation, Rule, Run,
    SarifRegion, SarifReplacement, Suppression,
};

/// Levels of `uriBaseId`; the specification forbids circles, files do not know that.
const MAX_BASES: usize = 16;

/// Reads a SARIF file.
pub(super) fn parse(text: &str) -> Result<ToolReport, ReportError> {
    let log: Object<Log> = read(text).map_err(|error| json_fault(&error))?;
    let Some(log) = log.get() else {
        return Err(ReportError::OtherFormat("SARIF 2.1.0"));
    };
    // A file that says no version is taken at its word; 1.0 and 2.0 have other words.
    if log
        .version
        .get()
        .is_some_and(|version| !version.starts_with("2.1"))
        || !log.runs.given
    {
        return Err(ReportError::OtherFormat("SARIF 2.1.0"));
    }
    let mut report = ToolReport::default();
    if log.runs.kept.is_empty() {
        report.fail("it holds no run: nothing was looked at");
    }
    if log.runs.over > 0 {
        report.lacks(format!("{} more runs were not read", log.runs.over));
    }
    for run in &log.runs.kept {
        match run.get() {
            Some(run) => Reader::of(run).read(&mut report),
            None => report.fail("a run is not readable"),
        }
    }
    Ok(report)
}

/// One run and its rules.
struct Reader<'a> {
    run: &'a Run,
    /// The name that findings carry.
    tool: String,
    unit: ColumnUnit,
    /// The driver's rules, then those of each extension, by id.
    rules: Vec<HashMap<&'a str, &'a Rule>>,
}

impl<'a> Reader<'a> {
    fn of(run: &'a Run) -> Self {
        let driver = run.tool.get().and_then(|tool| tool.driver.get());
        let unit = match run.column_kind.get() {
            Some("utf16CodeUnits") => ColumnUnit::Utf16,
            Some("unicodeCodePoints") => ColumnUnit::Characters,
            _ => ColumnUnit::Unknown,
        };
        let mut reader = Self {
            run,
            tool: tool_name(driver.and_then(|driver| driver.name.get()), "sarif"),
            unit,
            rules: Vec::new(),
        };
        reader.rules = reader
            .components()
            .map(|component| {
                let mut by_id = HashMap::new();
                for rule in component
                    .map_or(&[][..], |c| &c.rules.kept)
                    .iter()
                    .filter_map(Object::get)
                {
                    if let Some(id) = rule.id.get() {
                        by_id.entry(id).or_insert(rule);
                    }
                }
                by_id
            })
            .collect();
        reader
    }

    /// The driver, then the extensions in their order.
    fn components(&self) -> impl Iterator<Item = Option<&'a Component>> + use<'a> {
        let tool = self.run.tool.get();
        let extensions = tool.map_or(&[][..], |tool| &tool.extensions.kept);
        std::iter::once(tool.and_then(|tool| tool.driver.get())).chain(extensions.iter().map(Object::get))
    }

    fn read(&self, report: &mut ToolReport) {
        let run = self.run;
        for invocation in run.invocations.objects() {
            if invocation.execution_successful.0 == Some(false) {
                report.fail(&format!("`{}` says that it did not succeed", self.tool));
            }
            let notifications = [
                &invocation.tool_execution_notifications,
                &invocation.tool_configuration_notifications,
            ];
            let errors = notifications
                .into_iter()
                .flat_map(List::objects)
                .filter(|notification| notification.level.get() == Some("error"))
                .count();
            if errors > 0 {
                let s = if errors == 1 { "" } else { "s" };
                report.lacks(format!("`{}` reports {errors} error{s} of its own", self.tool));
            }
        }
        let elsewhere = run
            .external_property_file_references
            .get()
            .is_some_and(|external| external.results.given);
        if elsewhere {
            report.lacks("results are in another file, which is not read".to_owned());
        }
        if !run.results.given {
            report.fail(&format!(
                "`{}` reports no results, not even none: nothing was looked at",
                self.tool
            ));
        }
        report.left_out.over += run.results.over;
        for outcome in &run.results.kept {
            let Some(outcome) = outcome.get() else {
                report.left_out.unreadable += 1;
                continue;
            };
            self.outcome(outcome, report);
        }
    }

    fn outcome(&self, outcome: &Outcome, report: &mut ToolReport) {
        if outcome.baseline_state.get() == Some("absent") {
            report.left_out.gone += 1;
            return;
        }
        if is_suppressed(outcome) {
            report.left_out.suppressed += 1;
            return;
        }
        let rule = self.rule(outcome);
        let Some(level) = self.level(outcome, rule) else {
            report.left_out.weightless += 1;
            return;
        };
        let id = rule_of(outcome).or_else(|| rule.and_then(|rule| rule.id.get()));
        let rule_name = rule_id(id, "unnamed");
        let about = rule.and_then(|rule| {
            let said = |message: &Object<Message>| plain(message.get()?.text.get(), MAX_ABOUT);
            said(&rule.full_description).or_else(|| said(&rule.short_description))
        });
        let message = self.message(outcome, rule);
        let message = message
            .or_else(|| about.clone())
            .unwrap_or_else(|| rule_name.clone());
        let properties = rule.and_then(|rule| rule.properties.get());
        let tags = || {
            properties
                .into_iter()
                .flat_map(|p| &p.tags.kept)
                .filter_map(Text::get)
        };
        let tagged = |tag: &str| tags().any(|own| own.eq_ignore_ascii_case(tag));
        let physical = outcome
            .locations
            .objects()
            .find_map(|location| location.physical_location.get());
        let place = physical.and_then(|physical| self.place(physical));
        let logical = outcome
            .locations
            .objects()
            .flat_map(|location| location.logical_locations.objects())
            .find_map(|logical| plain(logical.fully_qualified_name.get().or(logical.name.get()), 200));
        let fix = place
            .as_ref()
            .map(|place| self.fix(outcome, place))
            .unwrap_or_default();
        report.results.push(ToolResult {
            tool: self.tool.clone(),
            rule: rule_name,
            level,
            security: tagged("security") || properties.is_some_and(|p| p.security_severity.0.is_some()),
            secret: looks_for_secrets(&self.tool) || tagged("secret") || tagged("secrets"),
            confidence: confidence(properties.and_then(|p| p.precision.get())),
            message,
            about,
            help: rule.and_then(|rule| link(rule.help_uri.get())),
            place,
            logical,
            fix,
        });
    }

    /// The rule of a result: by index, by guid, by id; a part of a hierarchical id will do.
    fn rule(&self, outcome: &Outcome) -> Option<&'a Rule> {
        let reference = outcome.rule.get();
        let component = reference
            .and_then(|r| r.tool_component.get())
            .map_or(Some(0), |named| {
                named.index.index().map(|index| index + 1).or_else(|| {
                    self.components().position(|component| {
                        let same = |own: &Text, wanted: &Text| own.0.is_some() && own.0 == wanted.0;
                        component.is_some_and(|c| same(&c.guid, &named.guid) || same(&c.name, &named.name))
                    })
                })
            });
        let id = rule_of(outcome);
        let index = reference
            .and_then(|r| r.index.index())
            .or(outcome.rule_index.index());
        if let (Some(component), Some(index)) = (component, index)
            && let Some(rule) = self.components().nth(component).flatten().and_then(|c| c.rules.at(index))
            // An index that contradicts the id was not meant for this list.
            && id.is_none_or(|id| rule.id.get().is_none_or(|own| is_part(own, id)))
        {
            return Some(rule);
        }
        if let Some(guid) = reference.and_then(|r| r.guid.get()) {
            let found = self
                .components()
                .flatten()
                .flat_map(|c| c.rules.objects())
                .find(|rule| rule.guid.get() == Some(guid));
            if found.is_some() {
                return found;
            }
        }
        let mut id = id?;
        loop {
            let own = component.and_then(|component| self.rules.get(component)?.get(id));
            if let Some(rule) = own.or_else(|| self.rules.iter().find_map(|rules| rules.get(id))) {
                return Some(rule);
            }
            id = id.rsplit_once('/')?.0;
        }
    }

    /// `None`: it weighs nothing.
    fn level(&self, outcome: &Outcome, rule: Option<&Rule>) -> Option<Level> {
        let own = outcome.level.get().map(str::to_lowercase);
        match outcome.kind.get() {
            Some("pass" | "notApplicable") => return None,
            Some("open" | "review" | "informational") if own.is_none() => return None,
            _ => {}
        }
        let configured = |configuration: &Configuration| {
            if configuration.enabled.0 == Some(false) {
                return None;
            }
            configuration.level.get().map(str::to_lowercase)
        };
        let overridden = || {
            let invocation = outcome.provenance.get()?.invocation_index.index()?;
            let id = rule?.id.get()?;
            let overrides = &self.run.invocations.at(invocation)?.rule_configuration_overrides;
            let named = overrides
                .objects()
                .find(|o| o.descriptor.get().is_some_and(|d| d.id.get() == Some(id)))?;
            configured(named.configuration.get()?)
        };
        let default = || configured(rule?.default_configuration.get()?);
        match own.or_else(overridden).or_else(default).as_deref() {
            Some("error") => Some(Level::Error),
            Some("note") => Some(Level::Note),
            Some("none") => None,
            // An unknown word is no reason to look away.
            _ => Some(Level::Warning),
        }
    }

    fn message(&self, outcome: &Outcome, rule: Option<&Rule>) -> Option<String> {
        let message = outcome.message.get()?;
        let by_id = || {
            let strings = &rule?.message_strings.0;
            strings.get(message.id.get()?)?.get()?.text.get()
        };
        let template = message.text.get().or_else(by_id).or(message.markdown.get())?;
        let mut text = template.to_owned();
        for (index, argument) in message.arguments.kept.iter().enumerate() {
            let argument = argument.get().unwrap_or_default();
            let mark = format!("{{{index}}}");
            // A short template must not grow without bound.
            if text.len() + argument.len() * text.matches(&mark).count() > 4 * MAX_MESSAGE {
                break;
            }
            text = text.replace(&mark, argument);
        }
        plain(Some(&text), MAX_MESSAGE)
    }

    fn place(&self, physical: &PhysicalLocation) -> Option<Place> {
        let paths = self.paths(physical.artifact_location.get()?);
        if paths.is_empty() {
            return None;
        }
        Some(Place {
            paths,
            region: physical.region.get().map_or(Region::File, region),
            unit: self.unit,
        })
    }

    fn paths(&self, location: &ArtifactLocation) -> Vec<String> {
        // The place in the list of artifacts may say more than the result does.
        let listed = location
            .index
            .index()
            .and_then(|index| self.run.artifacts.at(index)?.location.get());
        let named = if location.uri.0.is_some() {
            Some(location)
        } else {
            listed
        };
        let Some((uri, named)) = named.and_then(|named| Some((named.uri.get()?, named))) else {
            return Vec::new();
        };
        let mut bases = Vec::new();
        let mut next = named.uri_base_id.get();
        while let Some(base) = next.and_then(|id| self.run.original_uri_base_ids.0.get(id)?.get())
            && bases.len() < MAX_BASES
        {
            bases.push(base.uri.get().unwrap_or_default().to_owned());
            next = base.uri_base_id.get();
        }
        uri_readings(uri, &bases)
    }

    /// The first proposed fix, when it changes the result's own file only.
    fn fix(&self, outcome: &Outcome, place: &Place) -> Vec<Edit> {
        let Some(fix) = outcome.fixes.objects().next() else {
            return Vec::new();
        };
        let [Object(Some(change))] = &fix.artifact_changes.kept[..] else {
            return Vec::new();
        };
        let same = change
            .artifact_location
            .get()
            .is_some_and(|location| self.paths(location).first() == place.paths.first());
        if !same || change.replacements.over > 0 {
            return Vec::new();
        }
        let edit = |replacement: &Object<SarifReplacement>| {
            let replacement = replacement.get()?;
            let content = replacement.inserted_content.get();
            if content.is_some_and(|content| content.binary.0.is_some()) {
                return None;
            }
            Some(Edit {
                region: region(replacement.deleted_region.get()?),
                text: content
                    .and_then(|content| content.text.0.clone())
                    .unwrap_or_default(),
            })
        };
        // All of it or nothing: half a fix is none.
        change
            .replacements
            .kept
            .iter()
            .map(edit)
            .collect::<Option<_>>()
            .unwrap_or_default()
    }
}

fn rule_of(outcome: &Outcome) -> Option<&str> {
    outcome
        .rule_id
        .get()
        .or_else(|| outcome.rule.get().and_then(|rule| rule.id.get()))
}

/// Whether `id` is `own` or below it: `CA1000/1` is below `CA1000`.
fn is_part(own: &str, id: &str) -> bool {
    id.strip_prefix(own)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_suppressed(outcome: &Outcome) -> bool {
    let mut given = outcome.suppressions.kept.iter().peekable();
    let accepted = |suppression: &Object<Suppression>| {
        suppression
            .get()
            .is_some_and(|s| s.status.get().is_none_or(|status| status == "accepted"))
    };
    given.peek().is_some() && given.all(accepted)
}

/// Lines and columns are one-based; what names line 0 names the file (R11).
fn region(region: &SarifRegion) -> Region {
    if let Some(start) = region.start_line.place() {
        let end = region.end_line.place().unwrap_or(start).max(start);
        return Region::Lines {
            start,
            end,
            start_column: region.start_column.place(),
            end_column: region.end_column.place(),
        };
    }
    let sized = |offset: Int, length: Int| Some((offset.index()?, length.index().unwrap_or(0)));
    if let Some((offset, length)) = sized(region.char_offset, region.char_length) {
        Region::Characters { offset, length }
    } else if let Some((offset, length)) = sized(region.byte_offset, region.byte_length) {
        Region::Bytes { offset, length }
    } else {
        Region::File
    }
}

/// Tools whose results stand where a secret does.
fn looks_for_secrets(tool: &str) -> bool {
    [
        "gitleaks",
        "trufflehog",
        "detect-secrets",
        "secretlint",
        "ggshield",
        "noseyparker",
    ]
    .iter()
    .any(|known| tool.contains(known))
}

fn confidence(precision: Option<&str>) -> Confidence {
    let value = match precision {
        Some("very-high") => 0.95,
        Some("high") => 0.9,
        Some("low") => 0.5,
        Some("medium") => 0.7,
        _ => 0.8,
    };
    Confidence::new(value).unwrap_or(Confidence::BLOCKING)
}
