//! Secrets that belong to one database.

use super::{StoreError, Tx, db::on};

impl Tx {
    /// The key of keyed fingerprints: `candidate` when there is none yet, else the one
    /// that an earlier caller, perhaps another replica, stored.
    pub async fn server_key(&mut self, candidate: [u8; 32]) -> Result<[u8; 32], StoreError> {
        const PUT: &str =
            "INSERT INTO server_key (name, value) VALUES ('fingerprint', $1) ON CONFLICT (name) DO NOTHING";
        const GET: &str = "SELECT value FROM server_key WHERE name = 'fingerprint'";
        let key: Vec<u8> = on!(self, c => {
            sqlx::query(PUT).bind(&candidate[..]).execute(&mut *c).await?;
            sqlx::query_scalar(GET).fetch_one(c).await?
        });
        key.try_into()
            .map_err(|_| StoreError::Internal("the stored server key is not 32 bytes long".to_owned()))
    }
}
