//! Findings and the votes on them.
//!
//! At most one finding of a fingerprint is live in a space; the index holds it.
//! Priority and confidence are judged here, where a row is read: a row in which
//! either is missing or out of range is dropped and counted, and never reaches a
//! verdict. Such a row does not swallow a new finding of its fingerprint either.

use std::collections::HashMap;

use crate::domain::{
    ids::{FindingId, PassId, SpaceId},
    review::{
        boundary::believe,
        finding::{Anchor, Finding, Provenance, Status, Vote},
    },
    time::Timestamp,
};

use super::{
    StoreError, Tx,
    columns::{from_row, storable},
    db::on,
};

/// What became of a finding that was filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filed {
    /// It is new.
    New,
    /// The same remark is live already, under this id; it was seen again.
    Known(FindingId),
}

/// Findings that were read, and how many rows were not fit to be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredFindings {
    /// By the time they were filed.
    pub findings: Vec<Finding>,
    /// Rows without a valid priority or confidence.
    pub dropped: usize,
}

/// A row at the read boundary: `None` when its priority or confidence is not valid.
struct Judged(Option<Finding>);

from_row!(Judged, row => Judged({
    // Any fault of these two columns, the wrong type too, is a row to drop.
    let priority = row.try_get::<Option<String>, _>("priority").ok().flatten();
    let confidence = row.try_get::<Option<f64>, _>("confidence").ok().flatten();
    match believe(priority.as_deref(), confidence) {
        Some((priority, confidence)) => Some(Finding {
            id: row.try_get("id")?,
            fingerprint: row.try_get("fingerprint")?,
            kind: row.try_get("kind")?,
            priority,
            confidence,
            axis: row.try_get("axis")?,
            title: row.try_get("title")?,
            body: row.try_get("body")?,
            suggestion: row.try_get("suggestion")?,
            anchor: match row.try_get("anchor_path")? {
                Some(path) => Some(Anchor {
                    path,
                    side: row.try_get("anchor_side")?,
                    start_line: line("anchor_start", row.try_get("anchor_start")?)?,
                    end_line: line("anchor_end", row.try_get("anchor_end")?)?,
                }),
                None => None,
            },
            quote: row.try_get("quote")?,
            provenance: Provenance::from(row.try_get::<String, _>("provenance")?),
            author: row.try_get("author")?,
            status: row.try_get("status")?,
            votes: Vec::new(),
            advisory: row.try_get("advisory")?,
            filed_at: row.try_get("filed_at")?,
        }),
        None => None,
    }
}));

/// A vote and the finding it is on.
struct Cast(FindingId, Vote);

from_row!(Cast, row => Cast(row.try_get("finding")?, Vote {
    voter: row.try_get("voter")?,
    model: row.try_get("model")?,
    confirms: row.try_get("confirms")?,
    evidence: row.try_get("evidence")?,
}));

fn line(column: &str, number: i64) -> sqlx::Result<u32> {
    u32::try_from(number).map_err(|error| sqlx::Error::ColumnDecode {
        index: column.to_owned(),
        source: Box::new(error),
    })
}

/// The findings with the given condition on `f`, and the votes on them.
macro_rules! findings_where {
    ($tx:expr, $bound:expr, $condition:literal) => {{
        const FINDINGS: &str = concat!(
            "SELECT f.id, f.fingerprint, f.kind, f.priority, f.confidence, f.axis, f.title, f.body, f.suggestion, \
             f.anchor_path, f.anchor_side, f.anchor_start, f.anchor_end, f.quote, f.provenance, f.author, f.status, \
             f.advisory, f.filed_at FROM finding f WHERE ",
            $condition,
            " ORDER BY f.filed_at, f.id"
        );
        const VOTES: &str = concat!(
            "SELECT v.finding, v.voter, v.model, v.confirms, v.evidence FROM finding f \
             JOIN vote v ON v.finding = f.id WHERE ",
            $condition,
            " ORDER BY v.voted_at, v.voter"
        );
        let (rows, votes): (Vec<Judged>, Vec<Cast>) = on!($tx, c => (
            sqlx::query_as(FINDINGS).bind($bound).fetch_all(&mut *c).await?,
            sqlx::query_as(VOTES).bind($bound).fetch_all(c).await?,
        ));
        Ok(assemble(rows, votes))
    }};
}

