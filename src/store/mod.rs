//! What is remembered: SQLite or Postgres behind one transaction type.
