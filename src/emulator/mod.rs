//! A GitHub-shaped server on loopback, with state and real git. It knows nothing
//! of Jury: it is the demo's forge and the tests' forge.
