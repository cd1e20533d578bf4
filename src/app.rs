//! Wires the parts together and decides nothing.