fn assemble(rows: Vec<Judged>, votes: Vec<Cast>) -> StoredFindings {
    let mut by_finding: HashMap<FindingId, Vec<Vote>> = HashMap::new();
    for Cast(finding, vote) in votes {
        by_finding.entry(finding).or_default().push(vote);
    }
    let mut stored = StoredFindings::default();
    for Judged(row) in rows {
        match row {
            Some(mut finding) => {
                finding.votes = by_finding.remove(&finding.id).unwrap_or_default();
                stored.findings.push(finding);
            }
            None => stored.dropped += 1,
        }
    }
    stored
}

impl Tx {
    /// Files a finding (without its votes) in a pass of a space. When the same remark is
    /// live there it is marked as seen by this pass and kept as it is. A live row that
    /// cannot be read is filled in with the new values instead.
    pub async fn file_finding(
        &mut self,
        space: &SpaceId,
        pass: &PassId,
        finding: &Finding,
    ) -> Result<Filed, StoreError> {
        const PUT: &str = "INSERT INTO finding (id, workspace, space, first_pass, last_pass, fingerprint, kind, priority, \
            confidence, axis, title, body, suggestion, anchor_path, anchor_side, anchor_start, anchor_end, quote, \
            provenance, author, status, status_at, advisory, filed_at) \
            SELECT $1, s.workspace, s.id, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, \
            $19, $21, $20, $21 FROM space s WHERE s.id = $2 \
            ON CONFLICT (space, fingerprint) WHERE status IN ('open', 'consensus_ready', 'disputed') \
            DO UPDATE SET last_pass = excluded.last_pass, \
            priority = CASE WHEN finding.priority IN ('p0', 'p1', 'p2', 'p3') THEN finding.priority ELSE excluded.priority END, \
            confidence = CASE WHEN finding.confidence >= 0 AND finding.confidence <= 1 THEN finding.confidence \
            ELSE excluded.confidence END \
            RETURNING id";
        let f = finding;
        let fingerprint = storable(&f.fingerprint);
        let (title, body) = (storable(&f.title), storable(&f.body));
        let suggestion = f.suggestion.as_deref().map(storable);
        let quote = f.quote.as_deref().map(storable);
        let anchor = f.anchor.as_ref();
        let path = anchor.map(|a| storable(&a.path));
        let provenance = f.provenance.to_string();
        let id: Option<FindingId> = on!(self, c => sqlx::query_scalar(PUT)
            .bind(&f.id).bind(space).bind(pass).bind(&*fingerprint).bind(f.kind).bind(f.priority)
            .bind(f.confidence.get()).bind(f.axis).bind(&*title).bind(&*body).bind(suggestion.as_deref())
            .bind(path.as_deref()).bind(anchor.map(|a| a.side)).bind(anchor.map(|a| i64::from(a.start_line)))
            .bind(anchor.map(|a| i64::from(a.end_line))).bind(quote.as_deref()).bind(&*storable(&provenance))
            .bind(&f.author).bind(f.status).bind(f.advisory).bind(f.filed_at)
            .fetch_optional(c).await?);
        match id {
            Some(id) if id == f.id => Ok(Filed::New),
            Some(id) => Ok(Filed::Known(id)),
            None => Err(StoreError::Internal(
                "a finding was filed in no known space".to_owned(),
            )),
        }
    }

    /// Every finding of a space.
    pub async fn findings(&mut self, space: &SpaceId) -> Result<StoredFindings, StoreError> {
        findings_where!(self, space, "f.space = $1")
    }

    /// The live findings of a space.
    pub async fn live_findings(&mut self, space: &SpaceId) -> Result<StoredFindings, StoreError> {
        findings_where!(
            self,
            space,
            "f.space = $1 AND f.status IN ('open', 'consensus_ready', 'disputed')"
        )
    }

