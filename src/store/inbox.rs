//! The inbox: deliveries are durable before they are acknowledged.
//!
//! Writers wait in one bounded channel; a task takes what is there, stores it with one
//! insert in one transaction, and only after the commit answers each writer (*group
//! commit*: one sync of the disk for many deliveries). When a batch fails for a reason
//! of its own the deliveries are stored one by one, so that a bad one takes no other
//! with it. A delivery is stored once per id; of two in one batch the second waits for
//! the first and is a repeat.
//!
//! The order of arrival is `seq`: the time of receipt, made unique and never falling
//! within a process. What becomes of a stored delivery is in [`super::deliveries`].

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bytes::Bytes;
use sqlx::{Postgres, QueryBuilder, Sqlite};
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
};

use crate::domain::{ids::DeliveryId, time::Timestamp};

use super::{Db, StoreError, Tx, columns::storable, db::on};

/// Deliveries that may wait for the writer; more make their senders wait.
const WAITING: usize = 1024;
/// Deliveries in one transaction at most.
const BATCH: usize = 256;
/// Compressed bytes in one transaction, unless one delivery alone has more.
const BATCH_BYTES: usize = 32 << 20;
/// A larger body is compressed off the reactor.
const COMPRESS_INLINE: usize = 256 << 10;
/// No stored body is larger than this.
pub(super) const MAX_BODY: usize = 128 << 20;

/// A delivery whose signature holds.
#[derive(Debug, Clone)]
pub struct NewDelivery {
    /// The forge's id.
    pub id: DeliveryId,
    /// The event's name.
    pub event: String,
    /// The payload.
    pub body: Bytes,
    /// When it came in.
    pub received_at: Timestamp,
}

/// What became of a delivery. Each of them is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is new and queued.
    Stored,
    /// One with this id is queued, running or done: nothing changed.
    Repeat,
    /// One with this id had ended as a dead letter: it is queued again, as if new.
    Requeued,
}

/// The writers' end: cheap to clone.
#[derive(Debug, Clone)]
pub struct Inbox {
    waiting: mpsc::Sender<Waiting>,
    arrived: Arc<Notify>,
}

/// The task that stores; keep it to drain at the end.
#[derive(Debug)]
pub struct InboxWriter {
    close: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// A delivery, compressed, and who waits for it.
#[derive(Debug)]
struct Waiting {
    id: DeliveryId,
    event: String,
    body: Vec<u8>,
    received_at: Timestamp,
    seq: i64,
    answer: oneshot::Sender<Result<Accepted, StoreError>>,
}

impl Inbox {
    /// Starts the task that stores.
    pub async fn start(db: &Db) -> Result<(Self, InboxWriter), StoreError> {
        // What still waits from before must stay before what comes, wherever the clock stands.
        const LAST: &str = "SELECT MAX(seq) FROM delivery WHERE due_at IS NOT NULL";
        let mut tx = db.read().await?;
        let last: Option<i64> = on!(&mut tx, c => sqlx::query_scalar(LAST).fetch_one(c).await?);
        drop(tx);
        let (waiting, incoming) = mpsc::channel(WAITING);
        let (close, closed) = oneshot::channel();
        let arrived = Arc::new(Notify::new());
        let writer = Writer {
            db: db.clone(),
            last: last.unwrap_or(0),
            arrived: Arc::clone(&arrived),
        };
        let task = tokio::spawn(writer.run(incoming, closed));
        Ok((Self { waiting, arrived }, InboxWriter { close, task }))
    }

    /// Stores a delivery; `Ok` means that it survives a power cut. Dropping the future
    /// neither loses nor doubles it: it is stored or it is not, and may be sent again.
    ///
    /// # Errors
    /// [`StoreError::Transient`] also when the inbox is closing.
    pub async fn accept(&self, delivery: NewDelivery) -> Result<Accepted, StoreError> {
        if delivery.body.len() > MAX_BODY {
            return Err(StoreError::Internal(format!(
                "a delivery of {} bytes",
                delivery.body.len()
            )));
        }
        let body = delivery.body;
        let body = if body.len() > COMPRESS_INLINE {
            tokio::task::spawn_blocking(move || lz4_flex::compress_prepend_size(&body))
                .await
                .map_err(|error| StoreError::Internal(error.to_string()))?
        } else {
            lz4_flex::compress_prepend_size(&body)
        };
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting {
            id: delivery.id,
            event: delivery.event,
            body,
            received_at: delivery.received_at,
            seq: 0,
            answer,
        };
        let closing = || StoreError::Transient("the inbox is closing".to_owned());
        self.waiting.send(waiting).await.map_err(|_| closing())?;
        answered.await.map_err(|_| closing())?
    }

