//! The parts of a SARIF document that are read, by their names there.

use serde::Deserialize;

use super::super::{
    MAX_RESULTS,
    lenient::{Flag, Int, List, Named, Object, Text},
};

/// Rules of one component of a tool.
const MAX_RULES: usize = 25_000;
/// Runs of one file, which is what GitHub's code scanning takes.
const MAX_RUNS: usize = 20;
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Log {
    pub(super) version: Text,
    pub(super) runs: List<Object<Run>, MAX_RUNS>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Run {
    pub(super) tool: Object<Tool>,
    pub(super) results: List<Object<Outcome>, MAX_RESULTS>,
    pub(super) original_uri_base_ids: Named<Object<ArtifactLocation>, 100>,
    pub(super) artifacts: List<Object<Artifact>, 50_000>,
    pub(super) invocations: List<Object<Invocation>, 32>,
    pub(super) column_kind: Text,
    pub(super) external_property_file_references: Object<External>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct External {
    pub(super) results: List<Object<Nothing>, 1>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Nothing {}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tool {
    pub(super) driver: Object<Component>,
    pub(super) extensions: List<Object<Component>, 100>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Component {
    pub(super) name: Text,
    pub(super) guid: Text,
    pub(super) rules: List<Object<Rule>, MAX_RULES>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Rule {
    pub(super) id: Text,
    pub(super) guid: Text,
    pub(super) short_description: Object<Message>,
    pub(super) full_description: Object<Message>,
    pub(super) message_strings: Named<Object<Message>, 32>,
    pub(super) default_configuration: Object<Configuration>,
    pub(super) help_uri: Text,
    pub(super) properties: Object<Properties>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Configuration {
    pub(super) level: Text,
    pub(super) enabled: Flag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Properties {
    pub(super) tags: List<Text, 64>,
    pub(super) precision: Text,
    #[serde(rename = "security-severity")]
    pub(super) security_severity: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    pub(super) text: Text,
    pub(super) markdown: Text,
    pub(super) id: Text,
    pub(super) arguments: List<Text, 16>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Outcome {
    pub(super) rule_id: Text,
    pub(super) rule_index: Int,
    pub(super) rule: Object<RuleReference>,
    pub(super) kind: Text,
    pub(super) level: Text,
    pub(super) message: Object<Message>,
    pub(super) locations: List<Object<Location>, 8>,
    pub(super) suppressions: List<Object<Suppression>, 16>,
    pub(super) baseline_state: Text,
    pub(super) fixes: List<Object<Fix>, 1>,
    pub(super) provenance: Object<Provenance>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Provenance {
    pub(super) invocation_index: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RuleReference {
    pub(super) id: Text,
    pub(super) index: Int,
    pub(super) guid: Text,
    pub(super) tool_component: Object<ComponentReference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ComponentReference {
    pub(super) name: Text,
    pub(super) index: Int,
    pub(super) guid: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Location {
    pub(super) physical_location: Object<PhysicalLocation>,
    pub(super) logical_locations: List<Object<LogicalLocation>, 4>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct LogicalLocation {
    pub(super) fully_qualified_name: Text,
    pub(super) name: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: Object<ArtifactLocation>,
    pub(super) region: Object<SarifRegion>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    pub(super) uri: Text,
    pub(super) uri_base_id: Text,
    pub(super) index: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Artifact {
    pub(super) location: Object<ArtifactLocation>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SarifRegion {
    pub(super) start_line: Int,
    pub(super) start_column: Int,
    pub(super) end_line: Int,
    pub(super) end_column: Int,
    pub(super) char_offset: Int,
    pub(super) char_length: Int,
    pub(super) byte_offset: Int,
    pub(super) byte_length: Int,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Suppression {
    pub(super) status: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Fix {
    pub(super) artifact_changes: List<Object<ArtifactChange>, 2>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ArtifactChange {
    pub(super) artifact_location: Object<ArtifactLocation>,
    pub(super) replacements: List<Object<SarifReplacement>, 32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SarifReplacement {
    pub(super) deleted_region: Object<SarifRegion>,
    pub(super) inserted_content: Object<Content>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content {
    pub(super) text: Text,
    pub(super) binary: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(super) execution_successful: Flag,
    pub(super) tool_execution_notifications: List<Object<Notification>, 100>,
    pub(super) tool_configuration_notifications: List<Object<Notification>, 100>,
    pub(super) rule_configuration_overrides: List<Object<Override>, 1_000>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Notification {
    pub(super) level: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Override {
    pub(super) descriptor: Object<RuleReference>,
    pub(super) configuration: Object<Configuration>,
}
