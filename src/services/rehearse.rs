//! A delivery from its reading to what it would publish, with nothing sent.
//!
//! The forge is really read; what would be written is kept instead. It is for a context
//! whose store is made for this one delivery and thrown away, so the result is that of
//! a first look.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;

use crate::{
    domain::{
        event::{ForgeEvent, Repo},
        ids::{CheckRunId, InstallationId, ReviewId, Sha},
        space::{PullRef, PullSnapshot, RepoRef},
    },
    ports::{
        change::{Change, ChangeError},
        forge::{
            CheckRun, CheckView, Forge, ForgeError, Installation, PostedReview, ReviewView,
            UnreadableDelivery,
        },
    },
    store::Delivery,
};

use super::{
    Context, Failure,
    intake::{self, Taken},
    work,
};

/// Something that would have been sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Unsent {
    /// A check run, as it would stand in the end.
    Check {
        /// `owner/name`.
        place: String,
        /// The head.
        sha: Sha,
        /// The check's name.
        name: String,
        /// What it would show.
        view: CheckView,
    },
    /// A review.
    Review {
        /// `owner/name#number`.
        place: String,
        /// What it would say.
        view: ReviewView,
    },
    /// A request for changes would be taken back.
    Dismissal {
        /// `owner/name#number`.
        place: String,
        /// What would be said.
        message: String,
    },
}

/// What a delivery comes to.
#[derive(Debug)]
pub struct Rehearsed {
    /// What intake made of it.
    pub taken: Taken,
    /// What would be sent, in order.
    pub unsent: Vec<Unsent>,
}

/// Carries `delivery` through to its end. `ctx` has a store of its own.
///
/// # Errors
/// When the delivery cannot be read, or the forge or the store does not answer.
pub async fn rehearse(ctx: &Context, delivery: &Delivery) -> Result<Rehearsed, Failure> {
    let stage = Arc::new(Stage {
        forge: Arc::clone(&ctx.forge),
        unsent: Mutex::default(),
        ids: AtomicI64::new(1),
    });
    let mut ctx = ctx.clone();
    ctx.forge = stage.clone();
    // What does not work at once is told at once.
    ctx.settings = Arc::new(super::Settings {
        attempts: 1,
        ..(*ctx.settings).clone()
    });
    ctx.forge.identify().await?;
    let event = ctx
        .forge
        .read_delivery(&delivery.event, &delivery.body)
        .map_err(|unreadable| Failure::Final(unreadable.to_string()))?;
    know_the_head(&ctx, &event).await?;
    let mut tx = ctx.db.write().await?;
    let taken = intake::take(&ctx, &mut tx, event).await?;
    tx.commit().await?;
    Box::pin(work::run_until_idle(&ctx)).await?;
    let mut unsent = stage.unsent.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Rehearsed {
        taken,
        unsent: unsent.drain(..).map(|(_, unsent)| unsent).collect(),
    })
}

/// "Look again" speaks of a head whose pull requests the server knows. This store knows
/// none, so they are read from the forge.
async fn know_the_head(ctx: &Context, event: &ForgeEvent) -> Result<(), Failure> {
    let ForgeEvent::ReviewRerequested {
        installation,
        repo,
        head,
    } = event
    else {
        return Ok(());
    };
    let mut tx = ctx.db.write().await?;
    let place = intake::reachable(ctx, &mut tx, *installation, repo).await?;
    tx.commit().await?;
    let Some(place) = place else { return Ok(()) };
    for (pull, snapshot) in ctx.forge.open_pulls(&place).await? {
        if snapshot.head == *head {
            intake::accept(ctx, &pull, snapshot).await?;
        }
    }
    Ok(())
}

/// A forge that is read and not written to.
struct Stage {
    forge: Arc<dyn Forge>,
    /// With the number under which it would be known to the forge.
    unsent: Mutex<Vec<(i64, Unsent)>>,
    ids: AtomicI64,
}

impl Stage {
    fn keep(&self, unsent: Unsent) -> i64 {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let mut all = self.unsent.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((id, unsent));
        id
    }
}

fn repo_place(repo: &RepoRef) -> String {
    format!("{}/{}", repo.owner, repo.name)
}

fn pull_place(pull: &PullRef) -> String {
    format!("{}#{}", repo_place(&pull.repo), pull.number)
}

#[async_trait]
impl Forge for Stage {
    fn host(&self) -> &str {
        self.forge.host()
    }

    fn read_delivery(&self, event: &str, body: &[u8]) -> Result<ForgeEvent, UnreadableDelivery> {
        self.forge.read_delivery(event, body)
    }

    async fn identify(&self) -> Result<(), ForgeError> {
        self.forge.identify().await
    }

    async fn installations(&self) -> Result<Vec<Installation>, ForgeError> {
        self.forge.installations().await
    }

    async fn installation(&self, id: InstallationId) -> Result<Option<Installation>, ForgeError> {
        self.forge.installation(id).await
    }

    async fn repositories(&self, installation: InstallationId) -> Result<Vec<Repo>, ForgeError> {
        self.forge.repositories(installation).await
    }

    async fn open_pulls(&self, repo: &RepoRef) -> Result<Vec<(PullRef, PullSnapshot)>, ForgeError> {
        self.forge.open_pulls(repo).await
    }

    async fn pull(&self, pull: &PullRef) -> Result<PullSnapshot, ForgeError> {
        self.forge.pull(pull).await
    }

    async fn change(&self, pull: &PullRef, snapshot: &PullSnapshot) -> Result<Box<dyn Change>, ChangeError> {
        self.forge.change(pull, snapshot).await
    }

    async fn check_runs(&self, repo: &RepoRef, sha: &Sha, name: &str) -> Result<Vec<CheckRun>, ForgeError> {
        self.forge.check_runs(repo, sha, name).await
    }

    async fn create_check(
        &self,
        repo: &RepoRef,
        sha: &Sha,
        name: &str,
        _: &str,
        view: &CheckView,
    ) -> Result<CheckRunId, ForgeError> {
        Ok(CheckRunId(self.keep(Unsent::Check {
            place: repo_place(repo),
            sha: sha.clone(),
            name: name.to_owned(),
            view: view.clone(),
        })))
    }

    async fn update_check(&self, _: &RepoRef, id: CheckRunId, view: &CheckView) -> Result<(), ForgeError> {
        let mut all = self.unsent.lock().unwrap_or_else(PoisonError::into_inner);
        for (known, unsent) in all.iter_mut() {
            if let Unsent::Check { view: shown, .. } = unsent
                && *known == id.0
            {
                *shown = view.clone();
            }
        }
        Ok(())
    }

    async fn own_reviews(&self, pull: &PullRef) -> Result<Vec<PostedReview>, ForgeError> {
        self.forge.own_reviews(pull).await
    }

    async fn submit_review(&self, pull: &PullRef, review: &ReviewView) -> Result<ReviewId, ForgeError> {
        Ok(ReviewId(self.keep(Unsent::Review {
            place: pull_place(pull),
            view: review.clone(),
        })))
    }

    async fn dismiss_review(&self, pull: &PullRef, _: ReviewId, message: &str) -> Result<(), ForgeError> {
        self.keep(Unsent::Dismissal {
            place: pull_place(pull),
            message: message.to_owned(),
        });
        Ok(())
    }

    async fn delete_pending_review(&self, _: &PullRef, _: ReviewId) -> Result<(), ForgeError> {
        Ok(())
    }
}
