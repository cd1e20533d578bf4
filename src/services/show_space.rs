//! What a person sees of a space: where its pull request stands, and why.

use crate::{
    domain::{
        ids::{Sha, SpaceId},
        review::{check::Standing, render},
        space::PullState,
        text,
    },
    store::StoreError,
};

use super::{Context, want_check};

/// A space for people. The texts may hold hostile words; `summary` is Markdown that
/// was written by the renderer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceView {
    /// The pull request's title.
    pub title: String,
    /// Its page on the forge.
    pub pull_request: String,
    /// Its head.
    pub head: Sha,
    /// Where it stands, in one line.
    pub standing: String,
    /// What was proved and what was found.
    pub summary: String,
}

/// Shows a space; `None` when there is none with this id.
pub async fn show(ctx: &Context, id: &SpaceId) -> Result<Option<SpaceView>, StoreError> {
    let mut tx = ctx.db.read().await?;
    let Some(space) = tx.space(id).await? else {
        return Ok(None);
    };
    // A closed one shows the last thing that was proved.
    let pass = match space.snapshot.state {
        PullState::Open => tx.pass_at(id, space.rev).await?,
        PullState::Closed => tx.latest_finalized(id).await?,
    };
    let standing = match (space.snapshot.state, &pass) {
        (PullState::Closed, None) => Standing::Waiting(
            "The pull request was closed before it was reviewed. Reopening it starts the review.",
        ),
        _ => want_check::standing(&space, pass.as_ref()),
    };
    let coverage = pass.as_ref().and_then(|pass| pass.coverage.as_ref());
    let said = render::check_text(&standing, coverage);
    Ok(Some(SpaceView {
        title: text::one_line(&space.snapshot.title),
        pull_request: space.snapshot.html_url,
        head: pass.map_or(space.snapshot.head, |pass| pass.head),
        standing: said.title,
        summary: said.summary,
    }))
}