    /// Told whenever deliveries were stored by this process.
    pub fn arrived(&self) -> Arc<Notify> {
        Arc::clone(&self.arrived)
    }
}

impl InboxWriter {
    /// Takes nothing more, stores and answers what waits, and ends.
    pub async fn drain(self) {
        // An error means that the task has ended by itself: nobody waits then.
        let _ = self.close.send(());
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the inbox's writer broke");
        }
    }
}

struct Writer {
    db: Db,
    last: i64,
    arrived: Arc<Notify>,
}

impl Writer {
    async fn run(mut self, mut incoming: mpsc::Receiver<Waiting>, mut closed: oneshot::Receiver<()>) {
        let mut open = true;
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                biased;
                // Also when the handle was dropped: then there is nobody to drain us,
                // and what waits is stored all the same.
                _ = &mut closed, if open => {
                    open = false;
                    incoming.close();
                }
                taken = incoming.recv_many(&mut batch, BATCH) => {
                    if taken == 0 {
                        return;
                    }
                    self.take(&mut batch).await;
                }
            }
        }
    }

    /// Stores and answers everything in `batch`, in groups of bounded size.
    async fn take(&mut self, batch: &mut Vec<Waiting>) {
        let mut group: Vec<Waiting> = Vec::new();
        let mut bytes = 0;
        for mut waiting in batch.drain(..) {
            if !group.is_empty() && bytes + waiting.body.len() > BATCH_BYTES {
                self.store_and_answer(std::mem::take(&mut group)).await;
                bytes = 0;
            }
            self.last = self
                .last
                .saturating_add(1)
                .max(waiting.received_at.0.saturating_mul(1 << 20));
            waiting.seq = self.last;
            bytes += waiting.body.len();
            group.push(waiting);
        }
        self.store_and_answer(group).await;
        self.arrived.notify_one();
    }

    async fn store_and_answer(&self, group: Vec<Waiting>) {
        // The first of each id is stored; the others learn what became of it.
        let mut seen = HashSet::new();
        let (firsts, repeats): (Vec<_>, Vec<_>) = group.into_iter().partition(|w| seen.insert(w.id.clone()));
        let mut failed: HashMap<DeliveryId, String> = HashMap::new();
        match self.store(&firsts).await {
            Ok(mut stored) => {
                for w in firsts {
                    let accepted = stored.remove(&w.id).unwrap_or(Accepted::Repeat);
                    let _ = w.answer.send(Ok(accepted));
                }
            }
            Err(error) if error.is_transient() || firsts.len() == 1 => {
                for w in firsts {
                    failed.insert(w.id, error.to_string());
                    let _ = w.answer.send(Err(repeat_error(&error)));
                }
            }
            Err(error) => {
                tracing::warn!(%error, deliveries = firsts.len(), "storing a batch of deliveries one by one");
                for w in firsts {
                    let answer = match self.store(std::slice::from_ref(&w)).await {
                        Ok(mut stored) => Ok(stored.remove(&w.id).unwrap_or(Accepted::Repeat)),
                        Err(error) => {
                            failed.insert(w.id, error.to_string());
                            Err(error)
                        }
                    };
                    let _ = w.answer.send(answer);
                }
            }
        }
        for w in repeats {
            let answer = match failed.get(&w.id) {
                Some(error) => Err(StoreError::Transient(error.clone())),
                None => Ok(Accepted::Repeat),
            };
            let _ = w.answer.send(answer);
        }
    }

    /// Stores deliveries of different ids in one transaction, twice when the database
    /// was busy. An id that is missing from the answer is a repeat.
    async fn store(&self, group: &[Waiting]) -> Result<HashMap<DeliveryId, Accepted>, StoreError> {
        match self.store_once(group).await {
            Err(error) if error.is_transient() => self.store_once(group).await,
            stored => stored,
        }
    }

    async fn store_once(&self, group: &[Waiting]) -> Result<HashMap<DeliveryId, Accepted>, StoreError> {
        let mut tx = self.db.write().await?;
        let rows: Vec<(DeliveryId, i64)> = match &mut tx {
            Tx::Lite(tx) => {
                insert_sql::<Sqlite>(group)
                    .build_query_as()
                    .persistent(false)
                    .fetch_all(&mut **tx)
                    .await?
            }
            Tx::Pg(tx) => {
                insert_sql::<Postgres>(group)
                    .build_query_as()
                    .persistent(false)
                    .fetch_all(&mut **tx)
                    .await?
            }
        };
        let taken: HashSet<&DeliveryId> = rows.iter().map(|(id, _)| id).collect();
        let new: Vec<&Waiting> = group.iter().filter(|w| taken.contains(&w.id)).collect();
        if !new.is_empty() {
            match &mut tx {
                Tx::Lite(tx) => {
                    let mut sql = bodies_sql::<Sqlite>(&new);
                    sql.build().persistent(false).execute(&mut **tx).await.map(drop)?;
                }
                Tx::Pg(tx) => {
                    let mut sql = bodies_sql::<Postgres>(&new);
                    sql.build().persistent(false).execute(&mut **tx).await.map(drop)?;
                }
            }
        }
        tx.commit().await?;
        Ok(rows
            .into_iter()
            .map(|(id, requeued)| {
                (
                    id,
                    if requeued == 0 {
                        Accepted::Stored
                    } else {
                        Accepted::Requeued
                    },
                )
            })
            .collect())
    }
}

