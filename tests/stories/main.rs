//! Stories: what a person does and what he then sees, through the real program.

mod review_local;
