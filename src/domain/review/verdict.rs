//! The verdict: a pure function of the findings and the axes (DESIGN §5).
//!
//! 1. a confirmed live P0 with confidence ≥ 0.7 → block
//! 2. any other live P0, or a live P1 that is not disputed (nor advisory) → hold
//! 3. otherwise ship
//! 4. axes, only ever upward: gated `fail` → block; gated `partial` or
//!    `unavailable` → at least hold
//! 5. confidence = mean minus population deviation of the confidences of the
//!    findings that met the deciding rule, within 0.5 to 1; none: 1.0

use crate::domain::ids::FindingId;

use super::{
    axis::{AxisResult, AxisState},
    finding::{Axis, Confidence, Finding, Priority, Status},
    snapshot::Verdict,
};

/// The verdict and what decided it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// 0.5 to 1.
    pub confidence: f64,
    /// What decided: empty for a `ship`.
    pub reasons: Vec<Reason>,
}

/// One thing that decided.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A finding.
    Finding(FindingId),
    /// A gated axis.
    Axis(Axis, AxisState),
}

/// Whether a finding, filed now, is advisory: P1 or below, by a reviewer that saw all
/// it should in the space's previous finished pass (`looked_before`), on code that did
/// not change since. A look that broke or was cut short could not have said it then.
/// It is decided once, when it is first filed.
pub fn is_advisory(priority: Priority, looked_before: bool, code_unchanged: bool) -> bool {
    priority > Priority::P0 && looked_before && code_unchanged
}

/// What one live finding asks for by rules 1 to 3.
pub fn weight(finding: &Finding) -> Verdict {
    if !finding.is_live() {
        return Verdict::Ship;
    }
    match finding.priority {
        Priority::P0 if finding.is_confirmed() && finding.confidence >= Confidence::BLOCKING => {
            Verdict::Block
        }
        Priority::P0 => Verdict::Hold,
        Priority::P1 if finding.status != Status::Disputed && !finding.advisory => Verdict::Hold,
        _ => Verdict::Ship,
    }
}

/// What one axis asks for by rule 4.
pub fn axis_weight(axis: &AxisResult) -> Verdict {
    match axis.state {
        AxisState::Fail if axis.gated => Verdict::Block,
        AxisState::Partial | AxisState::Unavailable if axis.gated => Verdict::Hold,
        _ => Verdict::Ship,
    }
}

/// Comes to the verdict. The order of neither list matters.
pub fn judge(findings: &[Finding], axes: &[AxisResult]) -> Judgement {
    let by_findings = findings.iter().map(weight).max().unwrap_or(Verdict::Ship);
    let by_axes = axes.iter().map(axis_weight).max().unwrap_or(Verdict::Ship);
    let verdict = by_findings.max(by_axes);
    if verdict == Verdict::Ship {
        return Judgement {
            verdict,
            confidence: 1.0,
            reasons: Vec::new(),
        };
    }
    let deciding: Vec<&Finding> = findings.iter().filter(|f| weight(f) == verdict).collect();
    let mut reasons: Vec<Reason> = deciding.iter().map(|f| Reason::Finding(f.id.clone())).collect();
    reasons.extend(
        axes.iter()
            .filter(|axis| axis_weight(axis) == verdict)
            .map(|axis| Reason::Axis(axis.axis, axis.state)),
    );
    reasons.sort();
    reasons.dedup();
    Judgement {
        verdict,
        confidence: confidence(deciding.iter().map(|f| f.confidence.get())),
        reasons,
    }
}

/// Mean minus population deviation, within 0.5 to 1; 1 for none. Summed in the
/// order of size, so that the same numbers give the same bits.
fn confidence(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    if values.is_empty() {
        return 1.0;
    }
    values.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "far fewer findings than 2^52")]
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    (mean - variance.sqrt()).clamp(0.5, 1.0)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
