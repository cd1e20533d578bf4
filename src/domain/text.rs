//! Hostile text, made storable and safe to show.