    /// The live findings that the pass filed or saw again.
    pub async fn findings_seen(&mut self, pass: &PassId) -> Result<StoredFindings, StoreError> {
        findings_where!(
            self,
            pass,
            "f.space = (SELECT p.space FROM pass p WHERE p.id = $1) AND f.last_pass = $1 \
             AND f.status IN ('open', 'consensus_ready', 'disputed')"
        )
    }

    /// The live findings that no review has carried yet.
    pub async fn unpublished(&mut self, space: &SpaceId) -> Result<StoredFindings, StoreError> {
        findings_where!(
            self,
            space,
            "f.space = $1 AND f.published_in IS NULL AND f.status IN ('open', 'consensus_ready', 'disputed')"
        )
    }

    /// Changes where a finding stands; `pass` is the one that did it, if one did.
    /// `false`, and nothing done, when it stands so already, does not exist, or would
    /// become live beside a live one of the same fingerprint.
    pub async fn set_status(
        &mut self,
        finding: &FindingId,
        status: Status,
        pass: Option<&PassId>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "UPDATE finding SET status = $2, status_pass = $3, status_at = $4 \
            WHERE id = $1 AND status <> $2 AND NOT ($5 AND EXISTS (SELECT 1 FROM finding o \
            WHERE o.space = finding.space AND o.fingerprint = finding.fingerprint AND o.id <> finding.id \
            AND o.status IN ('open', 'consensus_ready', 'disputed')))";
        let done = on!(self, c => sqlx::query(SQL).bind(finding).bind(status).bind(pass).bind(now)
            .bind(status.is_live()).execute(c).await?.rows_affected());
        Ok(done == 1)
    }

    /// Moves a finding to where it is on the head of the last pass that saw it.
    pub async fn set_anchor(
        &mut self,
        finding: &FindingId,
        anchor: Option<&Anchor>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE finding SET anchor_path = $2, anchor_side = $3, anchor_start = $4, anchor_end = $5 \
            WHERE id = $1";
        let path = anchor.map(|a| storable(&a.path));
        on!(self, c => sqlx::query(SQL).bind(finding).bind(path.as_deref()).bind(anchor.map(|a| a.side))
            .bind(anchor.map(|a| i64::from(a.start_line))).bind(anchor.map(|a| i64::from(a.end_line)))
            .execute(c).await.map(drop)?);
        Ok(())
    }

    /// Records a vote: one a principal, the last one counts.
    pub async fn put_vote(
        &mut self,
        finding: &FindingId,
        vote: &Vote,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "INSERT INTO vote (finding, voter, model, confirms, evidence, voted_at) \
            VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (finding, voter) DO UPDATE SET model = excluded.model, \
            confirms = excluded.confirms, evidence = excluded.evidence, voted_at = excluded.voted_at";
        let model = vote.model.as_deref().map(storable);
        let evidence = storable(&vote.evidence);
        on!(self, c => sqlx::query(SQL).bind(finding).bind(&vote.voter).bind(model.as_deref())
            .bind(vote.confirms).bind(&*evidence).bind(now).execute(c).await.map(drop)?);
        Ok(())
    }

    /// The review of `pass` is not sent after all: what it carried is still to be said.
    pub async fn unpublish(&mut self, pass: &PassId) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE finding SET published_in = NULL \
            WHERE space = (SELECT p.space FROM pass p WHERE p.id = $1) AND published_in = $1";
        on!(self, c => sqlx::query(SQL).bind(pass).execute(c).await.map(drop)?);
        Ok(())
    }

    /// The review of `pass` carried these findings.
    pub async fn mark_published(&mut self, findings: &[FindingId], pass: &PassId) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE finding SET published_in = $2 WHERE id = $1";
        for finding in findings {
            on!(self, c => sqlx::query(SQL).bind(finding).bind(pass).execute(c).await.map(drop)?);
        }
        Ok(())
    }
}