/// The same error for another waiter.
fn repeat_error(error: &StoreError) -> StoreError {
    match error {
        StoreError::User(text) => StoreError::User(text.clone()),
        StoreError::Transient(text) => StoreError::Transient(text.clone()),
        StoreError::Internal(text) => StoreError::Internal(text.clone()),
    }
}

/// One insert of many rows; it returns those that were stored or queued again.
fn insert_sql<DB: sqlx::Database>(group: &[Waiting]) -> QueryBuilder<DB>
where
    i64: sqlx::Type<DB> + for<'q> sqlx::Encode<'q, DB>,
    String: sqlx::Type<DB> + for<'q> sqlx::Encode<'q, DB>,
{
    let mut sql = QueryBuilder::new(
        "INSERT INTO delivery (id, seq, event, received_at, state, due_at, attempts, requeued) ",
    );
    sql.push_values(group, |mut row, w| {
        row.push_bind(storable(w.id.as_str()).into_owned())
            .push_bind(w.seq)
            .push_bind(storable(&w.event).into_owned())
            .push_bind(w.received_at.0)
            .push("'queued'")
            .push_bind(w.received_at.0)
            .push("0")
            .push("0");
    });
    sql.push(
        " ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, event = excluded.event, \
         received_at = excluded.received_at, state = 'queued', due_at = excluded.due_at, attempts = 0, \
         requeued = delivery.requeued + 1, claim = NULL, error = NULL \
         WHERE delivery.state = 'dead' RETURNING id, requeued",
    );
    sql
}

/// The bodies of deliveries that were stored or queued again.
fn bodies_sql<DB: sqlx::Database>(group: &[&Waiting]) -> QueryBuilder<DB>
where
    String: sqlx::Type<DB> + for<'q> sqlx::Encode<'q, DB>,
    Vec<u8>: sqlx::Type<DB> + for<'q> sqlx::Encode<'q, DB>,
{
    let mut sql = QueryBuilder::new("INSERT INTO delivery_body (id, body) ");
    sql.push_values(group, |mut row, w| {
        row.push_bind(storable(w.id.as_str()).into_owned())
            .push_bind(w.body.clone());
    });
    sql.push(" ON CONFLICT (id) DO UPDATE SET body = excluded.body");
    sql
}
